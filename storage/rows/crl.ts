// The revocation lists of our CAs; only what stands here is published.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { Ca } from './ca.ts'

const schema = defineEntity({
  name: 'Crl',
  tableName: 'crl',
  properties: {
    caId: () => p.manyToOne(Ca).mapToPk().fieldName('ca_id').primary().deleteRule('cascade'),
    number: p.bigint('number').primary(),
    thisUpdate: p.datetime(3),
    nextUpdate: p.datetime(3),
    entries: p.integer(),
    /** SHA-256 of the octets, hex. */
    fingerprint: p.string().length(64),
    /** DER CertificateList. */
    der: p.blob().$type<Buffer>(),
  },
})

/** One revocation list of a CA. */
export class Crl extends schema.class {}
schema.setClass(Crl)
