// The OCSP responders of our CAs (RFC 6960, contract 10.2): certificates name them, so anybody may ask them.
import { createHash } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import { answerOcsp, type OcspReply } from '../../authority/ocsp.ts'
import { SignedAnswers, type SignedAnswer } from '../../authority/signed-answers.ts'
import { Failure } from '../../domain/failure.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import { readBytes } from '../kernel/middleware/body.ts'
import { admits } from '../kernel/middleware/methods.ts'
import type { State } from '../kernel/middleware/state.ts'

const path = /^\/pki\/ocsp\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/(.*))?$/i

/** More than any request of 32 certificates needs. */
const longestBody = 16_384

/** As with lists: nobody is to keep an answer for longer than this after a revocation. */
const longestSeconds = 10

const nothing = Buffer.alloc(0)

/** The request of a GET: its Base64 after percent-decoding (RFC 6960 A.1); what is none is empty, and malformed. */
const requestIn = (text: string): Buffer => {
  try {
    const base64 = decodeURIComponent(text)
    return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : nothing
  } catch {
    return nothing
  }
}

// RFC 5019 5 and 6: what is the same for everybody may be kept, and whoever keeps it asks again soon.
const allowCaches = (ctx: Context, { der, thisUpdate, nextUpdate }: SignedAnswer, now: Date): void => {
  const left = Math.floor((nextUpdate.getTime() - now.getTime()) / 1000)
  const seconds = Math.max(0, Math.min(left, longestSeconds))
  ctx.set({
    'Cache-Control': `public, max-age=${seconds}, no-transform, must-revalidate`,
    'Last-Modified': thisUpdate.toUTCString(),
    Expires: new Date(now.getTime() + seconds * 1000).toUTCString(),
    ETag: `"${createHash('sha1').update(der).digest('hex')}"`,
  })
}

/** By ETag alone: dates have seconds, and the answer before a revocation may be of the very second of the one after it. */
const isKept = (ctx: Context): boolean => ctx.method !== 'POST' && ctx.get('If-None-Match') !== '' && ctx.fresh

const send = (ctx: Context, { der, lasting }: OcspReply, now: Date): void => {
  ctx.status = 200
  if (lasting && ctx.method !== 'POST') allowCaches(ctx, lasting, now)
  if (isKept(ctx)) ctx.status = 304
  else {
    ctx.body = der
    ctx.type = 'application/ocsp-response'
  }
}

/** `GET /pki/ocsp/{caId}/{request}` and `POST /pki/ocsp/{caId}` (*extension*): the status of certificates of a CA of ours. */
export const ocsp = ({ orm, seal, clock }: Pick<Dependencies, 'orm' | 'seal' | 'clock'>): Middleware<State> => {
  const services = { seal, clock, answers: new SignedAnswers() }
  return async (ctx, next) => {
    const [, caId, text] = path.exec(ctx.path) ?? []
    if (caId === undefined) return next()
    if (!admits(ctx, [text ? 'GET' : 'POST'])) return undefined
    const der = text ? requestIn(text) : await readBytes(ctx, longestBody)
    const reply = await answerOcsp(orm.em.fork(), services, { caId: caId.toLowerCase(), der })
    if (!reply) throw new Failure('CA_NOT_FOUND')
    send(ctx, reply, clock())
    return undefined
  }
}
