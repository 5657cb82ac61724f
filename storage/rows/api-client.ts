// API clients: the machines that call the service.
import { defineEntity, p, type Opt } from '@mikro-orm/postgresql'
import { Policy } from './policy.ts'
import { audited, metadataOf, none, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'ApiClient',
  tableName: 'api_client',
  properties: {
    ...audited,
    /** The client id at the identity provider. */
    providerId: p.string().length(255).unique(),
    // Unique by an index alone: a unique property is written in two steps, which would count as two versions.
    name: p.string().length(255),
    realmIds: p.array().default([]),
    defaultPolicyId: () => p.manyToOne(Policy).mapToPk().fieldName('default_policy_id').nullable(),
    defaultPolicyName: p
      .string()
      .formula(cols => `(select name from policy where id = ${cols['defaultPolicyId']})`)
      .$type<(string | null) & Opt>(),
    enabled: p.boolean().default(true),
    /** The client of the start configuration (contract 4.6). */
    systemClient: p.boolean().default(false),
    /** The reset of its secret that was recorded last. */
    secretResetId: p.uuid().nullable().onCreate(none),
  },
  uniques: [
    {
      name: 'api_client_name',
      expression: 'create unique index api_client_name on api_client (comparable(name))',
    },
  ],
  indexes: [
    {
      name: 'api_client_newest',
      expression: 'create index api_client_newest on api_client (created_date desc, id)',
    },
    {
      name: 'api_client_search',
      expression:
        'create index api_client_search on api_client using gin (name gin_trgm_ops, provider_id gin_trgm_ops)',
    },
    {
      name: 'api_client_default_policy',
      expression: 'create index api_client_default_policy on api_client (default_policy_id)',
    },
  ],
})

/** A machine client; its default policy serves SCEP. */
export class ApiClient extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
}
schema.setClass(ApiClient)
