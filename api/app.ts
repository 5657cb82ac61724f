// The REST interface as a Koa application and its HTTP server: every operation of the resources, and what surrounds them.
import Koa, { type Middleware } from 'koa'
import helmet from 'koa-helmet'
import { Failure } from '../domain/failure.ts'
import { caCertificates } from './distribution/ca-certificates.ts'
import { crls } from './distribution/crls.ts'
import { ocsp } from './distribution/ocsp.ts'
import { codecEndpoint } from './endpoints/codec.ts'
import type { Dependencies } from './kernel/dependencies.ts'
import { documentation } from './endpoints/documentation.ts'
import { health } from './endpoints/health.ts'
import { closing } from './kernel/middleware/closing.ts'
import { errors } from './kernel/middleware/errors.ts'
import { limitsOf } from './kernel/middleware/handler.ts'
import { lingering } from './kernel/middleware/lingering.ts'
import { makeMetrics } from './endpoints/metrics.ts'
import { verificationPage } from './endpoints/verification-page.ts'
import { noStore } from './kernel/middleware/no-store.ts'
import { requestLog } from './kernel/middleware/request-log.ts'
import { routerOf } from './kernel/middleware/routes.ts'
import type { State } from './kernel/middleware/state.ts'
import type { Operations } from './kernel/operation.ts'
import { verifierOf } from './resources/cert-requests/proof.ts'
import * as resources from './resources/index.ts'

/** Every operation of the interface. */
export const operations: Operations = resources

const unmatched: Middleware = async (ctx, next) => {
  await next()
  if (ctx.status === 404 && !ctx.body) throw new Failure('NOT_FOUND', 'There is no such path.')
}

/** Makes the application; tests mount operations of their own. */
export const createApp = (deps: Dependencies, all: Operations = operations): Koa<State> => {
  const limiting = limitsOf(deps)
  const trusted = deps.limits?.trustedProxies ?? 0
  const app = new Koa<State>({ proxy: trusted > 0, maxIpsCount: trusted })
  app.use(closing(deps.isStopping ?? (() => false)))
  app.use(requestLog(deps.log))
  app.use((deps.metrics ?? makeMetrics()).middleware)
  app.use(lingering())
  app.use(noStore)
  app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }))
  app.use(errors)
  app.use(unmatched)
  app.use(health(deps))
  app.use(documentation(all, deps))
  app.use(caCertificates(deps))
  app.use(crls(deps))
  app.use(ocsp(deps))
  app.use(verificationPage({ ...deps, limiting }, verifierOf(deps)))
  app.use(codecEndpoint(deps))
  app.use(routerOf(all, { ...deps, limiting }).routes() as Middleware)
  app.on('error', (error: unknown) => deps.log.error({ err: error }, 'request broke off'))
  return app
}
