// The one transaction that makes issued certificates true (contract 4.2): certificate, ISSUED state, sealed key,
// alias, grants, audit event and the end of the order's item, together or not at all.
import type { EntityManager } from '@mikro-orm/postgresql'
import { strategyKey } from '../../domain/end-entity-rules.ts'
import { apiErrors } from '../../domain/failure.ts'
import { system } from '../../domain/principal.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { record, recordMany, type Fact } from '../../storage/audit.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { certificateColumns } from '../../storage/certificate-row.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { markIssued, releaseRequests } from '../../storage/claims.ts'
import { grantCreator } from '../../storage/grant.ts'
import { certificateKeyUse } from '../../storage/key-uses.ts'
import { setAliases } from '../../storage/aliases.ts'
import { endItems, type ItemEnd } from '../../storage/order-items.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { isOrder } from '../../workflows/ids.ts'
import type { Seal } from '../../storage/seal.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import type { Services } from '../services.ts'
import { queueIssuedMails } from './mails.ts'
import type { Issued, ReadyRequest } from './sign.ts'
import { overtakenIn } from './uniqueness.ts'

/** What a few requests of a run came to. */
export interface Results {
  readonly issued: readonly Issued[]
  readonly failed: readonly ItemOutcome[]
}

interface Run {
  readonly runId: string
}

interface Stored extends Issued {
  readonly privateKeyId: string | null
}

/** Makes the requests ISSUED that the run still has; a run that was overtaken stores nothing. */
const claim = (
  em: EntityManager,
  runId: string,
  { issued, now }: { issued: readonly Issued[]; now: Date },
): Promise<ReadonlySet<string>> =>
  markIssued(em, runId, {
    certificateIds: new Map(issued.map(({ request, certificateId }) => [request.id, certificateId])),
    undelivered: !isOrder(runId),
    now,
  })

const stampOf = ({ request }: ReadyRequest, now: Date) => ({
  createdBy: request.createdBy ?? null,
  createdByType: request.createdByType,
  createdDate: now,
  lastModifiedBy: request.createdBy ?? null,
  lastModifiedByType: request.createdByType,
  lastModifiedDate: now,
})

const rowOf = (stored: Stored, now: Date) => ({
  id: stored.certificateId,
  ...stampOf(stored, now),
  realmId: stored.request.realmId,
  policyId: stored.request.policyId,
  endEntityId: stored.request.endEntityId,
  certRequestId: stored.request.id,
  issuerCaId: stored.provider.issuerCaId,
  privateKeyId: stored.privateKeyId,
  ...certificateColumns(stored.certificate, publicKeyHash(stored.certificate.publicKeySpki)),
  keyPairMode: stored.request.keyPairMode,
})

const factOf = ({ request, certificate, certificateId }: Issued): Fact => ({
  type: 'CERTIFICATE_ISSUED',
  objectId: certificateId,
  realmId: request.realmId,
  certificateId,
  what: `Certificate ${certificate.subjectDn || certificate.serialNumber} issued for request ${request.id}`,
})

const giveGrants = async (em: EntityManager, stored: readonly Issued[]): Promise<void> => {
  for (const [creator, theirs] of Map.groupBy(stored, ({ request }) => request.createdBy ?? null)) {
    const resourceIds = theirs.map(({ certificateId }) => certificateId)
    await grantCreator(em, creator, { scope: 'CERTIFICATE', resourceIds })
  }
}

const giveAliases = (em: EntityManager, stored: readonly Issued[], now: Date): Promise<void> => {
  const wanted = stored.flatMap(({ open, certificate }) => {
    const { endEntity, policy } = open.asked
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
  const ids = failed.map(({ certRequestId }) => certRequestId)
  if (ids.length === 0) return
  await releaseRequests(em, runId, ids)
  if (isOrder(runId)) await recordFailed(em, runId, failed)
}

const endsOf = (stored: readonly Issued[], failed: readonly ItemOutcome[]): ItemEnd[] => [
  ...stored.map(({ request }) => ({ certRequestId: request.id, status: 'COMPLETED' as const })),
  ...failed.map(({ certRequestId, failure }) => ({ certRequestId, status: 'FAILED' as const, failure })),
]

const store = async (
  em: EntityManager,
  stored: readonly Stored[],
  { seal, now }: { seal: Seal; now: Date },
): Promise<void> => {
  const keys = stored.flatMap(({ pkcs8, privateKeyId, certificateId, certificate }) => {
    const use = certificateKeyUse(certificateId, publicKeyHash(certificate.publicKeySpki))
    return pkcs8 && privateKeyId ? [{ id: privateKeyId, sealed: seal.seal(pkcs8, use), createdDate: now }] : []
  })
  if (keys.length > 0) await em.insertMany(PrivateKey, keys)
  await em.insertMany(
    Certificate,
    stored.map(one => rowOf(one, now)),
  )
  await recordMany(em, stored.map(factOf), { now, author: system })
  await giveGrants(em, stored)
  await giveAliases(em, stored, now)
}

const overtaken = {
  apiError: 'ACTIVE_CERTIFICATE_EXISTS',
  errorMessage: apiErrors.ACTIVE_CERTIFICATE_EXISTS.description,
} as const

const storeAll = async (em: EntityManager, services: Services, { runId, issued, failed: refused }: Results & Run) => {
  const now = services.clock()
  const late = await overtakenIn(em, issued, now)
  const wanted = issued.filter(({ request }) => !late.has(request.id))
  const failed = [...refused, ...[...late].map(certRequestId => ({ certRequestId, failure: overtaken }))]
  const claimed = await claim(em, runId, { issued: wanted, now })
  const stored = wanted
    .filter(({ request }) => claimed.has(request.id))
    .map(one => ({ ...one, privateKeyId: one.pkcs8 ? crypto.randomUUID() : null }))
  if (stored.length > 0) await store(em, stored, { seal: services.seal, now })
  await freeFailed(em, runId, failed)
  if (isOrder(runId)) await endItems(em, runId, endsOf(stored, failed))
  const mails = await queueIssuedMails(em, runId, { issued: stored, now })
  for (const { pkcs8 } of issued) pkcs8?.fill(0)
  const done = stored.map(({ request, certificateId }) => ({ certRequestId: request.id, certificateId }))
  return { outcomes: [...done, ...failed], mails }
}

/** Stores what was issued and what failed, and answers one outcome a request. */
export const storeIssued = async (services: Services, runId: string, results: Results): Promise<ItemOutcome[]> => {
  const em = services.orm.em.fork()
  const { outcomes, mails } = await em.transactional(fork => storeAll(fork, services, { runId, ...results }))
  services.mailStarts.add(mails)
  return outcomes
}
