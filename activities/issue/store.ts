// The one transaction that makes issued certificates true (contract 4.2): certificate, ISSUED state, sealed key,
// alias, grants, audit event and the end of the order's item, together or not at all.
import { log } from '@temporalio/activity'
import type { EntityManager } from '@mikro-orm/postgresql'
import { partitionNamed } from '../../authority/links.ts'
import { strategyKey } from '../../domain/end-entity-rules.ts'
import { creatorGrants } from '../../domain/creator-grants.ts'
import { apiErrors } from '../../domain/failure.ts'
import { system } from '../../domain/principal.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { aliasLocks, setLockedAliases, type NewAlias } from '../../storage/aliases.ts'
import { auditRows, type Fact } from '../../storage/audit.ts'
import { certificateColumns } from '../../storage/certificate-row.ts'
import { markIssued, releaseRequests } from '../../storage/claims.ts'
import { insertTogether } from '../../storage/insert-rows.ts'
import { certificateKeyUse } from '../../storage/key-uses.ts'
import { takeLocks } from '../../storage/lock.ts'
import { endItems, type ItemEnd } from '../../storage/order-items.ts'
import { takeRaCertificates, type AskedRevocation, type NewRaCertificate } from '../../storage/ra-certificates.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { isOrder, revokeWorkflowId } from '../../workflows/ids.ts'
import { revokeRun } from '../../workflows/starts.ts'
import type { Seal } from '../../storage/seal.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import type { Services } from '../services.ts'
import { queueIssuedMails } from './mails.ts'
import type { Issued, ReadyRequest } from './sign.ts'
import { overtakenIn, uniquenessLocks } from './uniqueness.ts'

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
  readonly keyHash: string
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

/** A reason of others may be long. */
const longestReason = 2000

type Freed = Awaited<ReturnType<typeof releaseRequests>>[number]

const stampOf = ({ request }: ReadyRequest, now: Date) => ({
  createdBy: request.createdBy,
  createdByType: request.createdByType,
  createdDate: now,
  lastModifiedBy: request.createdBy,
  lastModifiedByType: request.createdByType,
  lastModifiedDate: now,
})

const rowOf = (stored: Stored, now: Date) => ({
  id: stored.certificateId,
  ...stampOf(stored, now),
  realmId: stored.request.realmId,
  policyId: stored.request.policyId,
  endEntityId: stored.request.endEntity.id,
  certRequestId: stored.request.id,
  issuerCaId: stored.provider.issuerCaId,
  privateKeyId: stored.privateKeyId,
  ...certificateColumns(stored.certificate, stored.keyHash),
  crlPartition: partitionNamed(stored.certificate.crlDistributionPoints),
  keyPairMode: stored.request.keyPairMode,
})

/** With the lint that the certificate passed before it was signed, where the provider signs here. */
const factOf = ({ request, provider: { lint }, certificate, certificateId }: Issued): Fact => ({
  type: 'CERTIFICATE_ISSUED',
  objectId: certificateId,
  realmId: request.realmId,
  certificateId,
  what:
    `Certificate ${certificate.subjectDn || certificate.serialNumber} issued for request ${request.id}` +
    (lint === null ? '' : ` after ${lint}`),
})

const grantsOf = (stored: readonly Stored[]) =>
  stored.flatMap(({ request: { createdBy: principalId }, certificateId: resourceId }) =>
    principalId === null
      ? []
      : [{ principalId, scope: 'CERTIFICATE', resourceId, permissions: creatorGrants.CERTIFICATE }],
  )

const keyOf = ({ pkcs8, privateKeyId, certificateId, keyHash }: Stored, { seal, now }: { seal: Seal; now: Date }) =>
  pkcs8 && privateKeyId
    ? [{ id: privateKeyId, sealed: seal.seal(pkcs8, certificateKeyUse(certificateId, keyHash)), createdDate: now }]
    : []

/** The aliases that end entities without one are to get. */
const aliasesFor = (issued: readonly Issued[]): NewAlias[] =>
  issued.flatMap(({ open, certificate }) => {
    const { endEntity, policy } = open.asked
    const identity = { ...endEntity.fields, id: endEntity.id, subjectDn: certificate.subjectDn }
    const alias = endEntity.alias ? null : strategyKey(policy.endEntityStrategy, identity)
    return alias ? [{ id: endEntity.id, realmId: endEntity.realmId, alias }] : []
  })

/** What the audit log is to tell of a failure: of each that ends an order, of a refusal (by the lint as well) always. */
const failureFact = (
  runId: string,
  { id, realmId, label }: Freed,
  failure: ItemOutcome['failure'],
): readonly Fact[] => {
  const refused = failure?.apiError === 'ISSUE_REJECTED'
  if (!refused && !isOrder(runId)) return []
  const run = isOrder(runId) ? `Order ${runId}` : 'Issue'
  const why = refused ? `: ${failure.errorMessage.slice(0, longestReason)}` : ''
  const code = failure?.apiError ?? 'INTERNAL_ERROR'
  const what = `${run} failed with ${code} for the certificate request of ${label}${why}, ended`
  return [{ type: 'ORDER_FAILED', objectId: id, realmId, what }]
}

/** Ends the run's claim on what failed, and answers what the audit log is to tell of it. */
const freeFailed = async (em: EntityManager, runId: string, failed: readonly ItemOutcome[]): Promise<Fact[]> => {
  const failures = new Map(failed.map(({ certRequestId, failure }) => [certRequestId, failure]))
  const freed = await releaseRequests(em, runId, [...failures.keys()])
  return freed.flatMap(one => failureFact(runId, one, failures.get(one.id)))
}

const endsOf = (stored: readonly Issued[], failed: readonly ItemOutcome[]): ItemEnd[] => [
  ...stored.map(({ request }) => ({ certRequestId: request.id, status: 'COMPLETED' as const })),
  ...failed.map(({ certRequestId, failure }) => ({ certRequestId, status: 'FAILED' as const, failure })),
]

const store = (
  em: EntityManager,
  stored: readonly Stored[],
  { seal, now, failures }: { seal: Seal; now: Date; failures: readonly Fact[] },
): Promise<void> =>
  insertTogether(em, [
    [PrivateKey, stored.flatMap(one => keyOf(one, { seal, now }))],
    [Certificate, stored.map(one => rowOf(one, now))],
    [AuditEvent, auditRows([...stored.map(factOf), ...failures], { now, author: system })],
    [PermissionGrant, grantsOf(stored)],
  ])

const overtaken = {
  apiError: 'ACTIVE_CERTIFICATE_EXISTS',
  errorMessage: apiErrors.ACTIVE_CERTIFICATE_EXISTS.description,
} as const

/** Locks before anything is written, then tells which came too late. */
const sortOut = async (em: EntityManager, issued: readonly Issued[], now: Date) => {
  await takeLocks(em, { ACTIVE_CERTIFICATE: uniquenessLocks(issued), ALIAS: aliasLocks(aliasesFor(issued)) })
  const late = await overtakenIn(em, issued, now)
  return {
    wanted: issued.filter(({ request }) => !late.has(request.id)),
    late: [...late].map(certRequestId => ({ certRequestId, failure: overtaken })),
  }
}

const storedOf = (one: Issued): Stored => ({
  ...one,
  privateKeyId: one.pkcs8 ? crypto.randomUUID() : null,
  keyHash: publicKeyHash(one.certificate.publicKeySpki),
})

/** Those that are RA certificates: no other certificate is issued for the end entity of a user. */
const raCertificatesIn = (stored: readonly Stored[]): NewRaCertificate[] =>
  stored.flatMap(({ request, certificateId }) => {
    const { userId } = request.endEntity.fields
    const revocationId = revokeWorkflowId(crypto.randomUUID())
    return userId ? [{ userId, requestId: request.id, certificateId, by: request, revocationId }] : []
  })

const storeAll = async (em: EntityManager, services: Services, { runId, issued, failed: refused }: Results & Run) => {
  const now = services.clock()
  const { wanted, late } = await sortOut(em, issued, now)
  const failed = [...refused, ...late]
  const claimed = await claim(em, runId, { issued: wanted, now })
  const stored = wanted.filter(({ request }) => claimed.has(request.id)).map(storedOf)
  const failures = await freeFailed(em, runId, failed)
  await store(em, stored, { seal: services.seal, now, failures })
  await setLockedAliases(em, aliasesFor(stored), now)
  const revocations = await takeRaCertificates(em, raCertificatesIn(stored), now)
  if (isOrder(runId)) await endItems(em, runId, endsOf(stored, failed))
  const mails = await queueIssuedMails(em, runId, { issued: stored, now })
  const done = stored.map(({ request, certificateId }) => ({ certRequestId: request.id, certificateId }))
  return { outcomes: [...done, ...failed], mails, revocations }
}

/** What cannot be started now is started by the reconciler. */
const startRevocations = async ({ runs }: Services, revocations: readonly AskedRevocation[]): Promise<void> => {
  for (const asked of revocations)
    await runs
      .start(revokeRun(asked))
      .catch((error: unknown) => log.warn('a revocation waits for the reconciler', { error }))
}

/** Stores what was issued and what failed, and answers one outcome a request. */
export const storeIssued = async (services: Services, runId: string, results: Results): Promise<ItemOutcome[]> => {
  if (results.issued.length + results.failed.length === 0) return []
  const em = services.orm.em.fork()
  const { outcomes, mails, revocations } = await em.transactional(fork =>
    storeAll(fork, services, { runId, ...results }),
  )
  services.mailStarts.add(mails)
  await startRevocations(services, revocations)
  return outcomes
}
