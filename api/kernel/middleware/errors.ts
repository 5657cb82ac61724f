// Every failure of a request becomes an ApiExceptionResponse here; the unexpected is logged whole and told by reference.
import type { Middleware, ParameterizedContext } from 'koa'
import { BatchRefused } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { bodyOf, failureOf, statusOf } from '../errors.ts'
import { RateLimited } from '../rate-limit.ts'
import type { State } from './state.ts'

const unexpected = (reference: string): Failure =>
  new Failure('INTERNAL_ERROR', `Something unexpected happened. Reference: ${reference}.`)

const retryAfterSeconds = 5

const tellUnavailable = (ctx: ParameterizedContext<State>, { cause }: Failure): void => {
  ctx.set('Retry-After', String(retryAfterSeconds))
  ctx.state.log.warn({ err: cause }, 'a part that the answer needs is unavailable')
}

/** Answers failures with the status of the operation's row (contract 1.7). */
export const errors: Middleware<State> = async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    const { operation, requestId, log } = ctx.state
    const failure = failureOf(error) ?? unexpected(requestId)
    if (failure.code === 'INTERNAL_ERROR') log.error({ err: error }, 'unexpected failure')
    else ctx.state.refusal = failure.code
    ctx.status = failure instanceof BatchRefused ? failure.status : statusOf(failure.code, operation?.failures)
    ctx.body = bodyOf(failure)
    if (failure instanceof RateLimited) ctx.set('Retry-After', String(failure.retryAfterSeconds))
    if (failure.code === 'SERVICE_UNAVAILABLE') tellUnavailable(ctx, failure)
    if (ctx.status === 401) ctx.set('WWW-Authenticate', 'Bearer')
  }
}
