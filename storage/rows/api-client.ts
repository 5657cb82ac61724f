// The rows of API clients.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { Policy } from './policy.ts'
import { audited, metadataOf, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'ApiClient',
  tableName: 'api_client',
  properties: {
    ...audited,
    /** The client id at the identity provider. */
    providerId: p.string().length(255).unique(),
    name: p.string().length(255).unique(),
    realmIds: p.array().default([]),
    defaultPolicyId: () => p.manyToOne(Policy).mapToPk().fieldName('default_policy_id').nullable(),
    enabled: p.boolean().default(true),
  },
})

/** A machine client; its default policy serves SCEP. */
export class ApiClient extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
}
schema.setClass(ApiClient)
