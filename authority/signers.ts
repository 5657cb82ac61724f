// Signers: private keys that leave their seal. CA keys stay open in this process as long as their seal lives; the keys
// of end entities are handed out once and wiped by whoever asked.
import { createPrivateKey, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { issuerOf, parseCertificate, type CertificateDescription, type Issuer } from '../pki/certificate/certificate.ts'
import { keyAlgorithmOf } from '../pki/keys/algorithms.ts'
import { Ca } from '../storage/rows/ca.ts'
import { PrivateKey } from '../storage/rows/private-key.ts'
import type { Seal } from '../storage/seal.ts'

/** A CA whose key is open in this process. */
export interface CaSigner {
  readonly caId: string
  readonly certificate: CertificateDescription
  readonly issuer: Issuer
  readonly key: KeyObject
}

/** A stored private key in the clear, PKCS#8 DER; the caller wipes it. Null where none is held under this id. */
export const unsealPrivateKey = async (
  em: EntityManager,
  seal: Seal,
  privateKeyId: string | null | undefined,
): Promise<Buffer | null> => {
  const stored = privateKeyId ? await em.findOne(PrivateKey, privateKeyId) : null
  return stored && seal.unseal(stored.sealed, stored.id)
}

/** Seals a private key (PKCS#8 DER, wiped here) for the flush that stores it, and answers its id. */
export const sealPrivateKey = (em: EntityManager, seal: Seal, pkcs8: Buffer): string => {
  const id = crypto.randomUUID()
  em.create(PrivateKey, { id, sealed: seal.seal(pkcs8, id) })
  pkcs8.fill(0)
  return id
}

const openKey = async (em: EntityManager, seal: Seal, { id, privateKeyId }: Ca): Promise<KeyObject> => {
  const pkcs8 = await unsealPrivateKey(em, seal, privateKeyId)
  if (!pkcs8) throw new Error(`The key of the CA ${id} is missing.`)
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  pkcs8.fill(0)
  return key
}

const open = async (em: EntityManager, seal: Seal, caId: string): Promise<CaSigner> => {
  const ca = await em.findOneOrFail(Ca, caId)
  const certificate = parseCertificate(ca.der)
  return { caId, certificate, issuer: issuerOf(certificate), key: await openKey(em, seal, ca) }
}

const openedBy = new WeakMap<Seal, Map<string, CaSigner>>()

/** Opens the signer of a CA; its key is unsealed once a process. */
export const openCaSigner = async (em: EntityManager, seal: Seal, caId: string): Promise<CaSigner> => {
  const opened = openedBy.get(seal) ?? new Map<string, CaSigner>()
  openedBy.set(seal, opened)
  const signer = opened.get(caId) ?? (await open(em, seal, caId))
  opened.set(caId, signer)
  return signer
}

/** Refuses with CERTIFICATE_PROVIDER_ERROR a signer whose key is not that of its certificate. */
export const checkCaSigner = ({ key, certificate }: CaSigner): void => {
  const probe = randomBytes(32)
  const { digest } = keyAlgorithmOf(key).signature
  const spki = createPublicKey({ key: certificate.publicKeySpki, format: 'der', type: 'spki' })
  if (!verify(digest, probe, spki, sign(digest, probe, key)))
    throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The key of the CA does not fit its certificate.')
}
