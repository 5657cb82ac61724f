// Lets operators with ADMIN read encrypted payloads in the Temporal UI and CLI (`--codec-endpoint <API>/temporal/codec`).
import type { Payload } from '@temporalio/common'
import type { Context, Middleware } from 'koa'
import { Failure } from '../domain/failure.ts'
import { Caller } from './caller.ts'
import type { Dependencies } from './dependencies.ts'
import { readJson } from './middleware/body.ts'
import { identify } from './middleware/handler.ts'
import type { State } from './middleware/state.ts'

const paths = ['/temporal/codec/decode', '/temporal/codec/encode']

/** Payloads as proto3 JSON writes them: bytes are Base64. */
interface JsonPayload {
  readonly metadata?: Readonly<Record<string, string>>
  readonly data?: string
}

const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64')
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const mapValues = <A, B>(record: Readonly<Record<string, A>>, to: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(value)]))

const payloadOf = ({ metadata = {}, data = '' }: JsonPayload): Payload => ({
  metadata: mapValues(metadata, fromBase64),
  data: fromBase64(data),
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
  const { payloads } = ((await readJson(ctx)) ?? {}) as { payloads?: unknown }
  if (!Array.isArray(payloads)) throw new Failure('INVALID_JSON')
  return (payloads as JsonPayload[]).map(payloadOf)
}

/** `POST /temporal/codec/decode` and `/encode` (*extension*): ADMIN only, from the Temporal UI's origin. */
export const codecEndpoint = (deps: Dependencies): Middleware<State> => {
  const { codec, temporalUiUrl, orm } = deps
  const origin = temporalUiUrl === undefined ? undefined : new URL(temporalUiUrl).origin
  return async (ctx, next) => {
    if (codec === undefined || !paths.includes(ctx.path) || !['POST', 'OPTIONS'].includes(ctx.method)) return next()
    allowOrigin(ctx, origin)
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204
      return undefined
    }
    const caller = await Caller.load(orm.em.fork(), await identify(ctx, deps))
    await caller.must('ADMIN')
    const payloads = await payloadsIn(ctx)
    const turned = ctx.path.endsWith('decode') ? await codec.decode(payloads) : await codec.encode(payloads)
    ctx.body = { payloads: turned.map(jsonOf) }
    return undefined
  }
}
