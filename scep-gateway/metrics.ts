// How long the operations of SCEP take and how they end, for Prometheus.
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** The registry of a gateway and its one histogram. */
export const makeMetrics = () => {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const seconds = new Histogram({
    name: 'certwright_scep_seconds',
    help: 'Duration of SCEP requests by operation, outcome and HTTP status',
    labelNames: ['operation', 'outcome', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [register],
  })
  return { register, seconds }
}
export type Metrics = ReturnType<typeof makeMetrics>
