// What a revocation list and OCSP say of certificates that were deleted before they expired (contract 4.5).
import { defineEntity, p } from '@mikro-orm/postgresql'
import { RevocationReason, valuesOf } from '../../domain/enums.ts'
import { Ca } from './ca.ts'
import { none } from './columns.ts'

const schema = defineEntity({
  name: 'KeptRevocation',
  tableName: 'kept_revocation',
  properties: {
    issuerCaId: () => p.manyToOne(Ca).mapToPk().fieldName('issuer_ca_id').primary().deleteRule('cascade'),
    serialNumber: p.string().length(40).primary(),
    validNotAfter: p.datetime(3),
    revocationDate: p.datetime(3),
    revocationReason: p.enum(valuesOf(RevocationReason)).$type<RevocationReason>().nullable().onCreate(none),
    /** As in the certificate. */
    crlPartition: p.integer().nullable().onCreate(none),
    /** Whether the CRL of the CA had yet to tell it when the certificate was deleted. */
    crlPending: p.boolean().default(false),
  },
  indexes: [
    { name: 'kept_revocation_end', properties: ['validNotAfter'] },
    {
      name: 'kept_revocation_pending',
      expression: 'create index kept_revocation_pending on kept_revocation (issuer_ca_id) where crl_pending',
    },
  ],
})

/** The revocation of a deleted certificate. */
export class KeptRevocation extends schema.class {}
schema.setClass(KeptRevocation)
