// Which end entity each certificate of an import goes to (contract 5.3, 10.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import { comparable, endEntityFields, type SubjectData } from '../../../domain/end-entity-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import { checkOwner } from '../../../domain/import-rules.ts'
import type { NewEndEntity } from '../../../storage/certificate-import.ts'
import type { EndEntity } from '../../../storage/rows/end-entity.ts'
import type { Policy } from '../../../storage/rows/policy.ts'
import { lookupKey, matchEndEntities } from '../end-entities/match.ts'

/** What the records say about the owner of some names: the end entity, that there is none, or why it is refused. */
export type Match = { readonly endEntity: EndEntity | null } | { readonly failure: Failure }

const matchOf = (living: readonly EndEntity[], isArchived: boolean): Match => {
  const [endEntity = null, ...others] = living
  if (others.length > 0) return { failure: new Failure('AMBIGUOUS_RESULT', 'Several end entities match.') }
  if (endEntity === null && isArchived)
    return { failure: new Failure('ENTITY_ARCHIVED', 'The end entity that matches is archived.') }
  return { endEntity }
}

/** Looks the owners of many names up by the policy's strategy, in a few queries for all. */
export const matchOwners = async (
  em: EntityManager,
  policy: Policy,
  subjects: readonly SubjectData[],
): Promise<Match[]> => {
  const living = await matchEndEntities(em, policy, { subjects })
  const unmatched = subjects.filter((_, index) => living[index]?.length === 0)
  const archived = await matchEndEntities(em, policy, { subjects: unmatched, archived: true })
  const withArchived = new Set(unmatched.filter((_, index) => (archived[index]?.length ?? 0) > 0))
  return subjects.map((subject, index) => matchOf(living[index] ?? [], withArchived.has(subject)))
}

/** The end entities that an import makes; certificates with the same lookup key share one. */
export class NewEndEntities {
  readonly #policy: Policy
  readonly #byKey = new Map<string, NewEndEntity>()
  readonly all: NewEndEntity[] = []

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** The new end entity of these names, made now where none has their key; throws where none may be made of them. */
  take(names: SubjectData): NewEndEntity {
    const key = lookupKey(this.#policy, names)
    const known = key === null ? undefined : this.#byKey.get(comparable(key))
    checkOwner(this.#policy, names, known?.fields ?? null)
    if (known) return known
    const made = { id: crypto.randomUUID(), fields: endEntityFields(names) }
    this.all.push(made)
    if (key !== null) this.#byKey.set(comparable(key), made)
    return made
  }
}
