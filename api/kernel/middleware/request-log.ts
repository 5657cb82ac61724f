// One id and one line in the log for every request; never a header, a query, a body or a token.
import { randomUUID } from 'node:crypto'
import type { Middleware } from 'koa'
import type { Logger } from 'pino'
import type { State } from './state.ts'

const acceptable = /^[\w.-]{8,64}$/

/** Gives the request its id (the caller's own where that has the right form) and logs how it ended. */
export const requestLog =
  (log: Logger): Middleware<State> =>
  async (ctx, next) => {
    const given = ctx.get('X-Request-Id')
    const requestId = acceptable.test(given) ? given : randomUUID()
    ctx.state.requestId = requestId
    ctx.state.log = log.child({ requestId })
    ctx.set('X-Request-Id', requestId)
    const startedAt = performance.now()
    await next()
    const { operationId, principal, refusal } = ctx.state
    const ms = Math.round(performance.now() - startedAt)
    const line = { method: ctx.method, path: ctx.path, status: ctx.status, ms, operationId, refusal }
    ctx.state.log.info({ ...line, principalId: principal?.id }, 'request')
  }
