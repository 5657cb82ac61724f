// What SCEP devices see. The operations of RFC 8894 are not built yet; until then every path says so.
import Koa from 'koa'

/** The gateway's answers. */
export const createGateway = (): Koa => {
  const app = new Koa()
  app.use(ctx => {
    ctx.status = 503
    ctx.set('Retry-After', '86400')
    ctx.type = 'text/plain'
    ctx.body = 'The SCEP gateway does not answer SCEP operations yet.\n'
  })
  return app
}
