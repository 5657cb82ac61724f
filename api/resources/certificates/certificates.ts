// Issuing synchronously and reading certificates (contract 4.2, 4.3, 6.5).
import type { EntityManager } from '@mikro-orm/postgresql'
import { BatchRefused, sortOut } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { issueStep, type IssueStep } from '../../../domain/issue-rules.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { claimRequests, deliver } from '../../../storage/claims.ts'
import { isOrder, issueWorkflowId } from '../../../workflows/ids.ts'
import type { ItemOutcome } from '../../../workflows/issue-certificates.ts'
import { certificateAnswer } from './answers.ts'
import { chainOf, pemOf, zipOf } from './artifacts.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { awaitRuns, certificateIdOf, issueStateOf, loadRequests, startIssue, type Way } from './issue.ts'
import { operation } from '../../kernel/operation.ts'
import { optionally, Flag } from '../../kernel/query.ts'
import {
  CertRequestIds,
  CreateCertificateResponseDto,
  CreateMultipleCertificateFromCertRequestsResponseDto,
  GetCertificateResponseDto,
} from './dtos.ts'

interface Ready {
  readonly request: CertRequest
  readonly step: IssueStep
}

interface Clocked {
  readonly clock: () => Date
}

/** Claims what nobody issues, starts its run, and answers the run of each request that is not delivered at once. */
const runsOf = async ({ em, temporal, clock }: Way & Clocked, ready: readonly Ready[], newRunId: string) => {
  const fresh = ready.filter(({ step }) => step === 'ISSUE').map(({ request }) => request)
  const ids = fresh.map(({ id }) => id)
  const claimed = await claimRequests(em, newRunId, { ids, states: ['APPROVED'], now: clock() })
  const mine = fresh.filter(({ id }) => claimed.has(id))
  if (mine.length > 0) await startIssue(temporal, newRunId, mine)
  const overtaken = fresh.filter(({ id }) => !claimed.has(id))
  for (const request of overtaken) await em.refresh(request)
  const joined = ready.filter(({ step }) => step === 'JOIN').map(({ request }) => request)
  const others = [...overtaken, ...joined].filter(({ runId }) => runId && !isOrder(runId))
  return new Map([
    ...Map.groupBy(others, request => request.runId ?? ''),
    ...(mine.length > 0 ? [[newRunId, mine] as const] : []),
  ])
}

const deliverOne = async (em: EntityManager, certificateId: string, now: Date) => {
  const row = await em.findOneOrFail(Certificate, certificateId)
  const certificateChainPem = await chainOf(em, row)
  const certificate = certificateAnswer(row, now)
  return { certificate, certificatePem: pemOf(row), certificateChainPem, certRequestStatus: 'ISSUED' as const }
}

export const createCertificate = operation('POST /certificates/cert-requests/:id', {
  summary: 'Issue the certificate of a request and wait for it',
  on: CertRequest,
  needs: 'ISSUE',
  returns: [201, CreateCertificateResponseDto],
  fails: [409, 422],
  handle: async ({ target, em, temporal, settings, clock }) => {
    const step = issueStep(issueStateOf(target))
    if (step === 'DELIVER') {
      if (!(await deliver(em, [target.id])).has(target.id)) throw new Failure('ALREADY_ISSUED')
      return deliverOne(em, target.certificateId ?? '', clock())
    }
    const runs = await runsOf({ em, temporal, clock }, [{ request: target, step }], issueWorkflowId(target.id))
    const outcomes = await awaitRuns({ em, temporal }, runs, await settings.integer('issue.wait-seconds'))
    const certificateId = certificateIdOf(target, outcomes.get(target.id))
    await deliver(em, [target.id])
    return deliverOne(em, certificateId, clock())
  },
})

/** What a call may hand out: certificates that nobody has delivered and those of its runs, which count as delivered now. */
const collect = async (em: EntityManager, ready: readonly Ready[], outcomes: ReadonlyMap<string, ItemOutcome>) => {
  const byId = new Map(ready.map(({ request, step }) => [request.id, { request, step }]))
  const present = ready.filter(({ step }) => step === 'DELIVER').map(({ request }) => request.id)
  const mine = await deliver(em, present)
  const { accepted: got, errors } = sortOut([...byId.keys()], id => {
    const { request, step } = byId.get(id) as Ready
    if (step !== 'DELIVER') return { id, certificateId: certificateIdOf(request, outcomes.get(id)) }
    if (!mine.has(id)) throw new Failure('ALREADY_ISSUED')
    return { id, certificateId: request.certificateId ?? '' }
  })
  await deliver(
    em,
    got.map(({ id }) => id),
  )
  return { got, errors }
}

export const createMultipleCertificates = operation('POST /certificates/cert-requests', {
  summary: 'Issue the certificates of several requests and wait for them',
  needs: 'TOKEN',
  alsoNeeds: [{ right: 'ISSUE', on: 'each request of the list', entity: CertRequest }],
  query: { omitArtifacts: optionally(Flag, false) },
  body: CertRequestIds(1000),
  example: { body: [exampleIds.CertRequest] },
  returns: [201, CreateMultipleCertificateFromCertRequestsResponseDto],
  fails: [409, 422],
  handle: async ({ body: ids, query: { omitArtifacts }, em, caller, temporal, settings, clock }) => {
    const get = await loadRequests(em, caller, ids)
    const { accepted, errors } = sortOut(ids, id => ({ request: get(id), step: issueStep(issueStateOf(get(id))) }))
    if (accepted.length === 0) throw new BatchRefused(errors)
    const runs = await runsOf({ em, temporal, clock }, accepted, issueWorkflowId(crypto.randomUUID()))
    const outcomes = await awaitRuns({ em, temporal }, runs, await settings.integer('issue.batch-wait-seconds'))
    const { got, errors: late } = await collect(em, accepted, outcomes)
    const rows = await em.find(Certificate, { id: { $in: got.map(({ certificateId }) => certificateId) } })
    const byId = new Map(rows.map(row => [row.id, row]))
    const certificates = got.map(({ certificateId }) => byId.get(certificateId)).filter(row => row !== undefined)
    const failed = [...errors, ...late.map(error => ({ ...error, index: ids.indexOf(error.id) }))]
    const now = clock()
    return {
      certificates: certificates.map(certificate => certificateAnswer(certificate, now)),
      errors: failed.toSorted((one, other) => one.index - other.index),
      zippedFile: omitArtifacts ? null : await zipOf(em, certificates),
    }
  },
})

export const getCertificateDetails = operation('GET /certificates/:id', {
  summary: 'Read a certificate',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  returns: [200, GetCertificateResponseDto],
  handle: ({ target, clock }) => certificateAnswer(target, clock()),
})
