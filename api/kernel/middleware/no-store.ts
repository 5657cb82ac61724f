// Nobody between us and the caller keeps an answer: it may carry a key, a password or what only this caller may read. What
// is the same for everybody says so itself.
import type { Middleware } from 'koa'

/** Forbids caches to keep the answer, unless the answer says something else. */
export const noStore: Middleware = (ctx, next) => {
  ctx.set('Cache-Control', 'no-store')
  return next()
}
