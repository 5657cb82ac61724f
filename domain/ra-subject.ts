// What an RA certificate says of its user (contract 6.7): the certificate details, and what follows from the user.
import { endEntityFields, type EndEntityFields, type GenericPair } from './end-entity-rules.ts'

/** A user as its RA certificate names it. */
export interface RaUser {
  readonly firstName?: string | null | undefined
  readonly lastName?: string | null | undefined
  readonly email?: string | null | undefined
  readonly certificateDetails?:
    | {
        readonly commonName?: string | null
        readonly organization?: string | null
        readonly organizationalUnit?: string | null
        readonly country?: string | null
        readonly genericDtoList?: readonly GenericPair[] | null
      }
    | null
    | undefined
}

/** The fields of the end entity of a user in canonical form, else VALIDATION_FAILED; the common name is "first last". */
export const raSubject = ({ firstName, lastName, email, certificateDetails }: RaUser): EndEntityFields => {
  const { commonName, organization, organizationalUnit, country, genericDtoList } = certificateDetails ?? {}
  return endEntityFields({
    commonName: commonName ?? [firstName, lastName].filter(Boolean).join(' '),
    organization,
    organizationalUnit,
    country,
    email,
    genericDtoList: genericDtoList ? [...genericDtoList] : null,
  })
}
