// The REST interface as a Koa application and its HTTP server: every operation of the resources, and what surrounds them.
import { createServer, type Server } from 'node:http'
import { Router } from '@koa/router'
import Koa, { type Middleware } from 'koa'
import helmet from 'koa-helmet'
import { Failure } from '../domain/failure.ts'
import { codecEndpoint } from './endpoints/codec.ts'
import type { Dependencies } from './kernel/dependencies.ts'
import { documentation } from './endpoints/documentation.ts'
import { health } from './endpoints/health.ts'
import { errors } from './kernel/middleware/errors.ts'
import { handlerOf } from './kernel/middleware/handler.ts'
import { makeMetrics } from './endpoints/metrics.ts'
import { noStore } from './kernel/middleware/no-store.ts'
import { requestLog } from './kernel/middleware/request-log.ts'
import type { State } from './kernel/middleware/state.ts'
import type { Operation, Operations } from './kernel/operation.ts'
import * as resources from './resources/index.ts'

/** Every operation of the interface. */
export const operations: Operations = resources

/** Fixed segments before parameters, so that `/certificates/search` is never read as an id. */
const specificity = ({ path }: Operation): string => path.replace(/:\w+/g, '~')

const inOrder = (all: Operations): [string, Operation][] =>
  Object.entries(all).sort(([, a], [, b]) => (specificity(a) < specificity(b) ? -1 : 1))

const unmatched: Middleware = async (ctx, next) => {
  await next()
  if (ctx.status !== 404 || ctx.body) return
  const matched = (ctx['matched'] ?? []) as { methods: string[] }[]
  const methods = [...new Set(matched.flatMap(layer => layer.methods))]
  if (methods.length === 0) throw new Failure('NOT_FOUND', 'There is no such path.')
  ctx.set('Allow', methods.join(', '))
  throw new Failure('METHOD_NOT_ALLOWED')
}

const routerOf = (all: Operations, deps: Dependencies): Router => {
  const router = new Router()
  const running = { ...deps, operations: all }
  for (const [operationId, operation] of inOrder(all))
    router.register(operation.path, [operation.method], handlerOf(operationId, operation, running) as never)
  return router
}

/** Makes the application; tests mount operations of their own. */
export const createApp = (deps: Dependencies, all: Operations = operations): Koa<State> => {
  const app = new Koa<State>()
  app.use(requestLog(deps.log))
  app.use((deps.metrics ?? makeMetrics()).middleware)
  app.use(noStore)
  app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }))
  app.use(errors)
  app.use(unmatched)
  app.use(health(deps))
  app.use(documentation(all, deps))
  app.use(codecEndpoint(deps))
  app.use(routerOf(all, deps).routes() as Middleware)
  app.on('error', (error: unknown) => deps.log.error({ err: error }, 'request broke off'))
  return app
}

/** A query of 1,000 ids (contract 12, downloadCertificatesAsZip) has 41,000 octets; Node's own limit is 16,384. */
const maxHeaderSize = 65_536

/** Makes the HTTP server of an application; it does not listen yet. */
export const serverOf = (app: ReturnType<typeof createApp>): Server => {
  const respond = app.callback()
  return createServer({ maxHeaderSize }, (request, response) => void respond(request, response))
}
