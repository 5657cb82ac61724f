// What delta lists tell: the latest change of each certificate whose status changed since the complete lists that are valid.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { RevocationReason, valuesOf } from '../../domain/enums.ts'
import { Ca } from './ca.ts'
import { none } from './columns.ts'

const schema = defineEntity({
  name: 'CrlChange',
  tableName: 'crl_change',
  properties: {
    caId: () => p.manyToOne(Ca).mapToPk().fieldName('ca_id').primary().deleteRule('cascade'),
    serialNumber: p.string().length(40).primary(),
    partition: p.integer(),
    /** The first list that told it. */
    number: p.bigint('number'),
    revocationDate: p.datetime(3),
    /** REMOVE_FROM_CRL after a release. */
    revocationReason: p.enum(valuesOf(RevocationReason)).$type<RevocationReason>().nullable().onCreate(none),
  },
  indexes: [{ name: 'crl_change_number', properties: ['caId', 'number'] }],
})

/** A change that a list has told. */
export class CrlChange extends schema.class {}
schema.setClass(CrlChange)
