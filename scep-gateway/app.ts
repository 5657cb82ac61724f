// What SCEP devices see over HTTP (contract 12.3): paths, parameters, bodies, statuses.
import Koa, { type Context, type Middleware } from 'koa'
import { Failure } from '../domain/failure.ts'
import { isPolicyId, messageBytes, pathForLog, queryParameter, targetOf } from './address.ts'
import { BrokenOff, readBody } from './body.ts'
import type { Gateway } from './gateway.ts'
import { kept } from './kept.ts'
import { type Limits, TooMany } from './limits.ts'
import type { Metrics } from './metrics.ts'
import { getCaCaps, getCaCert, getNextCaCert, type Answer } from './operations/ca.ts'
import { answerMessage } from './operations/pki-operation.ts'
import { NoSuchPolicy, type PolicyView } from './policies.ts'
import { ServiceDown, ServiceRefusal } from './service-client.ts'

/** What the application is made of. */
export interface Parts {
  readonly gateway: Gateway
  readonly limits: Limits
  readonly metrics: Metrics
  readonly maxBodyBytes: number
  /** How many proxies before the gateway name the address of their client in X-Forwarded-For. */
  readonly trustedProxies: number
  /** Whether the process is ending. */
  readonly isStopping?: () => boolean
}

/** A request that no operation of SCEP answers, and how HTTP says so. */
class HttpRefusal extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(text)
    this.status = status
  }
}

const policyOf = async ({ policies }: Gateway, named: string | null): Promise<PolicyView> => {
  if (named !== null && !isPolicyId(named))
    throw new Failure('INVALID_IDENTIFIER', 'The policy in the path is no UUID.')
  const view = named === null ? await policies.usual() : await policies.named(named)
  if (view) return view
  throw new Failure('INVALID_IDENTIFIER', 'The path names no policy, and the API client has no default policy.')
}

const parameter = (ctx: Context, name: string): string | undefined => {
  try {
    return queryParameter(ctx.querystring, name)
  } catch {
    throw new HttpRefusal(400, `The parameter ${name} is not URL-encoded.`)
  }
}

const messageIn = async (ctx: Context, most: number): Promise<Buffer> => {
  if (ctx.method === 'POST') {
    const body = await readBody(ctx.req, most)
    if (body === null) throw new HttpRefusal(413, `The body is longer than ${most} bytes.`)
    if (body.length === 0) throw new HttpRefusal(400, 'The body is empty.')
    return body
  }
  const message = messageBytes(parameter(ctx, 'message') ?? '')
  if (!message) throw new HttpRefusal(400, 'The parameter message is no Base64.')
  return message
}

type Perform = (ctx: Context, policy: PolicyView) => Promise<Answer> | Answer

const operations = ({ gateway, limits, maxBodyBytes }: Parts): Readonly<Record<string, Perform>> => ({
  GetCACaps: (_, policy) => getCaCaps(gateway, policy),
  GetCACert: (ctx, policy) => getCaCert(gateway, policy, parameter(ctx, 'message') ?? ''),
  GetNextCACert: (_, policy) => {
    const answer = getNextCaCert(gateway, policy)
    if (!answer) throw new HttpRefusal(400, 'No next CA is prepared.')
    return answer
  },
  PKIOperation: async (ctx, policy) => {
    const message = await messageIn(ctx, maxBodyBytes)
    const tell = (facts: object): void => void Object.assign(ctx.state, facts)
    const body = await limits.inPlace(ctx.ip, () => answerMessage(gateway, policy, { message, tell }))
    if (!body) throw new HttpRefusal(400, 'The message is no CMS SignedData.')
    return { type: 'application/x-pki-message', body }
  },
})

const serve = (parts: Parts): Middleware => {
  const known = operations(parts)
  return async (ctx, next) => {
    const target = targetOf(ctx.path)
    if (!target) return next()
    if (ctx.method !== 'GET' && ctx.method !== 'POST') {
      ctx.set('Allow', 'GET, POST')
      throw new HttpRefusal(405, 'SCEP takes GET and POST.')
    }
    await parts.limits.consume(ctx.ip)
    const named = parameter(ctx, 'operation') ?? (ctx.method === 'POST' ? 'PKIOperation' : '')
    const perform = Object.hasOwn(known, named) ? known[named] : undefined
    if (!perform)
      throw new HttpRefusal(400, 'The operation is none of GetCACaps, GetCACert, GetNextCACert and PKIOperation.')
    ctx.state['operation'] = named
    const policy = await policyOf(parts.gateway, target.policy)
    ctx.state['policyId'] = policy.id
    const { type, body } = await perform(ctx, policy)
    ctx.type = type
    ctx.body = body
    // Koa adds a charset to texts, which no client expects.
    ctx.set('Content-Type', type)
    return undefined
  }
}

const asText = (ctx: Context, status: number, text: string): void => {
  ctx.status = status
  ctx.type = 'text/plain'
  ctx.body = `${text}\n`
}

const later = (ctx: Context, { status, seconds }: { status: number; seconds: number }, text: string): void => {
  asText(ctx, status, text)
  ctx.set('Retry-After', String(seconds))
}

/** How long a device should stay away when the service cannot be asked. */
const awaySeconds = 30

const refuse = (ctx: Context, error: unknown): void => {
  if (error instanceof HttpRefusal) return asText(ctx, error.status, error.message)
  if (error instanceof BrokenOff) return asText(ctx, 400, 'The body broke off.')
  if (error instanceof NoSuchPolicy) return asText(ctx, 404, 'There is no such policy.')
  if (error instanceof TooMany)
    return later(ctx, { status: error.status, seconds: error.retryAfterSeconds }, 'Too many requests: ask again later.')
  if (error instanceof Failure) {
    ctx.status = 400
    ctx.body = { apiError: error.code, errorMessage: error.message }
    return undefined
  }
  return later(ctx, { status: 503, seconds: awaySeconds }, 'The service cannot be reached now: ask again later.')
}

const isExpected = (error: unknown): boolean =>
  [HttpRefusal, BrokenOff, NoSuchPolicy, TooMany, Failure].some(kind => error instanceof kind)

/** One line for each request, a flood of one address apart; errors that nobody expects with their stack. */
const watched =
  ({ gateway: { log }, metrics }: Parts): Middleware =>
  async (ctx, next) => {
    const stop = metrics.seconds.startTimer()
    const began = performance.now()
    const path = pathForLog(ctx.path)
    let level: 'info' | 'debug' = 'info'
    try {
      await next()
    } catch (error) {
      refuse(ctx, error)
      const isTrouble = error instanceof ServiceDown || error instanceof ServiceRefusal
      if (isTrouble) log.warn({ path, reason: (error as Error).message, ...ctx.state }, 'no answer')
      else if (error instanceof NoSuchPolicy || error instanceof BrokenOff) ctx.state['reason'] = error.message
      else if (error instanceof TooMany && error.isRepeated) level = 'debug'
      else if (!isExpected(error)) log.error({ err: error, path, ...ctx.state }, 'unexpected')
    }
    const { operation = 'none', outcome = 'none' } = ctx.state as { operation?: string; outcome?: string }
    stop({ operation, outcome, status: ctx.status })
    const ms = Math.round(performance.now() - began)
    log[level]({ method: ctx.method, path, ip: ctx.ip, ...ctx.state, status: ctx.status, ms }, 'request')
  }

/** Nobody asks the service more often through /health/ready. */
const readyMs = 1000

/** Whether the process lives, and whether the service can be asked. */
const health = ({ gateway: { service } }: Parts): Middleware => {
  const isThere = kept(() => service.isThere(), readyMs)
  return async (ctx, next) => {
    if (!['/health', '/health/live', '/health/ready'].includes(ctx.path)) return next()
    const isReady = ctx.path !== '/health/ready' || (await isThere(''))
    ctx.status = isReady ? 200 : 503
    ctx.body = { status: isReady ? 'UP' : 'DOWN' }
    return undefined
  }
}

/** An answer that nobody is there for any more; who left in the middle of the request is in its own line. */
const answerBrokeOff =
  ({ gateway: { log } }: Parts) =>
  ({ message: reason }: Error, { req, path }: Context): void => {
    if (req.complete) log.warn({ path: pathForLog(path), reason }, 'the answer broke off')
  }

/** While the process ends, each answer is the last one of its connection: the next request goes to another process. */
const closing =
  ({ isStopping = () => false }: Parts): Middleware =>
  async (ctx, next) => {
    await next()
    if (isStopping()) ctx.set('Connection', 'close')
  }

/** The gateway's answers. */
export const createGateway = (parts: Parts): Koa => {
  const { trustedProxies } = parts
  const app = new Koa({ proxy: trustedProxies > 0, maxIpsCount: trustedProxies })
  app.use(closing(parts))
  app.use(watched(parts))
  app.use(health(parts))
  app.use(serve(parts))
  app.use(ctx => asText(ctx, 404, 'There is no such path.'))
  app.on('error', answerBrokeOff(parts))
  return app
}
