// The parents of requests and certificates: realm, policy and end entity, with the names that answers show beside the ids.
import { p, type Opt } from '@mikro-orm/postgresql'
import { EndEntity } from './end-entity.ts'
import { Policy } from './policy.ts'
import { Realm } from './realm.ts'

/** The columns of what hangs on a policy and an end entity of a realm. */
export const parentColumns = {
  realmId: () => p.manyToOne(Realm).mapToPk().fieldName('realm_id'),
  policyId: () => p.manyToOne(Policy).mapToPk().fieldName('policy_id'),
  policyName: p
    .string()
    .formula(cols => `(select name from policy where id = ${cols['policyId']})`)
    .$type<string & Opt>(),
  endEntityId: () => p.manyToOne(EndEntity).mapToPk().fieldName('end_entity_id').index(),
  endEntityCommonName: p
    .string()
    .formula(cols => `(select common_name from end_entity where id = ${cols['endEntityId']})`)
    .$type<(string | null) & Opt>(),
  endEntityAlias: p
    .string()
    .formula(cols => `(select alias from end_entity where id = ${cols['endEntityId']})`)
    .$type<(string | null) & Opt>(),
}
