// The reminders that a certificate expires which were sent: one for each interval (contract 8).
import { defineEntity, p } from '@mikro-orm/postgresql'
import { Certificate } from './certificate.ts'

const schema = defineEntity({
  name: 'ExpiryNotice',
  tableName: 'expiry_notice',
  properties: {
    /** The certificate; its reminders go with it. */
    certificateId: () => p.manyToOne(Certificate).mapToPk().fieldName('certificate_id').primary().deleteRule('cascade'),
    /** The interval. */
    days: p.integer().primary(),
    noticedDate: p.datetime(3),
  },
})

/** One reminder of one certificate. */
export class ExpiryNotice extends schema.class {}
schema.setClass(ExpiryNotice)
