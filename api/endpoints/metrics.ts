// How long each operation takes and how it ends, for Prometheus: at `/metrics` of a listener of its own, which callers of
// the API do not reach.
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { Middleware } from 'koa'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { State } from '../kernel/middleware/state.ts'

/** What is measured: the middleware that feeds it and the text that shows it. */
export interface Metrics {
  readonly middleware: Middleware<State>
  readonly register: Registry
}

/** Makes a registry of its own for an application. */
export const makeMetrics = (): Metrics => {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const seconds = new Histogram({
    name: 'certwright_request_seconds',
    help: 'Duration of requests by operation and status',
    labelNames: ['operation', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [register],
  })
  const middleware: Middleware<State> = async (ctx, next) => {
    const stop = seconds.startTimer()
    await next()
    stop({ operation: ctx.state.operationId ?? 'none', status: ctx.status })
  }
  return { middleware, register }
}

const show = async (register: Registry, response: ServerResponse): Promise<void> => {
  const text = await register.metrics()
  response.writeHead(200, { 'Content-Type': register.contentType }).end(text)
}

/** The listener of the metrics; it does not listen yet. */
export const metricsServer = ({ register }: Metrics): Server =>
  createServer((request, response) => {
    if (request.method === 'GET' && request.url === '/metrics')
      return void show(register, response).catch((error: unknown) => response.destroy(error as Error))
    response.writeHead(404).end()
  })
