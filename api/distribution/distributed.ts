// What anybody may fetch of a CA without a token (contract 10.2): GET and HEAD, with a tag to ask again by.
import type { Context, Middleware } from 'koa'
import { Failure } from '../../domain/failure.ts'
import { admits } from '../kernel/middleware/methods.ts'
import type { State } from '../kernel/middleware/state.ts'

const path = /^\/pki\/([a-z]+)\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})((?:-[0-9a-z]{1,8}){0,2})\.([a-z]+)\/?$/i

/** Something that is fetched: its tag, how long it may be kept, and how to get its octets. */
export interface Distributed {
  readonly fingerprint: string
  readonly cacheControl: string
  readonly type: string
  readonly octets: () => Promise<Buffer>
}

const answer = async (ctx: Context, { fingerprint, cacheControl, type, octets }: Distributed): Promise<void> => {
  ctx.set({ ETag: `"${fingerprint}"`, 'Cache-Control': cacheControl })
  ctx.status = 200
  if (ctx.fresh) ctx.status = 304
  else {
    ctx.body = await octets()
    ctx.type = type
  }
}

/** Answers `/pki/<folder>/{caId}<ending>.<extension>` with what is found for the CA and the ending, else CA_NOT_FOUND. */
export const distributed = (
  { folder, extension }: { readonly folder: string; readonly extension: string },
  find: (caId: string, ending: string) => Promise<Distributed | null>,
): Middleware<State> => {
  return async (ctx, next) => {
    const [, under, id, ending = '', suffix] = path.exec(ctx.path) ?? []
    if (id === undefined || under !== folder || suffix !== extension) return next()
    if (!admits(ctx, ['GET'])) return undefined
    const found = await find(id, ending)
    if (!found) throw new Failure('CA_NOT_FOUND')
    await answer(ctx, found)
    return undefined
  }
}
