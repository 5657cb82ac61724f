// Signatures by the key of the CA of a policy (contract 10.5), for machines alone and never over what a CA says by itself.
import type { KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { openPolicyCa, type PolicySignerKey } from '../../../authority/policy-signers.ts'
import { Failure } from '../../../domain/failure.ts'
import { isIssuing } from '../../../domain/signer-rules.ts'
import { digests } from '../../../pki/cms/algorithms.ts'
import { certificatesOnly } from '../../../pki/cms/degenerate.ts'
import { findSignedForm } from '../../../pki/cms/signed-forms.ts'
import { keyAlgorithmOf } from '../../../pki/keys/algorithms.ts'
import { loadIssuers } from '../../../storage/chain.ts'
import { findSignerRecords } from '../../../storage/policy-signers.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import type { Seal } from '../../../storage/seal.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { SignDataRequestDto, SignDataResponseDto } from './dtos.ts'
import { certificatePem, chainPem, recorded, signData } from './uses.ts'

type DigestGiven = 'SHA-256' | 'SHA-384' | 'SHA-512' | null

/** The CA of a policy with its key; NOT_SUPPORTED_BY_PROVIDER, SIGNER_NOT_AVAILABLE. */
const caOf = async (
  em: EntityManager,
  policy: Policy,
  { seal, now }: { seal: Seal; now: Date },
): Promise<PolicySignerKey & { readonly caId: string; readonly nextCaId: string | null }> => {
  const provider = await em.findOneOrFail(CertificateProvider, { id: policy.certificateProviderId })
  if (provider.certificateProviderType !== 'LOCAL') throw new Failure('NOT_SUPPORTED_BY_PROVIDER')
  const { issuing, nextCaId } = await findSignerRecords(em, { policy, kind: 'SCEP', home: policy }, now)
  if (!issuing || !isIssuing(issuing, now))
    throw new Failure('SIGNER_NOT_AVAILABLE', 'The policy has no CA that may sign now.')
  return { ...(await openPolicyCa(em, seal, issuing.id)), caId: issuing.id, nextCaId }
}

const refuse = (message: string): never => {
  throw new Failure('SIGNING_REFUSED', message)
}

/** Whether it is what GetNextCACert tells (RFC 8894 4.7.1): the chain of the CA that takes over, which is decided. */
const tellsNextCa = async (em: EntityManager, data: Uint8Array, nextCaId: string | null): Promise<boolean> =>
  nextCaId !== null && certificatesOnly((await loadIssuers(em, nextCaId)).map(({ der }) => der)).equals(data)

const mustBeFree = async (em: EntityManager, data: Uint8Array, nextCaId: string | null): Promise<void> => {
  const form = findSignedForm(Buffer.from(data))
  if (form === 'CMS ContentInfo' && (await tellsNextCa(em, data, nextCaId))) return
  if (form) refuse(`The data is a ${form}: the CA would say by its signature what it did not decide.`)
}

/** The digest and the name of the signature: what fits the key unless one is stated (contract 10.2). */
const algorithmFor = (key: KeyObject, stated: DigestGiven): { digest: string | null; name: string } => {
  const { name, digest } = keyAlgorithmOf(key).signature
  if (stated === null) return { name, digest }
  if (digest === null) return refuse('The key of the CA signs without a digest of its own.')
  return { digest: digests[stated].hash, name: `${stated.replace('-', '')}_WITH_${name.split('_WITH_')[1]}` }
}

export const signDataWithCA = operation('POST /sign/sign-with-ca', {
  summary: 'Sign data by the key of the CA that issues under a policy',
  description: 'For API clients only. What would be a certificate, a list, an OCSP answer or a CMS message is refused.',
  on: { policy: from.body(Policy, 'policyId') },
  needs: { policy: 'SIGN' },
  onlyFor: 'API_CLIENT',
  living: true,
  body: SignDataRequestDto,
  example: { body: { policyId: exampleIds.Policy, dataBase64: 'SGVsbG8=' } },
  cost: 'SIGNER',
  returns: [200, SignDataResponseDto],
  fails: [415, 422],
  refuses: ['NOT_SUPPORTED_BY_PROVIDER', 'SIGNER_NOT_AVAILABLE', 'SIGNING_REFUSED'],
  handle: async ({ policy, body: { dataBase64: data, digestAlgorithm }, em, seal, clock }) => {
    const { caId, nextCaId, certificate, key } = await caOf(em, policy, { seal, now: clock() })
    const caChainPem = await chainPem(em, caId)
    const verb = `signed by the CA ${certificate.subjectDn}`
    const use = { type: 'DATA_SIGNED', policy, data, verb, now: clock() } as const
    const { signatureBase64, signatureAlgorithm } = await recorded(em, use, async () => {
      await mustBeFree(em, data, nextCaId)
      const { digest, name } = algorithmFor(key, digestAlgorithm)
      return { signatureBase64: await signData(data, { digest, key }), signatureAlgorithm: name }
    })
    return { signatureBase64, signatureAlgorithm, signerCertificatePem: certificatePem(certificate), caChainPem }
  },
})
