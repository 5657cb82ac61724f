// The end entities that subject data matches under a policy's strategy (contract 5.3).
import type { EntityManager } from '@mikro-orm/postgresql'
import { comparable, strategyKey, type SubjectData } from '../../../domain/end-entity-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import { commonNameOf, subjectName } from '../../../pki/names/name.ts'
import { formatName, parseNameText } from '../../../pki/names/name-text.ts'
import { findByIds } from '../../../storage/by-ids.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { idsByAlias, idsByField, type LookupScope, type LookupStrategy } from '../../../storage/end-entity-lookup.ts'
import type { Policy } from '../../../storage/rows/policy.ts'

/** The subject data of one look-up, in canonical form where it has one. */
interface Sought {
  readonly key: string
  readonly subject: SubjectData
}

const subjectDnOf = (subject: SubjectData): string => formatName(subjectName(subject))

/** The key that a policy's strategy takes from subject data; null when it is missing, and always with UUID. */
export const lookupKey = ({ endEntityStrategy }: Policy, subject: SubjectData): string | null =>
  strategyKey(endEntityStrategy, { ...subject, subjectDn: subjectDnOf(subject) })

/** The value that the strategy's column is searched for: a subject DN is found by its common name. */
const columnValue = (strategy: LookupStrategy, { key, subject }: Sought): string =>
  strategy === 'SUBJECT_DN' ? (subject.commonName ?? '') : key

const isMeant = (strategy: LookupStrategy, { key }: Sought, candidate: EndEntity): boolean =>
  strategy !== 'SUBJECT_DN' || comparable(subjectDnOf(candidate)) === comparable(key)

const load = async (em: EntityManager, ids: Iterable<string>): Promise<ReadonlyMap<string, EndEntity>> => {
  const rows = await findByIds(em, EndEntity, ids)
  return new Map(rows.map(row => [row.id, row]))
}

const present = <T>(value: T | undefined): value is T => value !== undefined

/** The end entities of each sought one: those with the alias, where there is none those with the field. */
const search = async (
  em: EntityManager,
  strategy: LookupStrategy,
  { scope, sought }: { scope: LookupScope; sought: readonly Sought[] },
): Promise<ReadonlyMap<Sought, EndEntity[]>> => {
  const aliases = await idsByAlias(
    em,
    scope,
    sought.map(({ key }) => key),
  )
  const others = sought.filter(({ key }) => !aliases.has(key))
  const values = others.map(one => columnValue(strategy, one))
  const fields = await idsByField(em, strategy, { ...scope, values })
  const rows = await load(em, [...aliases.values(), ...fields.values()].flat())
  const rowsOf = (ids: readonly string[] = []) => ids.map(id => rows.get(id)).filter(present)
  const matchesOf = (one: Sought): EndEntity[] => {
    const byAlias = aliases.get(one.key)
    if (byAlias) return rowsOf(byAlias)
    return rowsOf(fields.get(columnValue(strategy, one))).filter(row => isMeant(strategy, one, row))
  }
  return new Map(sought.map(one => [one, matchesOf(one)]))
}

/**
 * For each subject the end entities of the policy's realm that match it, oldest first: first by alias, then by the
 * field of the strategy, without case and with white space collapsed. Nothing matches a subject without the key.
 */
export const matchEndEntities = async (
  em: EntityManager,
  policy: Policy,
  { subjects, archived = false }: { subjects: readonly SubjectData[]; archived?: boolean },
): Promise<EndEntity[][]> => {
  const strategy = policy.endEntityStrategy
  if (strategy === 'UUID') return subjects.map(() => [])
  const sought = subjects.map(subject => {
    const key = lookupKey(policy, subject)
    return key === null ? null : { key, subject }
  })
  const known = sought.filter(one => one !== null)
  if (known.length === 0) return subjects.map(() => [])
  const found = await search(em, strategy, { scope: { realmId: policy.realmId, archived }, sought: known })
  return sought.map(one => (one ? (found.get(one) ?? []) : []))
}

/** The common name in the text of a subject DN; null where there is none or the text is no DN. */
const commonNameIn = (text: string): string | null => {
  try {
    return commonNameOf(parseNameText(text))
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** Whether a text is the subject DN of another living end entity of the realm, which no column holds. */
export const isDnOfAnother = async (em: EntityManager, { id, realmId }: EndEntity, text: string): Promise<boolean> => {
  const commonName = commonNameIn(text)
  if (commonName === null) return false
  const ids = await idsByField(em, 'SUBJECT_DN', { realmId, archived: false, values: [commonName] })
  const rows = await load(em, [...ids.values()].flat())
  return [...rows.values()].some(row => row.id !== id && comparable(subjectDnOf(row)) === comparable(text))
}
