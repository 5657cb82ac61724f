// Users: the people that sign in.
import { defineEntity, p } from '@mikro-orm/postgresql'
import type { GenericPair } from '../../domain/end-entity-rules.ts'
import { Certificate } from './certificate.ts'
import { audited, metadataOf, none, type Metadata } from './columns.ts'
import { generatedText, trigrams } from './search-columns.ts'

/** What the RA certificates of a user say; absent and null members follow from the user. */
export interface UserCertificateDetails {
  readonly commonName?: string | null
  readonly organization?: string | null
  readonly organizationalUnit?: string | null
  readonly country?: string | null
  readonly email?: string | null
  readonly genericDtoList?: readonly GenericPair[] | null
}

const schema = defineEntity({
  name: 'User',
  tableName: 'app_user',
  properties: {
    ...audited,
    /** The subject at the identity provider. */
    providerId: p.string().length(255).unique(),
    firstName: p.string().length(255).nullable().onCreate(none),
    lastName: p.string().length(255).nullable().onCreate(none),
    email: p.string().length(254).nullable().onCreate(none),
    enabled: p.boolean().default(true),
    /** Whether the user may log in by password: without the role disable_password_login. */
    passwordLoginEnabled: p.boolean().default(true),
    /** The registration that found a record made by a login (contract 1.5). */
    registrationId: p.uuid().nullable().onCreate(none),
    certificateDetails: p.json<UserCertificateDetails | null>().nullable().onCreate(none),
    raCertificateId: () =>
      p.manyToOne(Certificate).mapToPk().fieldName('ra_certificate_id').deleteRule('set null').nullable(),
    /** The request of the RA certificate with whose issue the one before is revoked. */
    supersedingRequestId: p.uuid().nullable().onCreate(none),
    searchText: generatedText('user_text', ['first_name', 'last_name', 'email']),
  },
  indexes: [
    {
      name: 'app_user_ra_certificate',
      expression:
        'create index app_user_ra_certificate on app_user (ra_certificate_id) where ra_certificate_id is not null',
    },
    {
      name: 'app_user_registration',
      expression: 'create index app_user_registration on app_user (registration_id) where registration_id is not null',
    },
    { name: 'app_user_email', expression: 'create index app_user_email on app_user (comparable(email))' },
    { name: 'app_user_newest', expression: 'create index app_user_newest on app_user (created_date desc, id)' },
    { name: 'app_user_search', expression: trigrams('app_user_search', 'app_user') },
  ],
})

/** A human principal. */
export class User extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
}
schema.setClass(User)
