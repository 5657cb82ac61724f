// The CAs above a certificate, as the records link them.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { Ca } from './ca.ts'

/** Longer chains do not exist in practice; the bound ends a ring that a bad import could make. */
const longest = 10

/** The CAs from this one (the issuer of a leaf) up to the root, issuing CA first; CHAIN_INCOMPLETE where one is missing. */
export const loadIssuers = async (em: EntityManager, issuerCaId: string | null | undefined): Promise<Ca[]> => {
  const chain: Ca[] = []
  let next = issuerCaId ?? null
  while (chain.length < longest) {
    const ca = next === null ? null : await em.findOne(Ca, next)
    if (!ca) throw new Failure('CHAIN_INCOMPLETE')
    chain.push(ca)
    if (ca.root) return chain
    next = ca.issuerCaId ?? null
  }
  throw new Failure('CHAIN_INCOMPLETE')
}
