// From HTTP to an operation and back, in the order of contract 1.6: token, media type, shape, then `perform`.
import type { Middleware, Context } from 'koa'
import { z } from 'zod'
import { Failure } from '../../../domain/failure.ts'
import { networkOf } from '../../../domain/network.ts'
import { isUuid } from '../../../domain/uuid.ts'
import { findOrCreatePrincipal } from '../../../storage/principal.ts'
import type { IdentifiedPrincipal } from '../caller.ts'
import type { Dependencies } from '../dependencies.ts'
import { readMembers, readParameters } from '../errors.ts'
import type { Operation } from '../operation.ts'
import { readPage, sortableBy } from '../paging.ts'
import { perform, type Running } from '../perform.ts'
import { parametersIn } from '../query.ts'
import { rateLimits } from '../rate-limit.ts'
import { defaultMacBounds, defaultPasswordBounds, workPool } from '../work-pool.ts'
import { readBody } from './body.ts'
import type { State } from './state.ts'

/** Finds the principal of the token in a request, else 401; with its grants on some resources where they are named. */
export const identify = async (
  ctx: Context,
  { authenticate, orm }: Dependencies,
  resourceIds?: readonly string[],
): Promise<IdentifiedPrincipal> => {
  const facts = await authenticate(ctx.get('Authorization') || undefined)
  const { enabled, ...principal } = await findOrCreatePrincipal(orm.em.fork(), facts, resourceIds)
  if (!enabled) throw new Failure('PRINCIPAL_DISABLED')
  return principal
}

/**
 * The resources that a call is known to be about, whose grants are read with the principal. Where time passes until it is
 * decided (a body that is slow to come, a line to wait in), they are read when it is.
 */
const namedIn = (ctx: Context, { body, cost }: Operation): string[] | undefined =>
  body || cost === 'KEYS'
    ? undefined
    : Object.values(ctx['params'] as Record<string, string>).filter(value => isUuid(value))

const shapeReader = (operation: Operation) => {
  const params = z.object(operation.params)
  const query = z.object(operation.query)
  const sortable = operation.paging ? sortableBy(operation.answer) : undefined
  return async (ctx: Context) => {
    const body = await readBody(ctx, operation)
    const given = parametersIn(ctx.querystring)
    return {
      params: readParameters(params, ctx['params']),
      query: readParameters(query, given),
      body: operation.body && (await readMembers(operation.body, body)),
      page: sortable && readPage(given, sortable),
    }
  }
}

/** Who shares what is limited: the counters and the line of one process. */
export const limitsOf = ({ limits = {} }: Dependencies) => ({
  consume: rateLimits(limits.rates),
  keyWork: workPool(limits.keyWork),
  passwordWork: workPool(limits.passwordWork ?? defaultPasswordBounds),
  macWork: workPool(limits.macWork ?? defaultMacBounds),
})

/** What handlers run with. */
export interface Handling extends Running {
  readonly limiting: ReturnType<typeof limitsOf>
}

/** The handler of one operation. */
export const handlerOf = (operationId: string, operation: Operation, deps: Handling): Middleware<State> => {
  const shape = shapeReader(operation)
  const { cost } = operation
  const { consume, keyWork, passwordWork, macWork } = deps.limiting
  return async ctx => {
    ctx.state.operationId = operationId
    ctx.state.operation = operation
    const principal = operation.needs === 'NOTHING' ? undefined : await identify(ctx, deps, namedIn(ctx, operation))
    if (principal) ctx.state.principal = principal
    const caller = principal?.id ?? networkOf(ctx.ip)
    if (cost) await consume(cost, caller)
    const headers: Record<string, string> = {}
    const input = {
      ...(await shape(ctx)),
      principal,
      headers,
      hashInLine: <T>(work: () => Promise<T>) => passwordWork(caller, work),
      macInLine: <T>(work: () => Promise<T>) => macWork(caller, work),
      isHeard: () => !ctx.res.destroyed,
    }
    const run = () => perform(operation, input, deps)
    const value = await (cost === 'KEYS' ? keyWork(caller, run) : run())
    ctx.set(headers)
    ctx.status = operation.status
    if (operation.answer === null) return
    ctx.type = 'application/json'
    ctx.body = JSON.stringify(value)
  }
}
