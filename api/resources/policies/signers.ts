// The certificates that a policy names as its CMP and SCEP signers (contract 6.6, 10.5).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import type { CmpPolicyConfiguration, ScepPolicyConfiguration } from '../../../domain/policy-rules.ts'
import { signsByAlgorithm } from '../../../domain/signer-rules.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import type { Caller } from '../../kernel/caller.ts'

interface Configurations {
  readonly cmpConfiguration?: CmpPolicyConfiguration | null | undefined
  readonly scepConfiguration?: ScepPolicyConfiguration | null | undefined
}

const signersOf = ({
  cmpConfiguration: cmp,
  scepConfiguration: scep,
}: Configurations): Readonly<Record<string, string | null | undefined>> => ({
  cmp: cmp?.signerCertificateId,
  scep: scep?.signerCertificateId,
})

const refuse = (message: string): never => {
  throw new Failure('INVALID_POLICY_CONFIGURATION', message)
}

const mustHaveKey = ({ archived, hasPrivateKey }: Certificate): void => {
  if (archived) throw new Failure('ENTITY_ARCHIVED')
  if (!hasPrivateKey) refuse('The signer needs a private key of the service.')
}

/** Who checks a signature of CMP wants digitalSignature, where usages are named at all (RFC 9483 3.2). */
const mustSign = ({ certPublicKeyAlgorithm, namedCurve, keyUsages }: Certificate, given: Configurations): void => {
  const { signatureAlgorithm } = given.cmpConfiguration ?? {}
  const key = { algorithm: certPublicKeyAlgorithm, curve: namedCurve ?? null }
  if (!signatureAlgorithm || !signsByAlgorithm(key, signatureAlgorithm))
    refuse(`The key of the CMP signer does not sign with ${signatureAlgorithm}.`)
  if (keyUsages.length > 0 && !keyUsages.includes('digitalSignature')) refuse('A CMP signer needs digitalSignature.')
}

/** Devices encrypt to a SCEP signer as well (RFC 8894 2.1.2). */
const mustDecrypt = ({ certPublicKeyAlgorithm, keyUsages }: Certificate): void => {
  if (certPublicKeyAlgorithm !== 'RSA') refuse('A SCEP signer needs an RSA key.')
  if (!keyUsages.includes('digitalSignature') || !keyUsages.includes('keyEncipherment'))
    refuse('A SCEP signer needs digitalSignature and keyEncipherment.')
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
    mustHaveKey(certificate)
    if (member === 'scep') mustDecrypt(certificate)
    else mustSign(certificate, given)
  }
}
