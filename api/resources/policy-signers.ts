// The certificates that a policy names as its CMP and SCEP signers (contract 6.6, 10.5).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CryptoAlgorithm } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import type { CmpPolicyConfiguration, ScepPolicyConfiguration } from '../../domain/policy-rules.ts'
import { Certificate } from '../../storage/certificate.ts'
import type { Caller } from '../caller.ts'

interface Configurations {
  readonly cmpConfiguration?: CmpPolicyConfiguration | null | undefined
  readonly scepConfiguration?: ScepPolicyConfiguration | null | undefined
}

const cmpAlgorithm = ({ signatureAlgorithm }: CmpPolicyConfiguration): CryptoAlgorithm => {
  if (signatureAlgorithm.endsWith('RSA')) return 'RSA'
  return signatureAlgorithm.endsWith('ECDSA') ? 'EC' : 'EDDSA'
}

const mustFit = async (certificate: Certificate, caller: Caller, algorithm: CryptoAlgorithm): Promise<void> => {
  await caller.must('DOWNLOAD_KEY', certificate.place)
  if (certificate.archived) throw new Failure('ENTITY_ARCHIVED')
  if (!certificate.hasPrivateKey || certificate.certPublicKeyAlgorithm !== algorithm)
    throw new Failure('INVALID_POLICY_CONFIGURATION', `The signer needs a private ${algorithm} key of the service.`)
}

/** Who names a signer puts its key to use, as whoever downloads it could. */
export const signerNeeds = [
  {
    right: 'DOWNLOAD_KEY',
    on: 'each signer certificate that the configurations name',
    entity: Certificate,
    optional: true,
  },
] as const

/** Refuses signer certificates that are unknown, whose key the caller may not use, or of no use. */
export const mustBeSigners = async (
  em: EntityManager,
  caller: Caller,
  { cmpConfiguration: cmp, scepConfiguration: scep }: Configurations,
): Promise<void> => {
  const wanted: [string | null | undefined, CryptoAlgorithm][] = [
    [cmp?.signerCertificateId, cmp ? cmpAlgorithm(cmp) : 'EC'],
    [scep?.signerCertificateId, 'RSA'],
  ]
  for (const [id, algorithm] of wanted) {
    if (!id) continue
    const certificate = await em.findOne(Certificate, { id })
    if (!certificate) throw new Failure('CERTIFICATE_NOT_FOUND')
    await mustFit(certificate, caller, algorithm)
  }
}
