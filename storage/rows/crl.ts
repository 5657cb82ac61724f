// The revocation lists of our CAs; only what stands here is published.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { Ca } from './ca.ts'

const schema = defineEntity({
  name: 'Crl',
  tableName: 'crl',
  properties: {
    caId: () => p.manyToOne(Ca).mapToPk().fieldName('ca_id').primary().deleteRule('cascade'),
    /** Of the certificates that it tells of; 0 for the list of all certificates of the CA. */
    partition: p.integer().primary().default(0),
    /** Whether it tells changes since another list only. */
    delta: p.boolean().primary().default(false),
    number: p.bigint('number').primary(),
    thisUpdate: p.datetime(3),
    nextUpdate: p.datetime(3),
    entries: p.integer(),
    /** SHA-256 of the octets, hex. */
    fingerprint: p.string().length(64),
    /** Whether deltas follow a complete list. */
    freshest: p.boolean().default(false),
    /** The URLs by which certificates name the partition. */
    urls: p.array().default([]),
    /** DER CertificateList. */
    der: p.blob().$type<Buffer>(),
  },
})

/** One revocation list of a CA. */
export class Crl extends schema.class {}
schema.setClass(Crl)
