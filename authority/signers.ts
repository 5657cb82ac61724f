// Signers: private keys that leave their seal, each for its own certificate alone. CA keys stay open in this process as
// long as their seal lives; the keys of end entities are handed out once and wiped by whoever asked.
import { createPrivateKey, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { issuerOf, parseCertificate, type CertificateDescription, type Issuer } from '../pki/certificate/certificate.ts'
import { keyAlgorithmOf } from '../pki/keys/algorithms.ts'
import { publicKeyHash } from '../pki/keys/request-key.ts'
import { caKeyUse, certificateKeyUse, signerKeyUse } from '../storage/key-uses.ts'
import { Ca } from '../storage/rows/ca.ts'
import type { Certificate } from '../storage/rows/certificate.ts'
import type { PolicySigner } from '../storage/rows/policy-signer.ts'
import { PrivateKey } from '../storage/rows/private-key.ts'
import type { Seal, Use } from '../storage/seal.ts'

/** A CA whose key is open in this process. */
export interface CaSigner {
  readonly caId: string
  /** The provider that the CA issues for. */
  readonly providerId: string | null
  readonly certificate: CertificateDescription
  readonly issuer: Issuer
  readonly key: KeyObject
}

/** Seals a private key (PKCS#8 DER, wiped here) for its use and the flush that stores it, and answers its id. */
export const sealPrivateKey = (em: EntityManager, seal: Seal, { pkcs8, use }: { pkcs8: Buffer; use: Use }): string => {
  const id = crypto.randomUUID()
  em.create(PrivateKey, { id, sealed: seal.seal(pkcs8, use) })
  pkcs8.fill(0)
  return id
}

/** A private key (PKCS#8 DER) as node:crypto works with it. */
export const keyIn = (pkcs8: Buffer): KeyObject => createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })

/** The seal says so already; this holds whatever becomes of the seal. */
const mustFit = (pkcs8: Buffer, spki: Buffer): void => {
  if (createPublicKey(keyIn(pkcs8)).export({ type: 'spki', format: 'der' }).equals(spki)) return
  pkcs8.fill(0)
  throw new Error('A sealed private key is not that of its certificate.')
}

/** The private key of a certificate in the clear, PKCS#8 DER; the caller wipes it. Null where none is held. */
export const openCertificateKey = async (
  em: EntityManager,
  seal: Seal,
  { id, privateKeyId, der }: Certificate,
): Promise<Buffer | null> => {
  const stored = privateKeyId ? await em.findOne(PrivateKey, privateKeyId) : null
  if (!stored) return null
  const spki = parseCertificate(der).publicKeySpki
  const pkcs8 = seal.unseal(stored.sealed, certificateKeyUse(id, publicKeyHash(spki)))
  mustFit(pkcs8, spki)
  return pkcs8
}

/** The private key of a signer that was made for a policy, PKCS#8 DER; the caller wipes it. */
export const openSignerKey = async (
  em: EntityManager,
  seal: Seal,
  { row, spki }: { readonly row: PolicySigner; readonly spki: Buffer },
): Promise<Buffer> => {
  const stored = await em.findOneOrFail(PrivateKey, row.privateKeyId)
  const pkcs8 = seal.unseal(stored.sealed, signerKeyUse(row, publicKeyHash(spki)))
  mustFit(pkcs8, spki)
  return pkcs8
}

const openCaKey = async (em: EntityManager, seal: Seal, ca: Ca): Promise<KeyObject> => {
  const stored = ca.privateKeyId ? await em.findOne(PrivateKey, ca.privateKeyId) : null
  if (!stored) throw new Error(`The key of the CA ${ca.id} is missing.`)
  const spki = parseCertificate(ca.der).publicKeySpki
  const pkcs8 = seal.unseal(stored.sealed, caKeyUse(ca, publicKeyHash(spki)))
  mustFit(pkcs8, spki)
  const key = keyIn(pkcs8)
  pkcs8.fill(0)
  return key
}

const open = async (em: EntityManager, seal: Seal, caId: string): Promise<CaSigner> => {
  const ca = await em.findOneOrFail(Ca, caId)
  const certificate = parseCertificate(ca.der)
  const providerId = ca.certificateProviderId ?? null
  return { caId, providerId, certificate, issuer: issuerOf(certificate), key: await openCaKey(em, seal, ca) }
}

const openedBy = new WeakMap<Seal, Map<string, CaSigner>>()

const openedUnder = (seal: Seal): Map<string, CaSigner> => {
  const opened = openedBy.get(seal) ?? new Map<string, CaSigner>()
  openedBy.set(seal, opened)
  return opened
}

/** Opens the signer of a CA as the records have it now, whatever this process holds already. */
export const openCaSignerAnew = async (em: EntityManager, seal: Seal, caId: string): Promise<CaSigner> => {
  openedUnder(seal).delete(caId)
  const signer = await open(em, seal, caId)
  openedUnder(seal).set(caId, signer)
  return signer
}

/** Opens the signer of a CA; its key is unsealed once a process. */
export const openCaSigner = async (em: EntityManager, seal: Seal, caId: string): Promise<CaSigner> =>
  openedUnder(seal).get(caId) ?? openCaSignerAnew(em, seal, caId)

/** Refuses with CERTIFICATE_PROVIDER_ERROR a signer whose key is not that of its certificate. */
export const checkCaSigner = ({ key, certificate }: CaSigner): void => {
  const probe = randomBytes(32)
  const { digest } = keyAlgorithmOf(key).signature
  const spki = createPublicKey({ key: certificate.publicKeySpki, format: 'der', type: 'spki' })
  if (!verify(digest, probe, spki, sign(digest, probe, key)))
    throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The key of the CA does not fit its certificate.')
}
