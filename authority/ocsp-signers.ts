// The delegated signer of a CA's OCSP answers (RFC 6960 4.2.2.2, contract 10.2): made below the CA in one transaction under a
// lock, so that there is one at a time; opened once a process.
import type { KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { KeySpec } from '../domain/key-rules.ts'
import type { Validity } from '../domain/validity.ts'
import {
  generateSerialNumber,
  issueCertificate,
  lintEdition,
  parseCertificate,
} from '../pki/certificate/certificate.ts'
import { internalTemplates } from '../pki/certificate/templates.ts'
import { generateKeyPair, type KeyPair } from '../pki/keys/key-pair.ts'
import { publicKeyHash } from '../pki/keys/request-key.ts'
import { encodeName, subjectName } from '../pki/names/name.ts'
import { record } from '../storage/audit.ts'
import { ocspSignerKeyUse } from '../storage/key-uses.ts'
import { takeKeyedLocks } from '../storage/lock.ts'
import { dueOcspSigners, retireOcspSigner } from '../storage/ocsp.ts'
import { OcspSigner } from '../storage/rows/ocsp-signer.ts'
import { PrivateKey } from '../storage/rows/private-key.ts'
import type { Seal } from '../storage/seal.ts'
import { linksBelow } from './links.ts'
import type { AuthorityServices } from './services.ts'
import { keyIn, openCaSigner, sealPrivateKey, type CaSigner } from './signers.ts'

const dayMs = 86_400_000
const lifetimeMs = 90 * dayMs
/** So long before its end a signer is replaced. */
const renewalMs = 30 * dayMs

const longestName = 64

const nameFor = ({ certificate }: CaSigner): string =>
  Array.from(`OCSP signer ${certificate.subjectCommonName ?? certificate.serialNumber}`)
    .slice(0, longestName)
    .join('')
    .trim()

/** The kind of key of the CA, which its relying parties can check; RSA as short as it may be, for it signs often. */
const specFor = ({ spec }: { readonly spec: KeySpec }): KeySpec =>
  spec.cryptoAlgorithm === 'RSA' ? { cryptoAlgorithm: 'RSA', keySize: 2048 } : spec

/** 90 days in whole seconds, or as long as the CA lives. */
const validityOf = async ({ clock, settings }: AuthorityServices, { issuer }: CaSigner): Promise<Validity> => {
  const begin = Math.floor(clock().getTime() / 1000) * 1000
  const backdateMs = 1000 * (await settings.integer('issue.backdate-seconds'))
  return {
    notBefore: new Date(Math.max(begin - backdateMs, issuer.validity.notBefore.getTime())),
    notAfter: new Date(Math.min(begin + lifetimeMs - 1000, issuer.validity.notAfter.getTime())),
  }
}

const certify = async (services: AuthorityServices, signer: CaSigner, keys: KeyPair): Promise<Buffer> => {
  const links = await linksBelow(services, signer.caId)
  const input = {
    serialNumber: generateSerialNumber(),
    issuer: signer.issuer,
    subjectDer: encodeName(subjectName({ commonName: nameFor(signer) })),
    validity: await validityOf(services, signer),
    publicKeySpki: keys.publicKeySpki,
    template: internalTemplates.OCSP_SIGNER,
    sans: [],
    // Nobody asks for its status (RFC 6960 4.2.2.2.1): the link to itself would lead in a circle.
    urls: { ...links, ocsp: [] },
  }
  return issueCertificate(input, signer.key)
}

const store = (em: EntityManager, seal: Seal, { caId, der, keys }: { caId: string; der: Buffer; keys: KeyPair }) => {
  const certificate = parseCertificate(der)
  const id = crypto.randomUUID()
  const use = ocspSignerKeyUse({ caId, id }, publicKeyHash(certificate.publicKeySpki))
  const { serialNumber, validNotBefore, validNotAfter, subjectDn } = certificate
  const privateKeyId = sealPrivateKey(em, seal, { pkcs8: keys.privateKeyPkcs8, use })
  em.create(OcspSigner, { id, caId, privateKeyId, serialNumber, validNotBefore, validNotAfter, der })
  const what = `OCSP signer ${subjectDn} (${serialNumber}) made after ${lintEdition}`
  record(em, { type: 'SIGNER_RENEWED', objectId: caId, what })
}

/** The CAs whose signer is to be made now, of all or of one. */
export const casWithoutOcspSigner = (em: EntityManager, now: Date, caId?: string): Promise<string[]> =>
  dueOcspSigners(em, { now, before: new Date(now.getTime() + renewalMs), caId })

/** Makes the next OCSP signer of a CA in the caller's transaction when it is due; else nothing. */
export const makeOcspSigner = async (em: EntityManager, services: AuthorityServices, caId: string): Promise<void> => {
  await takeKeyedLocks(em, 'OCSP_SIGNER', [caId])
  const now = services.clock()
  if ((await casWithoutOcspSigner(em, now, caId)).length === 0) return
  const signer = await openCaSigner(em, services.seal, caId)
  const keys = await generateKeyPair(specFor(signer.issuer.algorithm))
  try {
    const der = await certify(services, signer, keys)
    await retireOcspSigner(em, caId, now)
    store(em, services.seal, { caId, der, keys })
    await em.flush()
  } finally {
    keys.privateKeyPkcs8.fill(0)
  }
}

/** A signer whose key is open in this process. */
export interface OcspSignerKey {
  /** The certificate of a delegated signer, DER; an answer that the CA signs itself carries none. */
  readonly certificates: readonly Buffer[]
  /** DER SubjectPublicKeyInfo. */
  readonly publicKeySpki: Buffer
  readonly validNotAfter: Date
  readonly key: KeyObject
}

const openDelegated = async (em: EntityManager, seal: Seal, id: string): Promise<OcspSignerKey | null> => {
  const row = await em.findOne(OcspSigner, { id }, { disableIdentityMap: true })
  const stored = row?.privateKeyId ? await em.findOne(PrivateKey, { id: row.privateKeyId }) : null
  if (!row || !stored) return null
  const { der, caId, validNotAfter } = row
  const { publicKeySpki } = parseCertificate(der)
  const pkcs8 = seal.unseal(stored.sealed, ocspSignerKeyUse({ caId, id }, publicKeyHash(publicKeySpki)))
  const key = keyIn(pkcs8)
  pkcs8.fill(0)
  return { certificates: [der], publicKeySpki, validNotAfter, key }
}

/** So many stay open: one a CA, and those before them. */
const mostOpen = 200

const openedBy = new WeakMap<Seal, Map<string, OcspSignerKey>>()

/** Opens a delegated signer; null where it was replaced just now. Its key is unsealed once a process. */
export const openOcspSigner = async (em: EntityManager, seal: Seal, id: string): Promise<OcspSignerKey | null> => {
  const opened = openedBy.get(seal) ?? new Map<string, OcspSignerKey>()
  openedBy.set(seal, opened)
  const known = opened.get(id)
  if (known) return known
  const signer = await openDelegated(em, seal, id)
  if (!signer) return null
  const [oldest] = opened.keys()
  if (opened.size >= mostOpen && oldest !== undefined) opened.delete(oldest)
  opened.set(id, signer)
  return signer
}
