// Revoking while the caller waits (docs/revocation.md): judged, claimed for a run of its own, started, and waited for.
import type { EntityManager } from '@mikro-orm/postgresql'
import { judgeRevocation } from '../../../authority/revocation.ts'
import { sortOut, type ItemError } from '../../../domain/batch.ts'
import type { RevocationReason } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import { certStatusAt } from '../../../domain/lifecycle.ts'
import {
  findRevocable,
  findRevocationEnds,
  placeOf,
  placeRevocation,
  providersOf,
  type RevocableCertificate,
} from '../../../storage/revocations.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { Revocation } from '../../../storage/rows/revocation.ts'
import { revokeWorkflowId } from '../../../workflows/ids.ts'
import { confirmed } from '../../../workflows/messages.ts'
import { revokeRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { denied } from '../../kernel/denied.ts'
import type { Temporal } from '../../kernel/temporal.ts'

/** What revoking goes through. */
export interface Revoking {
  readonly em: EntityManager
  readonly temporal: Temporal
  readonly caller: Caller
  readonly clock: () => Date
  readonly reason: RevocationReason
  /** How long the call waits. */
  readonly seconds: number
  /** The user whose RA certificate is named, where the call names that user. */
  readonly raUserId?: string
}

type Rows = readonly RevocableCertificate[]

const requestsOf = (rows: Rows) => rows.map(({ certRequestId, ...row }) => ({ ...row, id: certRequestId }))

const idsOf = (rows: Rows): string[] => rows.map(({ id }) => id)

/** Starts the run, or joins it, and waits until each of its certificates is confirmed or refused, or the time is over. */
const runAndWait = async ({ temporal, seconds }: Revoking, id: string, rows: Rows): Promise<void> => {
  const start = revokeRun({ id, count: rows.length, requests: requestsOf(rows) })
  // By itself first: an update that no worker takes in time would leave its start behind. Where neither gets through, the
  // reconciler starts what the records ask for, and the call is told that it goes on.
  await temporal.startSoon(start)
  await temporal.updateWithStart(confirmed, { args: [], start, seconds })
}

/** Answers how to get the row of a certificate as what it is allowed: CERTIFICATE_NOT_FOUND, ACCESS_DENIED, or 4.3. */
const judging = async ({ em, caller, clock, reason, raUserId }: Revoking, ids: readonly string[]) => {
  const rows = await findRevocable(em, ids)
  const right = raUserId === undefined ? 'REVOKE' : 'REVOKE_RA_CERTIFICATE'
  const verdicts = await caller.which(
    right,
    rows.map(placeOf).map(place => (raUserId === undefined ? place : { ...place, PRINCIPAL: raUserId })),
  )
  const found = new Map(rows.map((row, index) => [row.id, { row, allowed: verdicts[index] === true }]))
  const providers = await providersOf(em, ids)
  return (id: string): RevocableCertificate => {
    const { row, allowed } = found.get(id) ?? {}
    if (!row) throw new Failure('CERTIFICATE_NOT_FOUND')
    if (!allowed) throw denied(right)
    judgeRevocation(row, { provider: providers.get(id), reason, now: clock() })
    return row
  }
}

/** Claims certificates for a new run and waits for it; answers the id of the run and what it has. */
const place = async (revoking: Revoking, rows: Rows): Promise<{ id: string; taken: ReadonlySet<string> }> => {
  const { em, caller, clock, reason } = revoking
  const id = revokeWorkflowId(crypto.randomUUID())
  const taken = await placeRevocation(em, { id, reason, by: caller, certificateIds: idsOf(rows), now: clock() })
  const mine = rows.filter(row => taken.has(row.id))
  if (mine.length > 0) await runAndWait(revoking, id, mine)
  return { id, taken }
}

/** The certificates as they are now, by their ids. */
const answersOf = async ({ em, clock }: Revoking, ids: readonly string[]) => {
  const rows = await em.fork().find(Certificate, { id: { $in: [...ids] } })
  const now = clock()
  return new Map(
    rows.map(({ id, revocationReason = null, revocationDate = null, metadata, validNotAfter }) => {
      const certStatus = certStatusAt({ validNotAfter, revocationDate }, now)
      return [id, { id, certStatus, revocationReason, revocationDate, metadata }] as const
    }),
  )
}

const pending = new Failure('REVOCATION_PENDING')

/** Throws what became of a certificate in a run unless it is confirmed. */
const mustBeDone = (ends: Awaited<ReturnType<typeof findRevocationEnds>>, id: string): void => {
  const end = ends.get(id)
  if (!end || end.status === 'RUNNING') throw pending
  if (end.failureCode) throw new Failure(end.failureCode, end.failureMessage ?? undefined)
}

/** The run that has a certificate already, which the call joins when it was asked for the same. */
const join = async (revoking: Revoking, row: RevocableCertificate): Promise<string> => {
  const [{ revocationRunId } = row] = await findRevocable(revoking.em, [row.id])
  const run = revocationRunId ? await revoking.em.findOne(Revocation, revocationRunId) : null
  if (run?.reason !== revoking.reason) throw pending
  await runAndWait(revoking, run.id, [row])
  return run.id
}

/** Revokes one certificate: RevokeCertificateResponseDto, or the refusal. */
export const revokeOne = async (revoking: Revoking, certificateId: string) => {
  const row = (await judging(revoking, [certificateId]))(certificateId)
  const { id, taken } = await place(revoking, [row])
  const runId = taken.has(certificateId) ? id : await join(revoking, row)
  mustBeDone(await findRevocationEnds(revoking.em, runId), certificateId)
  const answer = (await answersOf(revoking, [certificateId])).get(certificateId)
  if (!answer) throw new Failure('CERTIFICATE_NOT_FOUND')
  return answer
}

/** Revokes several certificates: what became of each, and one error for each that was not revoked. */
export const revokeAll = async (revoking: Revoking, ids: readonly string[]) => {
  const { accepted, errors } = sortOut(ids, await judging(revoking, ids))
  const { id: runId } = accepted.length > 0 ? await place(revoking, accepted) : { id: '' }
  const ends = await findRevocationEnds(revoking.em, runId)
  const waitedFor = new Set(idsOf(accepted))
  const places = new Map(ids.map((id, index) => [id, index]))
  const late = sortOut([...waitedFor], id => {
    mustBeDone(ends, id)
    return id
  })
  const answers = await answersOf(revoking, late.accepted)
  const all: ItemError[] = [...errors, ...late.errors.map(error => ({ ...error, index: places.get(error.id) ?? 0 }))]
  return {
    revokedCertificates: late.accepted.flatMap(id => answers.get(id) ?? []),
    errors: all.toSorted((one, other) => one.index - other.index),
  }
}
