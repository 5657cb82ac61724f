// Reading a request body: JSON only, UTF-8 only, and never more than allowed (contract 1.2).
import type { Context } from 'koa'
import { Failure } from '../../../domain/failure.ts'
import type { Operation } from '../operation.ts'

const mebibyte = 1024 * 1024
const limitOf = ({ largeBody }: Operation): number => (largeBody ? 32 : 10) * mebibyte

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0

const checkMediaType = (ctx: Context): void => {
  const plain = ['', 'identity'].includes(ctx.get('Content-Encoding').toLowerCase())
  if (!plain || !ctx.is('application/json')) throw new Failure('UNSUPPORTED_MEDIA_TYPE')
}

const tooLarge = (ctx: Context): never => {
  ctx.set('Connection', 'close')
  throw new Failure('REQUEST_TOO_LARGE', 'The body is longer than allowed.')
}

const bytesOf = async (ctx: Context, limit: number): Promise<Buffer> => {
  if (Number(ctx.get('Content-Length')) > limit) tooLarge(ctx)
  const chunks: Buffer[] = []
  let length = 0
  // The socket must survive a refusal, or the caller would never read the answer.
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length
    if (length > limit) tooLarge(ctx)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Failure('INVALID_JSON')
  }
}

/** Reads a JSON body of at most so many bytes. */
export const readJson = async (ctx: Context, limit = 10 * mebibyte): Promise<unknown> => {
  if (!hasBody(ctx)) throw new Failure('INVALID_JSON', 'A JSON body is required.')
  checkMediaType(ctx)
  return parse(await bytesOf(ctx, limit))
}

/** Reads the body that an operation wants; one without a body ignores it, but refuses another kind where it lists 415. */
export const readBody = async (ctx: Context, operation: Operation): Promise<unknown> => {
  if (operation.body) return readJson(ctx, limitOf(operation))
  if (hasBody(ctx) && operation.failures.has(415)) checkMediaType(ctx)
  return undefined
}
