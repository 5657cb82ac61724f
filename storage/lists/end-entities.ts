// The search of end entities (contract 6.6 EndEntitySearchRequestDto).
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import { asItIs, endEntityViolations, type Held, type SubjectData } from '../../domain/end-entity-rules.ts'
import { isPattern } from '../../domain/pattern.ts'
import type { EndEntityRule } from '../../domain/policy-rules.ts'
import type { Page, PageRequest } from '../../domain/search.ts'
import { anyOf } from './among.ts'
import { EndEntity } from '../rows/end-entity.ts'
import type { Policy } from '../rows/policy.ts'
import { readableRows, type Reader } from './readable-rows.ts'
import { hasPattern, ruleConditions } from './rule-conditions.ts'
import { alias, amongIds, foundInText, rowWithId, searchPage } from './search.ts'

/** What is looked for; null and absent members do not narrow. */
export interface EndEntityQuery {
  readonly realmId: string
  readonly simpleSearchTerm: string | null
  readonly endEntityIds: readonly string[] | null
  /** Only those that satisfy the strategy and rules of this policy. */
  readonly policy: Policy | undefined
  /** What certificates of that policy hold of an end entity. */
  readonly held?: Held
  /** Only those without a password for this policy. */
  readonly passwordPolicy: Policy | undefined
  readonly archived: boolean
  readonly page: PageRequest
  /** Judges many things one after the other and lets others work in between. */
  readonly judgeEach: <T>(all: readonly T[], judge: (one: T) => boolean) => Promise<boolean[]>
}

const columns = { REALM: `${alias}.realm_id`, END_ENTITY: `${alias}.id` }

const withoutPasswordFor = ({ id }: Policy): RawQueryFragment =>
  raw(
    `not exists (select 1 from end_entity_password p where p.end_entity_id = ${alias}.id and p.policy_id = ?::uuid)`,
    [id],
  )

type Conditions = readonly RawQueryFragment[]

/** Everything that PostgreSQL judges. */
const conditionsOf = async (em: EntityManager, reader: Reader, query: EndEntityQuery): Promise<Conditions> => {
  const { simpleSearchTerm: text, policy, passwordPolicy } = query
  const all = [
    query.endEntityIds ? amongIds(query.endEntityIds) : undefined,
    text ? anyOf([foundInText(text), rowWithId(text)]) : undefined,
    ...(policy ? ruleConditions(policy, query.held) : []),
    passwordPolicy && withoutPasswordFor(passwordPolicy),
    await readableRows(em, 'READ_END_ENTITY', { reader, columns }),
  ]
  return all.filter(condition => condition !== undefined)
}

/** Rows that are read and judged at a time. */
const sliceLength = 500

/** The characters of an id and of the comma behind it. */
const idLength = 37

/** What the rules look at; plain rows, since thousands of entities would keep the event loop for long. */
const ruledColumns = `id, common_name as "commonName", organization, organizational_unit as "organizationalUnit", country,
  external_id as "externalId", email, domains, ips, generic_dto_list as "genericDtoList"`

interface RuledRow extends SubjectData {
  readonly id: string
}

/** The ids of a realm's end entities that satisfy conditions, with a comma behind each: one text, whatever its length. */
const idsOf = async (em: EntityManager, { realmId, archived }: EndEntityQuery, conditions: Conditions) => {
  const [row] = await em.execute<{ ids: string | null }[]>(
    `select string_agg(${alias}.id::text || ',', '') as ids from end_entity ${alias}
      where ${alias}.realm_id = ? and ${alias}.archived = ? ${conditions.map(({ sql }) => `and (${sql})`).join(' ')}`,
    [realmId, archived, ...conditions.flatMap(({ params }) => [...params])],
  )
  return row?.ids ?? ''
}

/** What the rules look at of these end entities, in slices. */
async function* slicesOf(em: EntityManager, ids: string) {
  const step = sliceLength * idLength
  for (let start = 0; start < ids.length; start += step)
    yield await em.execute<RuledRow[]>(`select ${ruledColumns} from end_entity where id = any(?::uuid[])`, [
      `{${ids.slice(start, start + step).slice(0, -1)}}`,
    ])
}

/** Whether PostgreSQL alone cannot judge a rule: it has a pattern, or looks at names that a template makes. */
const needsJudge = (rule: EndEntityRule, held: Held): boolean =>
  hasPattern(rule) || (rule.property === 'DOMAIN' && held !== asItIs)

/** A condition that keeps those which satisfy what PostgreSQL does not judge; undefined where there is nothing of it. */
const fittingPatterns = async (
  em: EntityManager,
  query: EndEntityQuery,
  conditions: Conditions,
): Promise<RawQueryFragment | undefined> => {
  const { policy, held = asItIs, judgeEach } = query
  if (!policy?.endEntityRules.some(rule => needsJudge(rule, held))) return undefined
  await judgeEach(policy.endEntityRules, ({ pattern }) => isPattern(pattern ?? ''))
  const ids: string[] = []
  for await (const slice of slicesOf(em, await idsOf(em, query, conditions))) {
    const verdicts = await judgeEach(slice, endEntity => endEntityViolations(policy, endEntity, held).length === 0)
    ids.push(...slice.filter((_, index) => verdicts[index]).map(({ id }) => id))
  }
  return amongIds(ids)
}

/** One page of the end entities of a realm that satisfy the query and that this principal may read. */
export const findEndEntities = async (
  em: EntityManager,
  reader: Reader,
  query: EndEntityQuery,
): Promise<Page<EndEntity>> => {
  const { realmId, archived, page } = query
  const conditions = await conditionsOf(em, reader, query)
  const and = [...conditions, await fittingPatterns(em, query, conditions)]
  return searchPage(em, EndEntity, { where: { realmId, archived }, and, page })
}
