// The CAs above a certificate, as the records link them.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { entityOf, metadataOf, selectedColumns } from './entity-rows.ts'
import { Ca } from './rows/ca.ts'
import { statement, type Statement } from './statement.ts'

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

let climbing: Statement<object> | undefined

const selecting = (em: EntityManager): string =>
  `with recursive above (id, length) as (
     select id, 1 from unnest($1::uuid[]) as id
     union select ca.issuer_ca_id, above.length + 1 from above join ca on ca.id = above.id
       where not ca.root and ca.issuer_ca_id is not null and above.length < ${maxLength})
   select ${selectedColumns(metadataOf(em, Ca), 'ca')} from ca where id in (select id from above)`

/** Loads the chains of many issuers in one statement, and answers the chain of each. */
export const loadChains = async (em: EntityManager, issuerCaIds: readonly Id[]): Promise<(issuerCaId: Id) => Chain> => {
  climbing ??= statement(selecting(em))
  const ids = distinct(issuerCaIds)
  const rows = ids.length > 0 ? await climbing.all(em, [ids]) : []
  const found = rows.map(row => entityOf(em, Ca, { row })).filter(ca => ca !== null)
  const cas = new Map(found.map(ca => [ca.id, ca]))
  return issuerCaId => chainFrom(cas, issuerCaId)
}

/** The CAs from this one (the issuer of a leaf) up to the root, issuing CA first; CHAIN_INCOMPLETE where one is missing. */
export const loadIssuers = async (em: EntityManager, issuerCaId: Id): Promise<readonly Ca[]> => {
  const { issuers, complete } = (await loadChains(em, [issuerCaId]))(issuerCaId)
  if (!complete) throw new Failure('CHAIN_INCOMPLETE')
  return issuers
}
