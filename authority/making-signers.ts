// Making the signer of a policy (contract 10.5): its key, its certificate, and the end of the one before, in one transaction
// under a lock of the policy. One that nothing is wrong with is left as it is.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { endEntityFields } from '../domain/end-entity-rules.ts'
import { Failure } from '../domain/failure.ts'
import type { KeySpec } from '../domain/key-rules.ts'
import { isIssuing, signerKeyOf, type IssuingCa, type SignerKind } from '../domain/signer-rules.ts'
import { validity, type Validity } from '../domain/validity.ts'
import { generateSerialNumber, parseCertificate, type CertificateDescription } from '../pki/certificate/certificate.ts'
import type { KeyUsage } from '../pki/certificate/usages.ts'
import { generateKeyPair, type KeyPair } from '../pki/keys/key-pair.ts'
import { publicKeyHash } from '../pki/keys/request-key.ts'
import { record } from '../storage/audit.ts'
import { takeKeyedLocks } from '../storage/lock.ts'
import { findSignerOwner, findSignerRecords, type SignerPlace } from '../storage/policy-signers.ts'
import { Ca } from '../storage/rows/ca.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { EndEntity } from '../storage/rows/end-entity.ts'
import { Policy } from '../storage/rows/policy.ts'
import { storeSigner } from '../storage/signer-storing.ts'
import { partitionNamed } from './links.ts'
import { choosePolicySigners, findSignerPlace } from './policy-signers.ts'
import { kindOf } from './providers/kinds.ts'
import type { AuthorityServices } from './services.ts'

/** What the key of a signer must be good for: devices encrypt to that of SCEP as well (RFC 8894 2.1.2). */
const neededUsages: Readonly<Record<SignerKind, readonly KeyUsage[]>> = {
  SCEP: ['digitalSignature', 'keyEncipherment'],
  CMP: ['digitalSignature'],
}
const longestName = 64

const notAvailable = (message: string): never => {
  throw new Failure('SIGNER_NOT_AVAILABLE', message)
}

const nameFor = ({ policy, kind }: SignerPlace): string =>
  Array.from(`${kind} signer ${policy.name}`).slice(0, longestName).join('').trim()

/** In the realm of others a name alone could be that of another's policy: devices must tell their signers apart. */
const subjectFor = (place: SignerPlace) => ({
  commonName: nameFor(place),
  ...(place.home !== place.policy && { organizationalUnit: place.policy.id }),
})

/** The end entity that the signers of a policy belong to, made with the first of them. */
const ownerOf = async (em: EntityManager, place: SignerPlace): Promise<EndEntity> => {
  const known = await findSignerOwner(em, place)
  if (known) return known
  const { policy, kind, home } = place
  const owner = em.create(EndEntity, { realmId: home.realmId, ...endEntityFields(subjectFor(place)) })
  await em.flush()
  const what = `End entity ${owner.commonName ?? owner.id} for the ${kind} signers of policy ${policy.name} created`
  record(em, { type: 'ENTITY_CREATED', objectId: owner.id, realmId: home.realmId, what })
  return owner
}

/** A year, or as long as the CA lives. */
const within = ({ notBefore, notAfter }: Validity, { validNotBefore, validNotAfter }: IssuingCa): Validity => ({
  notBefore: notBefore < validNotBefore ? validNotBefore : notBefore,
  notAfter: notAfter > validNotAfter ? validNotAfter : notAfter,
})

const mustServe = ({ keyUsages, publicKeySpki }: CertificateDescription, { kind, spki }: Served): void => {
  if (!publicKeySpki.equals(spki)) notAvailable('The provider answered with a certificate of another key.')
  const lacks = neededUsages[kind].filter(usage => !keyUsages.includes(usage))
  if (lacks.length > 0) notAvailable(`The template of the provider for ${kind} signers lacks ${lacks.join(' and ')}.`)
}

interface Served {
  readonly kind: SignerKind
  readonly spki: Buffer
}

/** The template of a kind, which every LOCAL provider has; that of CMP signers is what their policy says at its provider. */
const templateOf = ({ kind, home }: SignerPlace, provider: CertificateProvider): string =>
  kind === 'CMP' && provider.id === home.certificateProviderId
    ? home.certificateProviderConfiguration
    : JSON.stringify({ templateSignerName: `${kind}_SIGNER` })

const makingCa = async (em: EntityManager, place: SignerPlace, now: Date): Promise<IssuingCa> => {
  const { making } = await findSignerRecords(em, place, now)
  if (!making || !isIssuing(making, now)) return notAvailable('There is no CA now that could issue the signer.')
  return making
}

interface Certified {
  readonly certificate: CertificateDescription
  readonly issuerCaId: string
  readonly lint: string | null
}

const certify = async (
  em: EntityManager,
  services: AuthorityServices,
  { place, owner, keys }: { place: SignerPlace; owner: EndEntity; keys: KeyPair },
): Promise<Certified> => {
  const now = services.clock()
  const making = await makingCa(em, place, now)
  const { certificateProviderId } = await em.findOneOrFail(Ca, { id: making.id })
  const provider = await em.findOneOrFail(CertificateProvider, { id: certificateProviderId ?? '' })
  const opened = await kindOf(provider).open(em, services, provider)
  const backdate = await services.settings.integer('issue.backdate-seconds')
  const der = await opened.issue({
    serialNumber: generateSerialNumber(),
    policyConfiguration: templateOf(place, provider),
    subject: owner.fields,
    publicKeySpki: keys.publicKeySpki,
    validity: within(validity('ONE_YEAR', now, backdate), making),
  })
  const certificate = parseCertificate(der)
  mustServe(certificate, { kind: place.kind, spki: keys.publicKeySpki })
  return { certificate, issuerCaId: making.id, lint: opened.lint }
}

/** A signer that may have to be made. */
export interface SignerWanted {
  readonly policyId: string
  readonly kind: SignerKind
}

/** What is to be made now; null where nothing is. */
interface Due {
  readonly place: SignerPlace
  readonly keySpec: KeySpec
}

const findDue = async (em: EntityManager, services: AuthorityServices, wanted: SignerWanted): Promise<Due | null> => {
  const { policyId, kind } = wanted
  const policy = await em.findOneOrFail(Policy, { id: policyId })
  if (policy.archived) throw new Failure('ENTITY_ARCHIVED', 'The policy is archived.')
  const place = await findSignerPlace(em, services.settings, { policy, kind })
  const { due } = await choosePolicySigners(em, place, services.clock())
  return due && { place, keySpec: signerKeyOf(kind, policy.cmpConfiguration ?? null) }
}

interface Made extends SignerWanted {
  readonly keySpec: KeySpec
  readonly keys: KeyPair
}

const store = async (em: EntityManager, services: AuthorityServices, { keySpec, keys, ...wanted }: Made) => {
  await takeKeyedLocks(em, 'POLICY_SIGNER', [wanted.policyId])
  const due = await findDue(em, services, wanted)
  // When the policy wants another key meanwhile, the next use of the signer has it made.
  if (!due || !isDeepStrictEqual(due.keySpec, keySpec)) return
  const { place } = due
  const owner = await ownerOf(em, place)
  const { certificate, issuerCaId, lint } = await certify(em, services, { place, owner, keys })
  const hash = publicKeyHash(certificate.publicKeySpki)
  const pkcs8 = keys.privateKeyPkcs8
  const now = services.clock()
  const crlPartition = partitionNamed(certificate.crlDistributionPoints)
  const signer = { place, owner, certificate, issuerCaId, lint, crlPartition, hash, keySpec, pkcs8 }
  await storeSigner(em, signer, { seal: services.seal, now })
}

/** Makes the next signer of a policy when it is due; the key is made before anything is locked. */
export const makePolicySigner = async (
  em: EntityManager,
  services: AuthorityServices,
  wanted: SignerWanted,
): Promise<void> => {
  const due = await findDue(em.fork(), services, wanted)
  if (!due) return
  const { keySpec } = due
  const keys = await generateKeyPair(keySpec)
  try {
    await em.fork().transactional(tx => store(tx, services, { ...wanted, keySpec, keys }))
  } finally {
    keys.privateKeyPkcs8.fill(0)
  }
}
