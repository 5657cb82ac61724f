// The revocation lists of our CAs (contract 10.2): certificates name them, so anybody may fetch them.
import type { Middleware } from 'koa'
import { Failure } from '../../domain/failure.ts'
import { crlOctets, latestCrlFacts } from '../../storage/crls.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import type { State } from '../kernel/middleware/state.ts'
import { distributed } from './distributed.ts'

/** A new list is there within a minute of a revocation: nobody is to keep the one before for longer than this. */
const longestSeconds = 10

const keptUntil = (nextUpdate: Date, now: Date): string => {
  const left = Math.floor((nextUpdate.getTime() - now.getTime()) / 1000)
  return `public, max-age=${Math.max(0, Math.min(left, longestSeconds))}, must-revalidate`
}

/** `GET /pki/crl/{caId}.crl` (*extension*): the latest list of a CA of ours, archived or not. */
export const crls = ({ orm, clock }: Pick<Dependencies, 'orm' | 'clock'>): Middleware<State> =>
  distributed({ folder: 'crl', extension: 'crl' }, async caId => {
    const em = orm.em.fork()
    const crl = await latestCrlFacts(em, caId)
    if (!crl) return null
    const { fingerprint, nextUpdate, number } = crl
    const octets = async (): Promise<Buffer> => {
      const der = await crlOctets(em, caId, number)
      // Two later lists came between: whoever asks again gets the latest.
      if (!der) throw new Failure('SERVICE_UNAVAILABLE')
      return der
    }
    return { fingerprint, cacheControl: keptUntil(nextUpdate, clock()), type: 'application/pkix-crl', octets }
  })
