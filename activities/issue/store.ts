// The one transaction that makes issued certificates true (contract 4.2): certificate, ISSUED state, sealed key,
// alias, grants, audit event and the end of the order's item, together or not at all.
import type { EntityManager } from '@mikro-orm/postgresql'
import { strategyKey } from '../../domain/end-entity-rules.ts'
import { apiErrors } from '../../domain/failure.ts'
import { system } from '../../domain/principal.ts'
import type { CertificateDescription } from '../../pki/certificate/certificate.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { record, recordMany, type Fact } from '../../storage/audit.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { certificateColumns } from '../../storage/certificate-row.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { markIssued, releaseRequests } from '../../storage/claims.ts'
import { grantCreator } from '../../storage/grant.ts'
import { setAliases } from '../../storage/aliases.ts'
import { endItems, type ItemEnd } from '../../storage/order-items.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { isOrder } from '../../workflows/ids.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import { findDoubles } from './uniqueness.ts'
import type { Dossier } from '../../authority/request-case.ts'
import type { Services } from '../services.ts'

/** A signed certificate that is not stored yet. */
export interface Issued {
  readonly dossier: Dossier
  readonly certificate: CertificateDescription
  readonly certificateId: string
  /** The private key that was made for it, PKCS#8 DER. */
  readonly pkcs8: Buffer | null
}

/** What a few requests of a run came to. */
export interface Results {
  readonly issued: readonly Issued[]
  readonly failed: readonly ItemOutcome[]
}

interface Stored extends Issued {
  readonly privateKeyId: string | null
}

/** Takes the requests that still wait for this run; a run that was overtaken stores nothing. */
const claim = (
  em: EntityManager,
  runId: string,
  { issued, now }: { issued: readonly Issued[]; now: Date },
): Promise<ReadonlySet<string>> =>
  markIssued(em, runId, {
    certificateIds: new Map(issued.map(({ dossier, certificateId }) => [dossier.request.id, certificateId])),
    undelivered: !isOrder(runId),
    now,
  })

const stampOf = ({ request }: Dossier, now: Date) => ({
  createdBy: request.createdBy ?? null,
  createdByType: request.createdByType,
  createdDate: now,
  lastModifiedBy: request.createdBy ?? null,
  lastModifiedByType: request.createdByType,
  lastModifiedDate: now,
})

const rowOf = ({ dossier, certificate, certificateId, privateKeyId }: Stored, now: Date) => ({
  id: certificateId,
  ...stampOf(dossier, now),
  realmId: dossier.request.realmId,
  policyId: dossier.policy.id,
  endEntityId: dossier.endEntity.id,
  certRequestId: dossier.request.id,
  issuerCaId: dossier.provider.issuerCaId,
  privateKeyId,
  ...certificateColumns(certificate, publicKeyHash(certificate.publicKeySpki)),
  keyPairMode: dossier.request.keyPairMode,
})

const factOf = ({ dossier, certificate, certificateId }: Issued): Fact => ({
  type: 'CERTIFICATE_ISSUED',
  objectId: certificateId,
  realmId: dossier.request.realmId,
  certificateId,
  what: `Certificate ${certificate.subjectDn || certificate.serialNumber} issued for request ${dossier.request.id}`,
})

const giveGrants = async (em: EntityManager, stored: readonly Issued[]): Promise<void> => {
  for (const [creator, theirs] of Map.groupBy(stored, ({ dossier }) => dossier.request.createdBy ?? null))
    await grantCreator(em, creator, {
      scope: 'CERTIFICATE',
      resourceIds: theirs.map(({ certificateId }) => certificateId),
    })
}

const giveAliases = (em: EntityManager, stored: readonly Issued[], now: Date): Promise<void> => {
  const wanted = stored.flatMap(({ dossier: { endEntity, policy }, certificate }) => {
    const identity = { ...endEntity.fields, id: endEntity.id, subjectDn: certificate.subjectDn }
    const alias = endEntity.alias ? null : strategyKey(policy.endEntityStrategy, identity)
    return alias ? [{ id: endEntity.id, realmId: endEntity.realmId, alias }] : []
  })
  return setAliases(em, wanted, now)
}

const recordFailed = async (em: EntityManager, orderId: string, failed: readonly ItemOutcome[]): Promise<void> => {
  const codes = new Map(failed.map(({ certRequestId, failure }) => [certRequestId, failure?.apiError]))
  for (const { id, realmId, label } of await em.find(CertRequest, { id: { $in: [...codes.keys()] } }))
    record(em, {
      type: 'ORDER_FAILED',
      objectId: id,
      realmId,
      what: `Order ${orderId} failed with ${codes.get(id) ?? 'INTERNAL_ERROR'} for the certificate request of ${label}, ended`,
    })
}

const freeFailed = async (em: EntityManager, runId: string, failed: readonly ItemOutcome[]) => {
  if (failed.length === 0) return
  await releaseRequests(
    em,
    runId,
    failed.map(({ certRequestId }) => certRequestId),
  )
  if (isOrder(runId)) await recordFailed(em, runId, failed)
}

const endsOf = (stored: readonly Issued[], failed: readonly ItemOutcome[]): ItemEnd[] => [
  ...stored.map(({ dossier }) => ({ certRequestId: dossier.request.id, status: 'COMPLETED' as const })),
  ...failed.map(({ certRequestId, failure }) => ({ certRequestId, status: 'FAILED' as const, failure })),
]

const store = async (em: EntityManager, services: Services, stored: readonly Stored[]): Promise<void> => {
  const now = services.clock()
  const keys = stored.flatMap(({ pkcs8, privateKeyId }) =>
    pkcs8 && privateKeyId
      ? [{ id: privateKeyId, sealed: services.seal.seal(pkcs8, privateKeyId), createdDate: now }]
      : [],
  )
  if (keys.length > 0) await em.insertMany(PrivateKey, keys)
  await em.insertMany(
    Certificate,
    stored.map(one => rowOf(one, now)),
  )
  await recordMany(em, stored.map(factOf), { now, author: system })
  await giveGrants(em, stored)
  await giveAliases(em, stored, now)
}

const doubleOutcome = (certRequestId: string): ItemOutcome => ({
  certRequestId,
  failure: {
    apiError: 'ACTIVE_CERTIFICATE_EXISTS',
    errorMessage: apiErrors.ACTIVE_CERTIFICATE_EXISTS.description,
  },
})

/** Stores what was issued and what failed, and answers one outcome a request. */
export const storeIssued = (
  services: Services,
  runId: string,
  { issued, failed: refused }: Results,
): Promise<ItemOutcome[]> =>
  services.orm.em.fork().transactional(async em => {
    const now = services.clock()
    const doubles = await findDoubles(em, issued, now)
    const single = issued.filter(one => !doubles.has(one.dossier.request.id))
    const failed = [...refused, ...[...doubles].map(doubleOutcome)]
    const claimed = await claim(em, runId, { issued: single, now })
    const stored = issued
      .filter(({ dossier }) => claimed.has(dossier.request.id))
      .map(one => ({ ...one, privateKeyId: one.pkcs8 ? crypto.randomUUID() : null }))
    if (stored.length > 0) await store(em, services, stored)
    await freeFailed(em, runId, failed)
    if (isOrder(runId)) await endItems(em, runId, endsOf(stored, failed))
    for (const { pkcs8 } of issued) pkcs8?.fill(0)
    return [
      ...stored.map(({ dossier, certificateId }) => ({ certRequestId: dossier.request.id, certificateId })),
      ...failed,
    ]
  })
