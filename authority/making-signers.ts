// Making the SCEP signer of a policy (contract 10.5): its key, its certificate under the policy's own realm, and the end of
// the one before, in one transaction under a lock of the policy. One that nothing is wrong with is left as it is.
import type { EntityManager } from '@mikro-orm/postgresql'
import { endEntityFields } from '../domain/end-entity-rules.ts'
import { Failure } from '../domain/failure.ts'
import { isIssuing, type IssuingCa } from '../domain/signer-rules.ts'
import { validity, type Validity } from '../domain/validity.ts'
import { generateSerialNumber, parseCertificate, type CertificateDescription } from '../pki/certificate/certificate.ts'
import { generateKeyPair, type KeyPair } from '../pki/keys/key-pair.ts'
import { publicKeyHash } from '../pki/keys/request-key.ts'
import { record } from '../storage/audit.ts'
import { takeKeyedLocks } from '../storage/lock.ts'
import { findSignerOwner, findSignerRecords } from '../storage/policy-signers.ts'
import { Ca } from '../storage/rows/ca.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { EndEntity } from '../storage/rows/end-entity.ts'
import { Policy } from '../storage/rows/policy.ts'
import { storeSigner } from '../storage/signer-storing.ts'
import { partitionNamed } from './links.ts'
import { choosePolicySigners } from './policy-signers.ts'
import { kindOf } from './providers/kinds.ts'
import type { AuthorityServices } from './services.ts'

const keySpec = { cryptoAlgorithm: 'RSA', keySize: 3072 } as const
const template = JSON.stringify({ templateSignerName: 'SCEP_SIGNER' })
const neededUsages = ['digitalSignature', 'keyEncipherment'] as const
const longestName = 64

const notAvailable = (message: string): never => {
  throw new Failure('SIGNER_NOT_AVAILABLE', message)
}

const nameFor = ({ name }: Policy): string => Array.from(`SCEP signer ${name}`).slice(0, longestName).join('').trim()

/** The end entity that the signers of a policy belong to, made with the first of them. */
const ownerOf = async (em: EntityManager, policy: Policy): Promise<EndEntity> => {
  const known = await findSignerOwner(em, policy.id)
  if (known) return known
  const owner = em.create(EndEntity, { realmId: policy.realmId, ...endEntityFields({ commonName: nameFor(policy) }) })
  await em.flush()
  const what = `End entity ${owner.commonName ?? owner.id} for the SCEP signers of policy ${policy.name} created`
  record(em, { type: 'ENTITY_CREATED', objectId: owner.id, realmId: policy.realmId, what })
  return owner
}

/** A year, or as long as the CA lives. */
const within = ({ notBefore, notAfter }: Validity, { validNotBefore, validNotAfter }: IssuingCa): Validity => ({
  notBefore: notBefore < validNotBefore ? validNotBefore : notBefore,
  notAfter: notAfter > validNotAfter ? validNotAfter : notAfter,
})

const mustServe = ({ keyUsages, publicKeySpki }: CertificateDescription, spki: Buffer): void => {
  if (!publicKeySpki.equals(spki)) notAvailable('The provider answered with a certificate of another key.')
  if (neededUsages.some(usage => !keyUsages.includes(usage)))
    notAvailable('The template SCEP_SIGNER of the provider lacks digitalSignature or keyEncipherment.')
}

const makingCa = async (em: EntityManager, policy: Policy, now: Date): Promise<IssuingCa> => {
  const { making } = await findSignerRecords(em, policy, now)
  if (!making || !isIssuing(making, now)) return notAvailable('There is no CA now that could issue the signer.')
  return making
}

interface Certified {
  readonly certificate: CertificateDescription
  readonly issuerCaId: string
}

const certify = async (
  em: EntityManager,
  services: AuthorityServices,
  { policy, owner, keys }: { policy: Policy; owner: EndEntity; keys: KeyPair },
): Promise<Certified> => {
  const now = services.clock()
  const making = await makingCa(em, policy, now)
  const { certificateProviderId } = await em.findOneOrFail(Ca, { id: making.id })
  const provider = await em.findOneOrFail(CertificateProvider, { id: certificateProviderId ?? '' })
  const opened = await kindOf(provider).open(em, services, provider)
  const backdate = await services.settings.integer('issue.backdate-seconds')
  const der = await opened.issue({
    serialNumber: generateSerialNumber(),
    policyConfiguration: template,
    subject: owner.fields,
    publicKeySpki: keys.publicKeySpki,
    validity: within(validity('ONE_YEAR', now, backdate), making),
  })
  const certificate = parseCertificate(der)
  mustServe(certificate, keys.publicKeySpki)
  return { certificate, issuerCaId: making.id }
}

const isDue = async (em: EntityManager, policyId: string, now: Date): Promise<boolean> => {
  const policy = await em.findOneOrFail(Policy, { id: policyId })
  if (policy.archived) throw new Failure('ENTITY_ARCHIVED', 'The policy is archived.')
  return (await choosePolicySigners(em, policy, now)).due !== null
}

const store = async (em: EntityManager, services: AuthorityServices, { policyId, keys }: Made): Promise<void> => {
  await takeKeyedLocks(em, 'POLICY_SIGNER', [policyId])
  const now = services.clock()
  if (!(await isDue(em, policyId, now))) return
  const policy = await em.findOneOrFail(Policy, { id: policyId })
  const owner = await ownerOf(em, policy)
  const { certificate, issuerCaId } = await certify(em, services, { policy, owner, keys })
  const hash = publicKeyHash(certificate.publicKeySpki)
  const pkcs8 = keys.privateKeyPkcs8
  const crlPartition = partitionNamed(certificate.crlDistributionPoints)
  const signer = { policy, owner, certificate, issuerCaId, crlPartition, hash, keySpec, pkcs8 }
  await storeSigner(em, signer, { seal: services.seal, now })
}

interface Made {
  readonly policyId: string
  readonly keys: KeyPair
}

/** Makes the next signer of a policy when it is due; the key is made before anything is locked. */
export const makePolicySigner = async (
  em: EntityManager,
  services: AuthorityServices,
  policyId: string,
): Promise<void> => {
  if (!(await isDue(em.fork(), policyId, services.clock()))) return
  const keys = await generateKeyPair(keySpec)
  try {
    await em.fork().transactional(tx => store(tx, services, { policyId, keys }))
  } finally {
    keys.privateKeyPkcs8.fill(0)
  }
}
