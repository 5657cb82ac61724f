// Issuing synchronously and reading certificates (contract 4.2, 4.3, 6.5).
import { BatchRefused, sortOut } from '../../../domain/batch.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { issueWorkflowId } from '../../../workflows/ids.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { operation } from '../../kernel/operation.ts'
import { optionally, Flag } from '../../kernel/query.ts'
import { ruleBreaches } from '../cert-requests/refusals.ts'
import { certificateAnswer } from './answers.ts'
import { deliverAll, deliverOne } from './delivery.ts'
import {
  CertRequestIds,
  CreateCertificateResponseDto,
  CreateMultipleCertificateFromCertRequestsResponseDto,
  GetCertificateResponseDto,
} from './dtos.ts'
import { issueAndWait, loadRequests, plan } from './issue.ts'
import { batchRefusals, ofIssue } from './refusals.ts'
import { issueTogether } from './together.ts'

export const createCertificate = operation('POST /certificates/cert-requests/:id', {
  summary: 'Issue the certificate of a request and wait for it',
  on: CertRequest,
  needs: 'ISSUE',
  returns: [201, CreateCertificateResponseDto],
  fails: [409, 422],
  refuses: [...ruleBreaches, ...ofIssue, 'ALREADY_ISSUED', 'ALREADY_ORDERED'],
  handle: async ({ target, caller, em, temporal, settings, clock, isHeard }) => {
    const planned = plan(target)
    const seconds = await settings.integer('issue.wait-seconds')
    const outcomes = await issueTogether({ em, temporal, clock }, planned, { who: caller.id, seconds })
    return deliverOne(em, planned, { outcomes, now: clock(), isHeard })
  },
})

export const createMultipleCertificates = operation('POST /certificates/cert-requests', {
  summary: 'Issue the certificates of several requests and wait for them',
  needs: 'TOKEN',
  alsoNeeds: [{ right: 'ISSUE', on: 'each request of the list', entity: CertRequest }],
  query: { omitArtifacts: optionally(Flag, false) },
  body: CertRequestIds(1000),
  example: { body: [exampleIds.CertRequest] },
  cost: 'BATCH',
  returns: [201, CreateMultipleCertificateFromCertRequestsResponseDto],
  fails: [409, 422],
  refuses: batchRefusals([...ruleBreaches, 'ISSUE_PENDING', 'ISSUE_REJECTED', 'CERTIFICATE_PROVIDER_ERROR']),
  handle: async ({ body: ids, query: { omitArtifacts }, em, caller, temporal, settings, clock, isHeard }) => {
    const get = await loadRequests(em, caller, ids)
    const { accepted, errors } = sortOut(ids, id => plan(get(id)))
    if (accepted.length === 0) throw new BatchRefused(errors)
    const seconds = await settings.integer('issue.batch-wait-seconds')
    const patience = { runId: issueWorkflowId(crypto.randomUUID()), seconds }
    const outcomes = await issueAndWait({ em, temporal, clock }, accepted, patience)
    const delivered = await deliverAll(em, accepted, { outcomes, omitArtifacts, now: clock(), isHeard })
    const places = new Map(ids.map((id, index) => [id, index]))
    const late = delivered.errors.map(error => ({ ...error, index: places.get(error.id) ?? 0 }))
    const all = [...errors, ...late].toSorted((one, other) => one.index - other.index)
    // The same answer, whether items failed before or at their issue (contract 1.7); what is pending has not failed.
    const isAnyLeft = delivered.certificates.length > 0 || all.some(({ apiError }) => apiError === 'ISSUE_PENDING')
    if (!isAnyLeft) throw new BatchRefused(all)
    return { ...delivered, errors: all }
  },
})

export const getCertificateDetails = operation('GET /certificates/:id', {
  summary: 'Read a certificate',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  returns: [200, GetCertificateResponseDto],
  handle: ({ target, clock }) => certificateAnswer(target, clock()),
})
