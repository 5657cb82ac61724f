// (a) From the start of a synchronous create to its answer, at several numbers of clients.
import type { RestClient } from '../embedded/rest-client.ts'

/** One row of the table; milliseconds. */
export interface Latency {
  readonly clients: number
  readonly calls: number
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

const percentile = (sorted: readonly number[], share: number): number =>
  Math.round((sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0) * 10) / 10

/** The row of calls that took so many milliseconds each, and so many seconds together. */
export const latencyOf = (
  times: readonly number[],
  { clients, seconds }: { readonly clients: number; readonly seconds: number },
): Latency => {
  const sorted = times.toSorted((one, other) => one - other)
  return {
    clients,
    calls: times.length,
    perSecond: Math.round((times.length / seconds) * 10) / 10,
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
  }
}

/** Makes so many calls, so many of them at a time. */
export const measureCalls = async (
  { calls, clients }: { readonly calls: number; readonly clients: number },
  call: (index: number) => Promise<unknown>,
): Promise<Latency> => {
  const times: number[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < calls) {
      const index = next++
      const begin = performance.now()
      await call(index)
      times.push(performance.now() - begin)
    }
  }
  const begin = performance.now()
  await Promise.all(Array.from({ length: clients }, lane))
  const seconds = (performance.now() - begin) / 1000
  return latencyOf(times, { clients, seconds })
}

/** Issues each request once, so many at a time. */
export const measureLatency = (client: RestClient, ids: readonly string[], clients: number): Promise<Latency> =>
  measureCalls({ calls: ids.length, clients }, index => client(`POST /certificates/cert-requests/${ids[index]}`))
