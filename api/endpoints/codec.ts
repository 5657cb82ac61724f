// Lets operators with ADMIN read sealed payloads in the Temporal UI and CLI (`--codec-endpoint <API>/temporal/codec`). It
// seals nothing: who could have a message sealed here could decide in the name of others.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Payload, PayloadCodec } from '@temporalio/common'
import type { Context, Middleware } from 'koa'
import { z } from 'zod'
import { Failure } from '../../domain/failure.ts'
import { Caller } from '../kernel/caller.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import { readJson } from '../kernel/middleware/body.ts'
import { identify } from '../kernel/middleware/handler.ts'
import { admits } from '../kernel/middleware/methods.ts'
import type { State } from '../kernel/middleware/state.ts'

const path = '/temporal/codec/decode'

/** Base64 as proto3 JSON reads it: both alphabets, padded or not. */
const Base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/)

/** Payloads as proto3 JSON writes them: bytes are Base64, and what is empty may be absent or null. */
const JsonPayload = z.object({
  metadata: z.record(z.string(), Base64).nullish(),
  data: Base64.nullish(),
})
type JsonPayload = z.output<typeof JsonPayload>

const JsonPayloads = z.object({ payloads: z.array(JsonPayload).max(10_000) })

const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64')
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const mapValues = <A, B>(record: Readonly<Record<string, A>>, to: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(value)]))

const payloadOf = ({ metadata, data }: JsonPayload): Payload => ({
  metadata: mapValues(metadata ?? {}, fromBase64),
  data: fromBase64(data ?? ''),
})
const jsonOf = ({ metadata, data }: Payload): JsonPayload => ({
  metadata: mapValues(metadata ?? {}, toBase64),
  data: toBase64(data ?? new Uint8Array()),
})

const allowOrigin = (ctx: Context, origin: string | undefined): void => {
  if (origin === undefined || ctx.get('Origin') !== origin) return
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Namespace')
  ctx.set('Access-Control-Allow-Methods', 'POST')
  ctx.set('Access-Control-Allow-Credentials', 'true')
  ctx.vary('Origin')
}

const payloadsIn = async (ctx: Context): Promise<Payload[]> => {
  const parsed = JsonPayloads.safeParse(await readJson(ctx))
  if (!parsed.success) throw new Failure('INVALID_REQUEST', 'The body has to be a list of payloads of Temporal.')
  return parsed.data.payloads.map(payloadOf)
}

/** All that the codec throws about is a key that is not configured. */
const opened = async (codec: PayloadCodec, payloads: Payload[]): Promise<Payload[]> => {
  try {
    return await codec.decode(payloads)
  } catch (error) {
    throw new Failure('INVALID_REQUEST', error instanceof Error ? error.message : 'The payload cannot be opened.')
  }
}

const mustBeAdmin = async (ctx: Parameters<typeof identify>[0], deps: Dependencies): Promise<void> => {
  const caller = await Caller.load(deps.orm.em.fork(), await identify(ctx, deps))
  await caller.must('ADMIN')
}

const keyedPath = /^\/temporal\/codec\/([\w-]+)\/decode$/
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Takes the key out of the path, so that no log has it, and says whether it is the right one. */
const takeKey = (ctx: Context, wanted: string | undefined): boolean => {
  const [, given] = keyedPath.exec(ctx.path) ?? []
  if (given === undefined) return false
  ctx.path = path
  return wanted !== undefined && timingSafeEqual(digest(given), digest(wanted))
}

/**
 * `POST /temporal/codec/decode` (*extension*): ADMIN only, from the Temporal UI's origin. A UI that cannot
 * send a token (the development server's) decodes below `/temporal/codec/<key>` where such a key is configured.
 */
export const codecEndpoint = (deps: Dependencies): Middleware<State> => {
  const { codec, temporalUiUrl, codecKey } = deps
  const origin = temporalUiUrl === undefined ? undefined : new URL(temporalUiUrl).origin
  return async (ctx, next) => {
    const holdsKey = takeKey(ctx, codecKey)
    if (codec === undefined || ctx.path !== path) return next()
    allowOrigin(ctx, origin)
    if (!admits(ctx, ['POST'])) return undefined
    if (!holdsKey) await mustBeAdmin(ctx, deps)
    ctx.body = { payloads: (await opened(codec, await payloadsIn(ctx))).map(jsonOf) }
    return undefined
  }
}
