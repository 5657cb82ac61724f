// The passwords of end entities, one a policy.
import { defineEntity, p, type Opt } from '@mikro-orm/postgresql'
import { EndEntity } from './end-entity.ts'
import { Policy } from './policy.ts'
import { audited, metadataOf, none, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'EndEntityPassword',
  tableName: 'end_entity_password',
  properties: {
    ...audited,
    endEntityId: () => p.manyToOne(EndEntity).mapToPk().fieldName('end_entity_id'),
    policyId: () => p.manyToOne(Policy).mapToPk().fieldName('policy_id').index(),
    /** The password, UTF-8, sealed for its end entity and policy (storage/key-uses.ts). */
    sealed: p.blob().$type<Buffer>(),
    /** What tells the right password without opening it (storage/verifier.ts). */
    verifier: p.string().length(200),
    /** How many times in a row it was not the right one, and since when: judging.ts alone counts. */
    failures: p.integer().default(0),
    failingSince: p.datetime(3).nullable().onCreate(none),
    lockedUntil: p.datetime(3).nullable().onCreate(none),
    endEntityCommonName: p
      .string()
      .nullable()
      .formula(cols => `(select common_name from end_entity where id = ${cols['endEntityId']})`)
      .$type<(string | null) & Opt>(),
    policyName: p
      .string()
      .formula(cols => `(select name from policy where id = ${cols['policyId']})`)
      .$type<string & Opt>(),
    lastUsedDate: p.datetime(3).nullable().onCreate(none),
  },
  uniques: [{ name: 'end_entity_password_policy', properties: ['endEntityId', 'policyId'] }],
})

/** The password of an end entity for one policy, by which CMP and SCEP know it; it is never answered from this row. */
export class EndEntityPassword extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
}
schema.setClass(EndEntityPassword)
