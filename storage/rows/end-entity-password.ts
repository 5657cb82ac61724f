// The passwords of end entities, one a policy.
import { defineEntity, p } from '@mikro-orm/postgresql'
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
