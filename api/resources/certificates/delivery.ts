// Handing out certificates that were issued: each once by a synchronous call (contract 4.2).
import type { EntityManager } from '@mikro-orm/postgresql'
import { sortOut } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { deliver, handOut } from '../../../storage/claims.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import type { ItemOutcome } from '../../../workflows/issue-certificates.ts'
import { certificateAnswer } from './answers.ts'
import { chainOf, pemOf, zipOf } from './artifacts.ts'
import { certificateIdOf, type Planned } from './issue.ts'

type Outcomes = ReadonlyMap<string, ItemOutcome>

/** What was issued for a caller who is gone stays undelivered: the same call hands it out. */
const mustBeHeard = (isHeard: () => boolean): void => {
  if (!isHeard()) throw new Failure('ISSUE_PENDING', 'Nobody waits for the certificate any more.')
}

/** The certificate of a request: `unclaimed` are those that were issued before and that nobody else has delivered. */
const certificateOf = ({ request, step }: Planned, outcomes: Outcomes, unclaimed: ReadonlySet<string>): string => {
  if (step !== 'DELIVER') return certificateIdOf(request, outcomes.get(request.id))
  if (!unclaimed.has(request.id)) throw new Failure('ALREADY_ISSUED')
  return request.certificateId ?? ''
}

/** Hands out what was there, then what was issued now, which counts as delivered from here on. */
const collect = async (em: EntityManager, planned: readonly Planned[], outcomes: Outcomes) => {
  const byId = new Map(planned.map(one => [one.request.id, one]))
  const present = planned.filter(({ step }) => step === 'DELIVER').map(({ request }) => request.id)
  const unclaimed = await deliver(em, present)
  const { accepted, errors } = sortOut([...byId.keys()], id => ({
    id,
    certificateId: certificateOf(byId.get(id) as Planned, outcomes, unclaimed),
  }))
  await deliver(
    em,
    accepted.map(({ id }) => id),
  )
  return { ids: accepted.map(({ certificateId }) => certificateId), errors }
}

/** CreateCertificateResponseDto of one request, or the failure that its issue ended with. */
export const deliverOne = async (
  em: EntityManager,
  planned: Planned,
  { outcomes, now, isHeard = () => true }: { outcomes: Outcomes; now: Date; isHeard?: () => boolean },
) => {
  mustBeHeard(isHeard)
  const { request, step } = planned
  const isThere = step === 'DELIVER'
  const certificateId = isThere ? (request.certificateId ?? '') : certificateIdOf(request, outcomes.get(request.id))
  const { isFirst, certificate: row } = await handOut(em, { certRequestId: request.id, certificateId })
  if (isThere && !isFirst) throw new Failure('ALREADY_ISSUED')
  const certificateChainPem = await chainOf(em, row)
  const certificate = certificateAnswer(row, now)
  return { certificate, certificatePem: pemOf(row), certificateChainPem, certRequestStatus: 'ISSUED' as const }
}

interface Delivery {
  readonly outcomes: Outcomes
  readonly omitArtifacts: boolean
  readonly now: Date
  readonly isHeard?: () => boolean
}

/** The certificates of several requests, zipped where asked for, and one error for each that has none. */
export const deliverAll = async (
  em: EntityManager,
  planned: readonly Planned[],
  { outcomes, omitArtifacts, now, isHeard = () => true }: Delivery,
) => {
  mustBeHeard(isHeard)
  const { ids, errors } = await collect(em, planned, outcomes)
  const rows = await em.find(Certificate, { id: { $in: ids } })
  const byId = new Map(rows.map(row => [row.id, row]))
  const issued = ids.map(id => byId.get(id)).filter(row => row !== undefined)
  const zippedFile = omitArtifacts ? null : await zipOf(em, issued)
  return { certificates: issued.map(row => certificateAnswer(row, now)), errors, zippedFile }
}
