// The rules of users: their names and addresses (contract 6.7, 1.1), and what their RA certificates are to say (5.2).
import { canonicalEmail } from './address.ts'
import { endEntityFields, type GenericPair } from './end-entity-rules.ts'
import { Failure } from './failure.ts'

/** What an RA certificate of a user says; what is null follows from the user. */
export interface CertificateDetails {
  readonly commonName: string | null
  readonly organization: string | null
  readonly organizationalUnit: string | null
  readonly country: string | null
  readonly email: string | null
  readonly genericDtoList: readonly GenericPair[]
}

/** The same as somebody writes it. */
export type GivenDetails = { readonly [K in keyof CertificateDetails]?: CertificateDetails[K] | null | undefined }

const refused = (message: string): Failure =>
  new Failure('VALIDATION_FAILED', `email ${message}.`, [{ field: 'email', message }])

/** An e-mail address as it is kept, else VALIDATION_FAILED. */
export const userAddress = (text: string): string => {
  const address = canonicalEmail(text)
  if (address === null) throw refused('must be an e-mail address of at most 254 ASCII characters')
  return address
}

const ownAddress = (given: string | null, own: string | null | undefined): string | null => {
  if (given === null) return null
  if (own == null || given.toLowerCase() !== own.toLowerCase()) throw refused("must be the user's own")
  return own
}

/** Certificate details in canonical form, else VALIDATION_FAILED; null where all of them follow from the user. */
export const certificateDetails = (
  given: GivenDetails,
  ownEmail: string | null | undefined,
): CertificateDetails | null => {
  const { commonName = null, organization, organizationalUnit, country, email, genericDtoList } = given
  const fields = endEntityFields({
    // Without one it follows from the user, who has a name then.
    commonName: commonName ?? 'user',
    organization,
    organizationalUnit,
    country,
    email,
    genericDtoList: genericDtoList ? [...genericDtoList] : null,
  })
  const details = {
    commonName: commonName === null ? null : fields.commonName,
    organization: fields.organization,
    organizationalUnit: fields.organizationalUnit,
    country: fields.country,
    email: ownAddress(fields.email, ownEmail),
    genericDtoList: fields.genericDtoList,
  }
  const { genericDtoList: pairs, ...texts } = details
  return pairs.length === 0 && Object.values(texts).every(text => text === null) ? null : details
}
