// Asynchronous orders (contract 4.2): placed here, run by the workflow, told by the records.
import { z } from 'zod'
import { BatchRefused, sortOut } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { mustBeOrderable } from '../../../domain/issue-rules.ts'
import { placeOrder } from '../../../storage/orders.ts'
import { requestsToOrder, type RequestToOrder } from '../../../storage/requests-to-order.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { orderWorkflowId } from '../../../workflows/ids.ts'
import { orderRun } from '../../../workflows/starts.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { issueStateOf, mayIssue } from './issue.ts'
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
import { batchRefusals } from './refusals.ts'

const newOrderId = (): string => orderWorkflowId(crypto.randomUUID())

const mustBeTaken = (taken: ReadonlySet<string>, id: string): void => {
  if (!taken.has(id)) throw new Failure('ALREADY_ORDERED')
}

export const orderCertificate = operation('POST /api/v2/certificates/cert-requests/:id', {
  summary: 'Order the certificate of a request',
  on: CertRequest,
  needs: 'ISSUE',
  returns: [201, OrderCertificateResponseDto],
  fails: [409, 422],
  refuses: ['INVALID_STATE', 'ENTITY_ARCHIVED', 'ALREADY_ISSUED', 'ALREADY_ORDERED'],
  handle: async ({ target, em, caller, temporal, clock }) => {
    mustBeOrderable(issueStateOf(target))
    const order = { id: newOrderId(), createdBy: caller.id, multiple: false, omitArtifacts: false, now: clock() }
    mustBeTaken(await placeOrder(em, { ...order, requests: [target] }), target.id)
    await temporal.start(orderRun({ id: order.id, count: 1, requests: [target] }))
    return {
      orderId: order.id,
      certRequestId: target.id,
      certRequestStatus: target.certRequestStatus,
      certificateId: target.certificateId ?? null,
    }
  },
})

/** Those of the list that can be ordered; the batch is refused when there are none (contract 1.7). */
const orderableAmong = (ids: readonly string[], get: (id: string) => RequestToOrder, check?: (id: string) => void) => {
  const judged = sortOut(ids, id => {
    mustBeOrderable(issueStateOf(get(id)))
    check?.(id)
    return get(id)
  })
  if (judged.accepted.length === 0) throw new BatchRefused(judged.errors)
  return judged
}

export const orderMultipleCertificates = operation('POST /api/v2/certificates/cert-requests', {
  summary: 'Order the certificates of several requests',
  needs: 'TOKEN',
  alsoNeeds: [{ right: 'ISSUE', on: 'each request of the list', entity: CertRequest }],
  query: { omitArtifacts: optionally(Flag, false) },
  body: CertRequestIds(10_000),
  example: { query: { omitArtifacts: 'true' }, body: [exampleIds.CertRequest] },
  cost: 'BATCH',
  returns: [201, OrderMultipleCertificatesResponseDto],
  fails: [409, 422],
  refuses: batchRefusals(),
  handle: async ({ body: ids, query: { omitArtifacts }, em, caller, temporal, clock }) => {
    const get = await mayIssue(caller, await requestsToOrder(em, ids))
    const order = { id: newOrderId(), createdBy: caller.id, multiple: true, omitArtifacts, now: clock() }
    const taken = await placeOrder(em, { ...order, requests: orderableAmong(ids, get).accepted })
    const { accepted, errors } = orderableAmong(ids, get, id => mustBeTaken(taken, id))
    await temporal.start(orderRun({ id: order.id, count: accepted.length, requests: accepted }))
    return { orderId: order.id, accepted: accepted.map(request => request.id), errors }
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
  refuses: ['ORDER_NOT_FOUND'],
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
  refuses: ['ORDER_NOT_FOUND'],
  handle: async ({ params, em, caller, page }) => itemsOf(em, await findOrder(em, caller, params.orderId), page),
})
