// What the parts of the middleware pass on to each other within one request.
import type { DefaultState } from 'koa'
import type { Logger } from 'pino'
import type { ApiError } from '../../../domain/failure.ts'
import type { KnownPrincipal } from '../caller.ts'
import type { Operation } from '../operation.ts'

/** What the middleware knows of a request, which grows from one to the next. */
export interface State extends DefaultState {
  requestId: string
  log: Logger
  operationId?: string
  operation?: Operation
  principal?: KnownPrincipal
  refusal?: ApiError
}
