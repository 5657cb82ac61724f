// The signers of policies (contract 10.5): chosen by what the records say at each use, their keys opened once a process.
import type { KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { chooseCmpSigner, chooseSigners, type SignerChoice, type SignerState } from '../domain/signer-rules.ts'
import { parseCertificate, type CertificateDescription } from '../pki/certificate/certificate.ts'
import { findSignerRecords, type SignerPlace } from '../storage/policy-signers.ts'
import { Certificate } from '../storage/rows/certificate.ts'
import { Policy } from '../storage/rows/policy.ts'
import { PolicySigner } from '../storage/rows/policy-signer.ts'
import { MasterKeyMissing, type Seal } from '../storage/seal.ts'
import type { Settings } from '../storage/settings.ts'
import { keyIn, openCaSigner, openCertificateKey, openSignerKey } from './signers.ts'

/** A signer whose key is open in this process. */
export interface PolicySignerKey {
  readonly certificate: CertificateDescription
  readonly key: KeyObject
}

const notAvailable = (message: string): never => {
  throw new Failure('SIGNER_NOT_AVAILABLE', message)
}

const cmpHome = async (em: EntityManager, settings: Settings): Promise<Policy> => {
  const id = await settings.text('system.cmp-signer-policy-id')
  const home = id === null ? null : await em.findOne(Policy, { id, archived: false })
  return home ?? notAvailable('There is no policy that the signer could be made under.')
}

/** Where the signers of a kind are: those of SCEP under the policy itself, made ones of CMP under that of the system. */
export const findSignerPlace = async (
  em: EntityManager,
  settings: Settings,
  { policy, kind }: Pick<SignerPlace, 'policy' | 'kind'>,
): Promise<SignerPlace> => {
  const isOwn = kind === 'SCEP' || !policy.cmpConfiguration?.enabled || policy.cmpConfiguration.signerCertificateId
  return { policy, kind, home: isOwn ? policy : await cmpHome(em, settings) }
}

/** Chooses the signers by what the records say now; SCEP_NOT_ENABLED, CMP_NOT_ENABLED where the policy does not take part. */
export const choosePolicySigners = async (em: EntityManager, place: SignerPlace, now: Date): Promise<SignerChoice> => {
  const { scepConfiguration: scep, cmpConfiguration: cmp } = place.policy
  if (place.kind === 'CMP') {
    if (!cmp?.enabled) throw new Failure('CMP_NOT_ENABLED')
    return chooseCmpSigner(cmp, await findSignerRecords(em, place, now), now)
  }
  if (!scep?.enabled) throw new Failure('SCEP_NOT_ENABLED')
  return chooseSigners(scep, await findSignerRecords(em, place, now), now)
}

const openPkcs8 = async (em: EntityManager, seal: Seal, row: Certificate): Promise<Buffer> => {
  const made = await em.findOne(PolicySigner, { certificateId: row.id })
  if (made) return openSignerKey(em, seal, { row: made, spki: parseCertificate(row.der).publicKeySpki })
  return (await openCertificateKey(em, seal, row)) ?? notAvailable('The key of the signer is not kept here.')
}

const open = async (em: EntityManager, seal: Seal, certificateId: string): Promise<PolicySignerKey> => {
  const row = await em.findOneOrFail(Certificate, { id: certificateId })
  const pkcs8 = await openPkcs8(em, seal, row)
  const key = keyIn(pkcs8)
  pkcs8.fill(0)
  return { certificate: parseCertificate(row.der), key }
}

/** So many stay open: two a policy serve many policies. */
const mostOpen = 1000

const openedBy = new WeakMap<Seal, Map<string, PolicySignerKey>>()

/** Opens a signer by its certificate, whose octets and key never change; whether it may be used is judged before. */
export const openPolicySigner = async (
  em: EntityManager,
  seal: Seal,
  { certificateId }: SignerState,
): Promise<PolicySignerKey> => {
  const opened = openedBy.get(seal) ?? new Map<string, PolicySignerKey>()
  openedBy.set(seal, opened)
  const known = opened.get(certificateId)
  if (known) return known
  const signer = await open(em, seal, certificateId)
  const [oldest] = opened.keys()
  if (opened.size >= mostOpen && oldest !== undefined) opened.delete(oldest)
  opened.set(certificateId, signer)
  return signer
}

/** Opens the own key of a CA; SIGNER_NOT_AVAILABLE where this process lacks the master key for those. */
export const openPolicyCa = async (em: EntityManager, seal: Seal, caId: string): Promise<PolicySignerKey> => {
  try {
    return await openCaSigner(em, seal, caId)
  } catch (error) {
    if (!(error instanceof MasterKeyMissing)) throw error
    return notAvailable('The key of the CA cannot be opened here: the API was not given CA_MASTER_KEYS.')
  }
}
