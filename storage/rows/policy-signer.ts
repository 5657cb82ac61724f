// The signers that the service makes for policies (contract 10.5): a certificate, and its sealed key.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { signerKinds, type SignerKind } from '../../domain/signer-rules.ts'
import { Certificate } from './certificate.ts'
import { creationDate, none } from './columns.ts'
import { Policy } from './policy.ts'
import { PrivateKey } from './private-key.ts'

const schema = defineEntity({
  name: 'PolicySigner',
  tableName: 'policy_signer',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => crypto.randomUUID()),
    policyId: () => p.manyToOne(Policy).mapToPk().fieldName('policy_id').deleteRule('cascade').index(),
    /** Signers of before had none, and who runs beside a newer version names none. */
    kind: p
      .enum([...signerKinds])
      .default('SCEP')
      .$type<SignerKind>(),
    certificateId: () => p.oneToOne(Certificate).mapToPk().fieldName('certificate_id').owner().deleteRule('cascade'),
    /** Not named by the certificate itself, whose key can be downloaded. */
    privateKeyId: () => p.manyToOne(PrivateKey).mapToPk().fieldName('private_key_id').index(),
    createdDate: creationDate(),
    /** When another took its place; it decrypts for some time yet. */
    retiredDate: p.datetime(3).nullable().onCreate(none),
  },
  uniques: [
    {
      name: 'policy_signer_present',
      expression:
        'create unique index policy_signer_present on policy_signer (policy_id, kind) where retired_date is null',
    },
  ],
})

/** A signer that was made for a policy: one of each kind is the present one. */
export class PolicySigner extends schema.class {}
schema.setClass(PolicySigner)
