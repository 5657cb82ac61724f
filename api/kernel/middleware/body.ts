// Reading a request body: JSON only, UTF-8 only, no member twice, and never more than allowed (contract 1.2).
import type { Context } from 'koa'
import { Failure } from '../../../domain/failure.ts'
import { JsonError, jsonTextSteps, type JsonFault } from '../../../domain/json-text.ts'
import { mebibyte } from '../body-limit.ts'
import type { Operation } from '../operation.ts'
import { breathe, mapYielding } from '../yielding.ts'

/** More than the largest body that means something holds: 10,000 resources with each permission that they have. */
const jsonLimits = { depth: 100, values: 150_000, members: 1000 }

/** A longer body is read in steps, so that other requests are served in between. */
const longText = mebibyte

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0

const checkMediaType = (ctx: Context): void => {
  const plain = ['', 'identity'].includes(ctx.get('Content-Encoding').toLowerCase())
  if (!plain || !ctx.is('application/json')) throw new Failure('UNSUPPORTED_MEDIA_TYPE')
}

const tooLarge = (limit: number): never => {
  throw new Failure('REQUEST_TOO_LARGE', `The body is longer than the ${limit} octets that the operation takes.`)
}

const chunksOf = async (ctx: Context, limit: number): Promise<Buffer[]> => {
  const chunks: Buffer[] = []
  let length = 0
  // The socket must survive a refusal, or the caller would never read the answer (lingering.ts).
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length
    if (length > limit) tooLarge(limit)
    chunks.push(chunk as Buffer)
  }
  return chunks
}

/** Reads a body of at most so many octets. */
export const readBytes = async (ctx: Context, limit: number): Promise<Buffer> => {
  if (Number(ctx.get('Content-Length')) > limit) tooLarge(limit)
  try {
    return Buffer.concat(await chunksOf(ctx, limit))
  } catch (error) {
    // Nobody is there to read it, and it is no fault of the service.
    if (ctx.req.destroyed && !(error instanceof Failure)) throw new Failure('INVALID_JSON', 'The body broke off.')
    throw error
  }
}

const textOf = (bytes: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Failure('INVALID_JSON', 'The body is not UTF-8.')
  }
}

const refusals: Readonly<Record<JsonFault, (place: string) => Failure>> = {
  MALFORMED: place => new Failure('INVALID_JSON', `The body is not JSON: see ${place}.`),
  MEMBER_TWICE: place => new Failure('INVALID_JSON', `A member is given twice: see ${place}.`),
  TOO_MUCH: place =>
    new Failure('REQUEST_TOO_LARGE', `The body is nested deeper or holds more than allowed: see ${place}.`),
}

const check = async (text: string): Promise<void> => {
  try {
    await mapYielding(jsonTextSteps(text, jsonLimits), () => undefined)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw refusals[error.fault](`line ${error.line}, column ${error.column}`)
  }
}

const parse = async (bytes: Buffer): Promise<unknown> => {
  const pause = async (): Promise<void> => {
    if (bytes.length > longText) await breathe()
  }
  await pause()
  const text = textOf(bytes)
  await pause()
  await check(text)
  await pause()
  const value: unknown = JSON.parse(text)
  await pause()
  return value
}

/** Reads a JSON body of at most so many octets. */
export const readJson = async (ctx: Context, limit = 10 * mebibyte): Promise<unknown> => {
  if (!hasBody(ctx)) throw new Failure('INVALID_JSON', 'A JSON body is required.')
  checkMediaType(ctx)
  return parse(await readBytes(ctx, limit))
}

/** Reads the body that an operation wants; one without a body ignores it, but refuses another kind where it lists 415. */
export const readBody = async (ctx: Context, operation: Operation): Promise<unknown> => {
  if (operation.body) return readJson(ctx, operation.bodyLimit)
  if (hasBody(ctx) && operation.failures.has(415)) checkMediaType(ctx)
  return undefined
}
