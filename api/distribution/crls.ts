// The revocation lists of our CAs (contract 10.2): certificates name them, so anybody may fetch them.
import type { Middleware } from 'koa'
import { listNamed } from '../../authority/links.ts'
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

/** Reads something once for all who ask for it meanwhile: a list can have many megabytes, and anybody may ask. */
const together = () => {
  const underWay = new Map<string, Promise<Buffer>>()
  return (key: string, read: () => Promise<Buffer>): Promise<Buffer> => {
    const reading = underWay.get(key) ?? read().finally(() => underWay.delete(key))
    underWay.set(key, reading)
    return reading
  }
}

/**
 * `GET /pki/crl/{caId}.crl`, `{caId}-{n}.crl`, `{caId}-delta.crl` and `{caId}-{n}-delta.crl` (*extension*): the latest list of
 * a CA of ours, archived or not, of all its certificates or of a partition, complete or delta.
 */
export const crls = ({ orm, clock }: Pick<Dependencies, 'orm' | 'clock'>): Middleware<State> => {
  const readTogether = together()
  return distributed({ folder: 'crl', extension: 'crl' }, async (caId, ending) => {
    const em = orm.em.fork()
    const name = listNamed(ending)
    const crl = name && (await latestCrlFacts(em, caId, name))
    if (!crl) return null
    const { fingerprint, nextUpdate, number } = crl
    const octets = async (): Promise<Buffer> => {
      const der = await crlOctets(em, caId, { ...name, number })
      // Later lists came between: whoever asks again gets the latest.
      if (!der) throw new Failure('SERVICE_UNAVAILABLE')
      return der
    }
    const cacheControl = keptUntil(nextUpdate, clock())
    return { fingerprint, cacheControl, type: 'application/pkix-crl', octets: () => readTogether(fingerprint, octets) }
  })
}
