// Which methods a path has (contract 1.6): HEAD comes with GET, OPTIONS with every path, and any other is 405 with Allow.
import type { Context } from 'koa'
import { Failure } from '../../../domain/failure.ts'

const allowed = (methods: readonly string[]): string =>
  [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')

/** The method that serves a request: HEAD is answered as GET is, without the body. */
export const servingMethod = ({ method }: Context): string => (method === 'HEAD' ? 'GET' : method)

/** Whether a path with these methods serves the request; OPTIONS is answered here, what the path does not have is 405. */
export const admits = (ctx: Context, methods: readonly string[]): boolean => {
  if (methods.includes(servingMethod(ctx))) return true
  ctx.set('Allow', allowed(methods))
  if (ctx.method !== 'OPTIONS') throw new Failure('METHOD_NOT_ALLOWED')
  ctx.status = 204
  return false
}
