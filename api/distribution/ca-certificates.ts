// The certificates of the CAs (contract 10.2): certificates name them as their issuer, so anybody may fetch them.
import type { Middleware } from 'koa'
import { Ca } from '../../storage/rows/ca.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import type { State } from '../kernel/middleware/state.ts'
import { distributed } from './distributed.ts'

/** The octets behind an id never change; a day later a CA may have been archived. */
const kept = 'public, max-age=86400'

/** `GET /pki/ca/{caId}.cer` (*extension*): the DER certificate of a provider's CA that is not archived. */
export const caCertificates = ({ orm }: Pick<Dependencies, 'orm'>): Middleware<State> =>
  distributed({ folder: 'ca', extension: 'cer' }, async (id, ending) => {
    if (ending !== '') return null
    const ours = { id, archived: false, certificateProviderId: { $ne: null } }
    const ca = await orm.em.fork().findOne(Ca, ours, { fields: ['der', 'fingerprint'] })
    if (!ca) return null
    const { fingerprint, der } = ca
    return { fingerprint, cacheControl: kept, type: 'application/pkix-cert', octets: async () => der }
  })
