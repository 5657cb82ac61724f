// The revocation lists of other CAs, as they were fetched and verified.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { Ca } from './ca.ts'
import { none } from './columns.ts'

const schema = defineEntity({
  name: 'FetchedCrl',
  tableName: 'fetched_crl',
  properties: {
    caId: () => p.manyToOne(Ca).mapToPk().fieldName('ca_id').primary().deleteRule('cascade'),
    url: p.string().length(1000).primary(),
    thisUpdate: p.datetime(3),
    nextUpdate: p.datetime(3).nullable().onCreate(none),
    fetchedDate: p.datetime(3),
    /** DER CertificateList. */
    der: p.blob().$type<Buffer>(),
  },
  indexes: [{ name: 'fetched_crl_date', properties: ['fetchedDate'] }],
})

/** The latest list that a URL answered. */
export class FetchedCrl extends schema.class {}
schema.setClass(FetchedCrl)
