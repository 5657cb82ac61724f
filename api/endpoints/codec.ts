// Lets operators with ADMIN read encrypted payloads in the Temporal UI and CLI (`--codec-endpoint <API>/temporal/codec`).
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Payload, PayloadCodec } from '@temporalio/common'
import type { Context, Middleware } from 'koa'
import { z } from 'zod'
import { Failure } from '../../domain/failure.ts'
import { Caller } from '../kernel/caller.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import { read } from '../kernel/errors.ts'
import { readJson } from '../kernel/middleware/body.ts'
import { identify } from '../kernel/middleware/handler.ts'
import type { State } from '../kernel/middleware/state.ts'

const paths = ['/temporal/codec/decode', '/temporal/codec/encode']

/** Base64 as proto3 JSON reads it: both alphabets, padded or not. */
const Base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/)

/** Payloads as proto3 JSON writes them: bytes are Base64; null stands for what is not there, but not for a payload. */
const JsonPayload = z.object({
  metadata: z.record(z.string(), Base64).nullish(),
  data: Base64.nullish(),
})
type JsonPayload = z.output<typeof JsonPayload>

const Body = z.object({ payloads: z.array(JsonPayload) })

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

const payloadsIn = async (ctx: Context): Promise<Payload[]> => read(Body, await readJson(ctx)).payloads.map(payloadOf)

/** What our keys do not open was made by somebody else, or changed: that is the caller's to know. */
const decoded = async (codec: PayloadCodec, payloads: Payload[]): Promise<Payload[]> => {
  try {
    return await codec.decode(payloads)
  } catch {
    throw new Failure('DECRYPTION_FAILED')
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
  ctx.path = '/temporal/codec/decode'
  return wanted !== undefined && timingSafeEqual(digest(given), digest(wanted))
}

/**
 * `POST /temporal/codec/decode` and `/encode` (*extension*): ADMIN only, from the Temporal UI's origin. A UI that cannot
 * send a token (the development server's) decodes below `/temporal/codec/<key>` where such a key is configured.
 */
export const codecEndpoint = (deps: Dependencies): Middleware<State> => {
  const { codec, temporalUiUrl, codecKey } = deps
  const origin = temporalUiUrl === undefined ? undefined : new URL(temporalUiUrl).origin
  return async (ctx, next) => {
    const holdsKey = takeKey(ctx, codecKey)
    if (codec === undefined || !paths.includes(ctx.path) || !['POST', 'OPTIONS'].includes(ctx.method)) return next()
    allowOrigin(ctx, origin)
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204
      return undefined
    }
    if (!holdsKey) await mustBeAdmin(ctx, deps)
    const payloads = await payloadsIn(ctx)
    const converted = ctx.path.endsWith('decode') ? await decoded(codec, payloads) : await codec.encode(payloads)
    ctx.body = { payloads: converted.map(jsonOf) }
    return undefined
  }
}
