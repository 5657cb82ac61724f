// The one transaction that makes issued certificates true (contract 4.2): certificate, ISSUED state, sealed key,
// alias, grants, audit event and the end of the order's item, together or not at all.
import type { EntityManager } from '@mikro-orm/postgresql'
import { strategyKey } from '../../domain/end-entity-rules.ts'
import { apiErrors } from '../../domain/failure.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { AuditEvent, record } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { certificateColumns } from '../../storage/certificate-row.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { grant } from '../../storage/grant.ts'
import { setAliases } from '../../storage/aliases.ts'
import { endItems, type ItemEnd } from '../../storage/order-items.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { isOrder } from '../../workflows/ids.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import type { Services } from '../services.ts'
import type { Issued, ReadyRequest } from './sign.ts'
import { overtakenIn } from './uniqueness.ts'

/** What a few requests of a run came to. */
export interface Results {
  readonly issued: readonly Issued[]
  readonly failed: readonly ItemOutcome[]
}

interface Stored extends Issued {
  readonly privateKeyId: string | null
}

/** Takes the requests that still wait for this run; a run that was overtaken stores nothing. */
const claim = async (em: EntityManager, runId: string, issued: readonly Issued[]): Promise<ReadonlySet<string>> => {
  if (issued.length === 0) return new Set()
  const rows = await em.execute<{ id: string }[]>(
    `update cert_request r set cert_request_status = 'ISSUED', certificate_id = x.certificate_id, run_id = null,
            run_since = null, undelivered = ?, version = version + 1, last_modified_by = null,
            last_modified_by_type = 'SYSTEM', last_modified_date = now()
       from jsonb_to_recordset(?::jsonb) as x(id uuid, certificate_id uuid)
      where r.id = x.id and r.run_id = ? and r.cert_request_status = 'APPROVED' and not r.archived
      returning r.id`,
    [
      !isOrder(runId),
      JSON.stringify(issued.map(({ request, certificateId }) => ({ id: request.id, certificate_id: certificateId }))),
      runId,
    ],
  )
  return new Set(rows.map(({ id }) => id))
}

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

const eventOf = ({ request, certificate, certificateId }: Issued, now: Date) => ({
  eventType: 'CERTIFICATE_ISSUED' as const,
  objectId: certificateId,
  realmId: request.realmId,
  certificateId,
  eventDescription: `Certificate ${certificate.subjectDn || certificate.serialNumber} issued for request ${request.id} by the service`,
  principalId: null,
  principalType: 'SYSTEM' as const,
  occurredDate: now,
})

const giveGrants = async (em: EntityManager, stored: readonly Issued[]): Promise<void> => {
  for (const [creator, theirs] of Map.groupBy(stored, ({ request }) => request.createdBy ?? null))
    await grant(em, creator, {
      scope: 'CERTIFICATE',
      resourceIds: theirs.map(({ certificateId }) => certificateId),
      permissions: ['READ', 'REVOKE'],
    })
}

const giveAliases = (em: EntityManager, stored: readonly Issued[]): Promise<void> => {
  const wanted = stored.flatMap(({ open, certificate }) => {
    const { endEntity, policy } = open.asked
    const identity = { ...endEntity.fields, id: endEntity.id, subjectDn: certificate.subjectDn }
    const alias = endEntity.alias ? null : strategyKey(policy.endEntityStrategy, identity)
    return alias ? [{ id: endEntity.id, realmId: endEntity.realmId, alias }] : []
  })
  return setAliases(em, wanted)
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
  await em.execute('update cert_request set run_id = null, run_since = null where id = any(?::uuid[]) and run_id = ?', [
    `{${failed.map(({ certRequestId }) => certRequestId).join(',')}}`,
    runId,
  ])
  if (isOrder(runId)) await recordFailed(em, runId, failed)
}

const endsOf = (stored: readonly Issued[], failed: readonly ItemOutcome[]): ItemEnd[] => [
  ...stored.map(({ request }) => ({ certRequestId: request.id, status: 'COMPLETED' as const })),
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
  await em.insertMany(
    AuditEvent,
    stored.map(one => eventOf(one, now)),
  )
  await giveGrants(em, stored)
  await giveAliases(em, stored)
}

const overtaken = {
  apiError: 'ACTIVE_CERTIFICATE_EXISTS',
  errorMessage: apiErrors.ACTIVE_CERTIFICATE_EXISTS.description,
} as const

/** Stores what was issued and what failed, and answers one outcome a request. */
export const storeIssued = (services: Services, runId: string, results: Results): Promise<ItemOutcome[]> =>
  services.orm.em.fork().transactional(async em => {
    const { issued } = results
    const late = await overtakenIn(em, issued)
    const wanted = issued.filter(({ request }) => !late.has(request.id))
    const failed = [...results.failed, ...[...late].map(certRequestId => ({ certRequestId, failure: overtaken }))]
    const claimed = await claim(em, runId, wanted)
    const stored = wanted
      .filter(({ request }) => claimed.has(request.id))
      .map(one => ({ ...one, privateKeyId: one.pkcs8 ? crypto.randomUUID() : null }))
    if (stored.length > 0) await store(em, services, stored)
    await freeFailed(em, runId, failed)
    if (isOrder(runId)) await endItems(em, runId, endsOf(stored, failed))
    for (const { pkcs8 } of issued) pkcs8?.fill(0)
    return [...stored.map(({ request, certificateId }) => ({ certRequestId: request.id, certificateId })), ...failed]
  })
