// The CAs above a certificate, as the records link them.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { Ca } from './rows/ca.ts'

/** Longer chains do not exist in practice; the bound ends a cycle that a bad import could make. */
const maxLength = 10

/** What the records know of the CAs above a certificate, issuing CA first. */
export interface Chain {
  readonly issuers: readonly Ca[]
  /** Whether it ends with a root. */
  readonly complete: boolean
}

type Id = string | null | undefined

const distinct = (ids: readonly Id[]): string[] => [...new Set(ids.filter(id => typeof id === 'string'))]

const above = ({ root, issuerCaId }: Ca): Id => (root ? null : issuerCaId)

const chainFrom = (cas: ReadonlyMap<string, Ca>, issuerCaId: Id): Chain => {
  const issuers: Ca[] = []
  let next = cas.get(issuerCaId ?? '')
  while (next && issuers.length < maxLength) {
    issuers.push(next)
    next = cas.get(above(next) ?? '')
  }
  return { issuers, complete: issuers.at(-1)?.root === true }
}

/** Loads the chains of many issuers with one query a level, and answers the chain of each. */
export const loadChains = async (em: EntityManager, issuerCaIds: readonly Id[]): Promise<(issuerCaId: Id) => Chain> => {
  const cas = new Map<string, Ca>()
  let wanted = distinct(issuerCaIds)
  while (wanted.length > 0) {
    const found = await em.find(Ca, { id: { $in: wanted } })
    for (const ca of found) cas.set(ca.id, ca)
    wanted = distinct(found.map(above)).filter(id => !cas.has(id))
  }
  return issuerCaId => chainFrom(cas, issuerCaId)
}

/** The CAs from this one (the issuer of a leaf) up to the root, issuing CA first; CHAIN_INCOMPLETE where one is missing. */
export const loadIssuers = async (em: EntityManager, issuerCaId: Id): Promise<readonly Ca[]> => {
  const { issuers, complete } = (await loadChains(em, [issuerCaId]))(issuerCaId)
  if (!complete) throw new Failure('CHAIN_INCOMPLETE')
  return issuers
}
