// The certificates that a policy names as its CMP and SCEP signers (contract 6.6, 10.5).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CryptoAlgorithm } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import type { CmpPolicyConfiguration, ScepPolicyConfiguration } from '../../../domain/policy-rules.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import type { Caller } from '../../kernel/caller.ts'

interface Configurations {
  readonly cmpConfiguration?: CmpPolicyConfiguration | null | undefined
  readonly scepConfiguration?: ScepPolicyConfiguration | null | undefined
}

const cmpAlgorithm = ({ cmpConfiguration }: Configurations): CryptoAlgorithm => {
  const algorithm = cmpConfiguration?.signatureAlgorithm
  if (algorithm?.endsWith('RSA')) return 'RSA'
  return algorithm?.startsWith('ED') ? 'EDDSA' : 'EC'
}

const signersOf = ({
  cmpConfiguration: cmp,
  scepConfiguration: scep,
}: Configurations): Readonly<Record<string, string | null | undefined>> => ({
  cmp: cmp?.signerCertificateId,
  scep: scep?.signerCertificateId,
})

const mustFit = (certificate: Certificate, algorithm: CryptoAlgorithm): void => {
  if (certificate.archived) throw new Failure('ENTITY_ARCHIVED')
  if (!certificate.hasPrivateKey || certificate.certPublicKeyAlgorithm !== algorithm)
    throw new Failure('INVALID_POLICY_CONFIGURATION', `The signer needs a private ${algorithm} key of the service.`)
}

/** Devices encrypt to a SCEP signer as well (RFC 8894 2.1.2). */
const mustDecrypt = ({ keyUsages }: Certificate): void => {
  if (!keyUsages.includes('digitalSignature') || !keyUsages.includes('keyEncipherment'))
    throw new Failure('INVALID_POLICY_CONFIGURATION', 'A SCEP signer needs digitalSignature and keyEncipherment.')
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

/** Refuses signer certificates that are unknown, of no use, or new where the caller may not use their key. */
export const mustBeSigners = async (
  em: EntityManager,
  caller: Caller,
  { given, before }: { given: Configurations; before?: Configurations },
): Promise<void> => {
  const named = signersOf(before ?? {})
  for (const [member, id] of Object.entries(signersOf(given))) {
    if (!id) continue
    const certificate = await em.findOne(Certificate, { id })
    if (!certificate) throw new Failure('CERTIFICATE_NOT_FOUND')
    if (named[member] !== id) await caller.must('DOWNLOAD_KEY', certificate.place)
    mustFit(certificate, member === 'cmp' ? cmpAlgorithm(given) : 'RSA')
    if (member === 'scep') mustDecrypt(certificate)
  }
}
