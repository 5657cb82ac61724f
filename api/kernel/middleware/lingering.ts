// An answer that is ready while the caller still sends: it is written at once, then what comes is read on for a bounded time
// and amount, and only then the connection is closed. Closed earlier, the caller would be reset before reading the answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, Middleware } from 'koa'
import type { State } from './state.ts'

/** How long and how much is read on. */
export interface Lingering {
  readonly milliseconds: number
  readonly octets: number
}

const usual: Lingering = { milliseconds: 10_000, octets: 64 * 1024 * 1024 }

/** So much of a body Node reads away by itself, and the connection stays open. */
const smallLength = 65_536

const isLeftUnread = ({ complete, headers }: IncomingMessage): boolean => {
  if (complete) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > smallLength
}

const payloadOf = ({ body, method }: Context): Buffer | undefined => {
  if (body == null || method === 'HEAD') return Buffer.alloc(0)
  if (typeof body === 'string' || Buffer.isBuffer(body)) return Buffer.from(body)
  return body.constructor === Object ? Buffer.from(JSON.stringify(body)) : undefined
}

const readOn = (request: IncomingMessage, { milliseconds, octets }: Lingering): Promise<void> =>
  new Promise(resolve => {
    const timer = setTimeout(resolve, milliseconds)
    let left = octets
    const end = (): void => {
      clearTimeout(timer)
      resolve()
    }
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) end()
    })
    request.once('close', end).once('end', end).once('error', end)
    request.resume()
  })

const endAfter = async (response: ServerResponse, request: IncomingMessage, lingering: Lingering): Promise<void> => {
  await readOn(request, lingering)
  response.end()
}

/** Answers callers who still send, as said above; all others are answered as usual. */
export const lingering =
  (bounds: Lingering = usual): Middleware<State> =>
  async (ctx, next) => {
    await next()
    const payload = isLeftUnread(ctx.req) ? payloadOf(ctx) : undefined
    if (payload === undefined) return
    ctx.respond = false
    ctx.set('Connection', 'close')
    if (ctx.status !== 204) ctx.length = payload.length
    ctx.flushHeaders()
    if (payload.length > 0) ctx.res.write(payload)
    // Whoever waits for this request has its answer: reading on is nobody's to wait for.
    void endAfter(ctx.res, ctx.req, bounds)
  }
