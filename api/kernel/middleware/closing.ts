// While the process ends, each answer is the last one of its connection: the next request goes to another process, where it
// would else meet a connection that is being closed.
import type { Middleware } from 'koa'
import type { State } from './state.ts'

/** Has callers leave a process that ends. */
export const closing =
  (isStopping: () => boolean): Middleware<State> =>
  async (ctx, next) => {
    await next()
    if (isStopping() && !ctx.headerSent) ctx.set('Connection', 'close')
  }
