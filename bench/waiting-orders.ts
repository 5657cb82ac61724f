// Orders that wait for approval, opened by the thousand: placed in the records by the code that the API places them with,
// their runs started by a client of Temporal with the starts of workflows/starts.ts. What is left out is HTTP.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Client, type Connection } from '@temporalio/client'
import pLimit from 'p-limit'
import { temporalNamespace } from '../embedded/servers/temporal.ts'
import { placeOrder } from '../storage/orders.ts'
import { CertRequest } from '../storage/rows/cert-request.ts'
import { parseKeys } from '../storage/seal.ts'
import { createDataConverter } from '../worker/payload-codec.ts'
import { createRuns } from '../worker/runs.ts'
import { orderWorkflowId } from '../workflows/ids.ts'
import { searchAttributes } from '../workflows/messages.ts'
import { certRequestRun, orderRun, type Start } from '../workflows/starts.ts'

/** An order is opened once the one so many before it waits: were more under way, the worker's cache would not hold them. */
const ahead = 100
const lanes = 12
const lookEveryMs = 500
/** A server that is starved of CPU refuses calls now and then; starting a run twice does nothing. */
const mostTries = 10
/** So long at most the last ones may take until they wait. */
const restMs = 600_000
const waitDays = 30

const pause = (ms: number): Promise<void> => new Promise(resolve => void setTimeout(resolve, ms))

/** Where orders are opened. */
export interface Place {
  readonly em: () => EntityManager
  readonly client: Client
  readonly taskQueue: string
  readonly principalId: string
}

/** The client of an installation, whose payloads are sealed with its keys. */
export const sealingClient = (connection: Connection, payloadKeys: string): Client =>
  new Client({ connection, namespace: temporalNamespace, dataConverter: createDataConverter(parseKeys(payloadKeys)) })

/** How many orders wait, as Temporal finds them. */
export const waitingOrders = async ({ workflow }: Client): Promise<number> =>
  (await workflow.count('CertKind = "ORDER" AND CertReqState = "WAITING" AND ExecutionStatus = "Running"')).count

const insist = async <T>(ask: () => Promise<T>): Promise<T> => {
  for (let tries = 1; tries < mostTries; tries++) {
    try {
      return await ask()
    } catch {
      await pause(tries * lookEveryMs)
    }
  }
  return ask()
}

const open = async ({ em, client, taskQueue, principalId }: Place, request: CertRequest): Promise<string> => {
  const start = (run: Start) => insist(() => createRuns(client, taskQueue).start(run))
  const id = orderWorkflowId(crypto.randomUUID())
  const order = { id, createdBy: principalId, multiple: false, omitArtifacts: false }
  await start(certRequestRun(request, waitDays))
  await placeOrder(em(), { ...order, requests: [request], now: request.createdDate })
  await start(orderRun({ id, count: 1, requests: [request] }))
  return id
}

/** Asks Temporal for the run itself: counting what waits costs it more the more there is. */
const untilWaiting = async ({ workflow }: Client, orderId: string, end: number): Promise<void> => {
  const state = async () =>
    (await workflow.getHandle(orderId).describe()).typedSearchAttributes.get(searchAttributes.state)
  while ((await insist(state)) !== 'WAITING' && performance.now() < end) await pause(lookEveryMs)
}

/** Opens an order for each of these waiting requests until the time is over; answers how many, once they wait. */
export const openOrders = async (place: Place, ids: readonly string[], end: number): Promise<number> => {
  const requests = (await place.em().find(CertRequest, { id: { $in: [...ids] } })).values()
  const opened: string[] = []
  // One of the lanes asks at a time: on a busy machine the questions would cost more than the orders.
  const asking = pLimit(1)
  const lane = async (): Promise<void> => {
    for (const request of requests) {
      const earlier = opened.at(-ahead)
      if (earlier) await asking(() => untilWaiting(place.client, earlier, end))
      if (performance.now() > end) return
      opened.push(await open(place, request))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const last = performance.now() + restMs
  for (const id of opened.slice(-ahead)) await untilWaiting(place.client, id, last)
  return opened.length
}
