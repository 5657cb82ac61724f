// Asynchronous orders (contract 4.2): placed here, run by the workflow, told by the records.
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { BatchRefused, sortOut } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { mustBeOrderable } from '../../../domain/issue-rules.ts'
import { recordMany } from '../../../storage/audit.ts'
import { CertificateOrder, OrderItem } from '../../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { claimRequests } from '../../../storage/claims.ts'
import { orderWorkflowId } from '../../../workflows/ids.ts'
import { orderRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { issueStateOf, loadRequests } from './issue.ts'
import { operation } from '../../kernel/operation.ts'
import { optionally, Flag } from '../../kernel/query.ts'
import {
  CertRequestIds,
  OrderCertificateResponseDto,
  OrderItemDtoPage,
  OrderMultipleCertificatesResponseDto,
  OrderStatusDto,
} from './dtos.ts'
import { findOrder, itemsOf, statusOf } from './order-status.ts'

interface Placing {
  readonly multiple: boolean
  readonly omitArtifacts: boolean
  readonly requests: readonly CertRequest[]
  readonly now: Date
}

const orderable = ['APPROVED', 'PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION'] as const

/** Makes the rows of an order in one transaction; requests that another run took meanwhile are left out. */
const place = (em: EntityManager, caller: Caller, { requests, now, ...order }: Placing) =>
  em.transactional(async tx => {
    const id = orderWorkflowId(crypto.randomUUID())
    const ids = requests.map(request => request.id)
    const taken = await claimRequests(tx, id, { ids, states: orderable, now })
    const mine = requests.filter(request => taken.has(request.id))
    if (mine.length === 0) return { id, taken }
    tx.create(CertificateOrder, { id, createdBy: caller.id, status: 'RUNNING', ...order })
    await tx.flush()
    await tx.insertMany(
      OrderItem,
      mine.map((request, position) => ({
        orderId: id,
        certRequestId: request.id,
        position,
        status: 'RUNNING' as const,
      })),
    )
    await recordMany(
      tx,
      mine.map(({ id: objectId, realmId, label }) => ({
        type: 'CERTIFICATE_ORDERED' as const,
        objectId,
        realmId,
        what: `Certificate of ${label} ordered`,
      })),
      { now },
    )
    return { id, taken }
  })

export const orderCertificate = operation('POST /api/v2/certificates/cert-requests/:id', {
  summary: 'Order the certificate of a request',
  on: CertRequest,
  needs: 'ISSUE',
  returns: [201, OrderCertificateResponseDto],
  fails: [409, 422],
  handle: async ({ target, em, caller, temporal, clock }) => {
    mustBeOrderable(issueStateOf(target))
    const order = { multiple: false, omitArtifacts: false, requests: [target], now: clock() }
    const { id, taken } = await place(em, caller, order)
    if (!taken.has(target.id)) throw new Failure('ALREADY_ORDERED')
    await temporal.start(orderRun({ id, count: 1, first: target }))
    return {
      orderId: id,
      certRequestId: target.id,
      certRequestStatus: target.certRequestStatus,
      certificateId: target.certificateId ?? null,
    }
  },
})

export const orderMultipleCertificates = operation('POST /api/v2/certificates/cert-requests', {
  summary: 'Order the certificates of several requests',
  needs: 'TOKEN',
  alsoNeeds: [{ right: 'ISSUE', on: 'each request of the list', entity: CertRequest }],
  query: { omitArtifacts: optionally(Flag, false) },
  body: CertRequestIds(10_000),
  example: { query: { omitArtifacts: 'true' }, body: [exampleIds.CertRequest] },
  returns: [201, OrderMultipleCertificatesResponseDto],
  fails: [409, 422],
  handle: async ({ body: ids, query: { omitArtifacts }, em, caller, temporal, clock }) => {
    // In a fork that nobody flushes: these rows are read, and there may be 10,000.
    const get = await loadRequests(em.fork(), caller, ids)
    const judged = sortOut(ids, id => {
      mustBeOrderable(issueStateOf(get(id)))
      return get(id)
    })
    if (judged.accepted.length === 0) throw new BatchRefused(judged.errors)
    const order = { multiple: true, omitArtifacts, requests: judged.accepted, now: clock() }
    const { id, taken } = await place(em, caller, order)
    const { accepted, errors } = sortOut(ids, requestId => {
      mustBeOrderable(issueStateOf(get(requestId)))
      if (!taken.has(requestId)) throw new Failure('ALREADY_ORDERED')
      return get(requestId)
    })
    if (accepted.length === 0) throw new BatchRefused(errors)
    await temporal.start(orderRun({ id, count: accepted.length, first: accepted[0] }))
    return { orderId: id, accepted: accepted.map(request => request.id), errors }
  },
})

const orderId = { orderId: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/) }
const orderNeeds = [{ right: 'READ_ORDER', on: 'the order' }] as const
const placed = { params: { orderId: exampleIds.CertificateOrder } }

export const getOrder = operation('GET /api/v2/orders/:orderId', {
  summary: 'Tell how an order stands',
  needs: 'TOKEN',
  alsoNeeds: orderNeeds,
  params: orderId,
  example: placed,
  returns: [200, OrderStatusDto],
  handle: async ({ params, em, caller }) => statusOf(em, await findOrder(em, caller, params.orderId)),
})

export const getOrderItems = operation('GET /api/v2/orders/:orderId/items', {
  summary: 'List the items of an order',
  needs: 'TOKEN',
  alsoNeeds: orderNeeds,
  params: orderId,
  example: placed,
  paging: true,
  returns: [200, OrderItemDtoPage],
  handle: async ({ params, em, caller, page }) => itemsOf(em, await findOrder(em, caller, params.orderId), page),
})
