// (b) An order of many PKCS#10 requests, from the call to its end; and (c) who used the CPU meanwhile.
import { setTimeout as wait } from 'node:timers/promises'
import type { RestClient } from '../embedded/rest-client.ts'
import { cpuSeconds } from './machine.ts'

/** What an order came to. */
export interface OrderRun {
  readonly certificates: number
  readonly seconds: number
  readonly perSecond: number
  /** Milliseconds until the order was accepted. */
  readonly acceptedAfterMs: number
  /** CPU seconds by part. */
  readonly cpu: Record<string, number>
}

interface Status {
  readonly status: string
  readonly issued: number
}

/** Places the order and waits for its end. */
export const measureOrder = async (
  client: RestClient,
  ids: readonly string[],
  parts: readonly { name: string; pid: number }[],
): Promise<OrderRun> => {
  const before = cpuSeconds(parts)
  const begin = performance.now()
  const { orderId } = await client<{ orderId: string }>(
    'POST /api/v2/certificates/cert-requests?omitArtifacts=true',
    ids,
  )
  const acceptedAfterMs = Math.round(performance.now() - begin)
  let order = await client<Status>(`GET /api/v2/orders/${orderId}`)
  while (order.status === 'RUNNING') {
    await wait(500)
    order = await client<Status>(`GET /api/v2/orders/${orderId}`)
  }
  const seconds = (performance.now() - begin) / 1000
  const after = cpuSeconds(parts)
  const cpu = Object.fromEntries(
    [...after].map(([name, used]) => [name, Math.round((used - (before.get(name) ?? 0)) * 10) / 10]),
  )
  if (order.issued !== ids.length) throw new Error(`Only ${order.issued} of ${ids.length} were issued.`)
  return {
    certificates: order.issued,
    seconds: Math.round(seconds * 10) / 10,
    perSecond: Math.round(order.issued / seconds),
    acceptedAfterMs,
    cpu,
  }
}
