// How long each operation takes and how it ends, for Prometheus at `/metrics`.
import type { Middleware } from 'koa'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { State } from '../kernel/middleware/state.ts'

/** A registry of its own an application, the middleware that feeds it and the endpoint that shows it. */
export const metrics = (): { middleware: Middleware<State>; endpoint: Middleware<State> } => {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const seconds = new Histogram({
    name: 'certwright_request_seconds',
    help: 'Duration of requests by operation and status',
    labelNames: ['operation', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [register],
  })
  return {
    middleware: async (ctx, next) => {
      const stop = seconds.startTimer()
      await next()
      stop({ operation: ctx.state.operationId ?? 'none', status: ctx.status })
    },
    endpoint: async (ctx, next) => {
      if (ctx.path !== '/metrics' || ctx.method !== 'GET') return next()
      ctx.type = register.contentType
      ctx.body = await register.metrics()
    },
  }
}
