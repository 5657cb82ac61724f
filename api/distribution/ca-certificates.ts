// The certificates of the CAs (contract 10.2): certificates name them as their issuer, so anybody may fetch them.
import type { Middleware } from 'koa'
import { Failure } from '../../domain/failure.ts'
import { Ca } from '../../storage/rows/ca.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import { admits } from '../kernel/middleware/methods.ts'
import type { State } from '../kernel/middleware/state.ts'

const path = /^\/pki\/ca\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.cer\/?$/i

/** The octets behind an id never change; a day later a CA may have been archived. */
const kept = 'public, max-age=86400'

/** `GET /pki/ca/{caId}.cer` (*extension*): the DER certificate of a provider's CA that is not archived. */
export const caCertificates =
  ({ orm }: Pick<Dependencies, 'orm'>): Middleware<State> =>
  async (ctx, next) => {
    const [, id] = path.exec(ctx.path) ?? []
    if (id === undefined) return next()
    if (!admits(ctx, ['GET'])) return undefined
    const ours = { id, archived: false, certificateProviderId: { $ne: null } }
    const ca = await orm.em.fork().findOne(Ca, ours, { fields: ['der', 'fingerprint'] })
    if (!ca) throw new Failure('CA_NOT_FOUND')
    ctx.set({ ETag: `"${ca.fingerprint}"`, 'Cache-Control': kept })
    ctx.type = 'application/pkix-cert'
    ctx.body = ca.der
    if (ctx.fresh) ctx.status = 304
    return undefined
  }
