// The delegated signers of OCSP answers (contract 10.2): a certificate below a CA of ours, and its sealed key.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { Ca } from './ca.ts'
import { creationDate, none } from './columns.ts'
import { PrivateKey } from './private-key.ts'

const schema = defineEntity({
  name: 'OcspSigner',
  tableName: 'ocsp_signer',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => crypto.randomUUID()),
    caId: () => p.manyToOne(Ca).mapToPk().fieldName('ca_id').deleteRule('cascade').index(),
    /** Erased when another took its place. */
    privateKeyId: () => p.manyToOne(PrivateKey).mapToPk().fieldName('private_key_id').nullable().onCreate(none).index(),
    /** Hexadecimal. */
    serialNumber: p.string().length(40),
    validNotBefore: p.datetime(3),
    validNotAfter: p.datetime(3),
    /** The certificate, DER. */
    der: p.blob().$type<Buffer>(),
    createdDate: creationDate(),
    /** When another took its place. */
    retiredDate: p.datetime(3).nullable().onCreate(none),
  },
  uniques: [
    {
      name: 'ocsp_signer_present',
      expression: 'create unique index ocsp_signer_present on ocsp_signer (ca_id) where retired_date is null',
    },
  ],
})

/** A signer of the OCSP answers of one CA: one of them is the present one. */
export class OcspSigner extends schema.class {}
schema.setClass(OcspSigner)
