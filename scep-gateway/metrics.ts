// How long the operations of SCEP take and how they end, and the connections, for Prometheus.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ScepService } from './service.ts'

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const connectionMetrics = (register: Registry) => ({
  connections: new Gauge({
    name: 'certwright_scep_connections',
    help: 'Connections that devices have open',
    registers: [register],
  }),
  refusedConnections: new Counter({
    name: 'certwright_scep_refused_connections_total',
    help: 'Connections closed as they came, by the bound that was reached: all, or each address',
    labelNames: ['bound'],
    registers: [register],
  }),
})

/** The registry of a gateway and what it counts. */
export const makeMetrics = () => {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const seconds = new Histogram({
    name: 'certwright_scep_seconds',
    help: 'Duration of SCEP requests by operation, outcome and HTTP status',
    labelNames: ['operation', 'outcome', 'status'],
    buckets,
    registers: [register],
  })
  const callSeconds = new Histogram({
    name: 'certwright_scep_call_seconds',
    help: 'Duration of what the SCEP gateway asks of the service, by what it asks',
    labelNames: ['call'],
    buckets,
    registers: [register],
  })
  return { register, seconds, callSeconds, ...connectionMetrics(register) }
}
export type Metrics = ReturnType<typeof makeMetrics>

/** The service, each of whose calls is timed. */
export const timed = (service: ScepService, { callSeconds }: Metrics): ScepService => {
  type Call = (...given: unknown[]) => Promise<unknown>
  const calls = Object.entries(service as unknown as Record<string, Call>).map(([call, ask]) => {
    const watched: Call = (...given) => ask(...given).finally(callSeconds.startTimer({ call }))
    return [call, watched] as const
  })
  return Object.fromEntries(calls) as unknown as ScepService
}
