// The search of end entities (contract 6.6 EndEntitySearchRequestDto).
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import { asItIs, ruleViolations, type Held, type SubjectData } from '../../domain/end-entity-rules.ts'
import { isPattern } from '../../domain/pattern.ts'
import type { EndEntityRule } from '../../domain/policy-rules.ts'
import { pageOf, type Page, type PageRequest } from '../../domain/search.ts'
import { findByIds } from '../by-ids.ts'
import { anyOf } from './among.ts'
import { EndEntity } from '../rows/end-entity.ts'
import type { Policy } from '../rows/policy.ts'
import { readableRows, type Reader } from './readable-rows.ts'
import { ruleConditions, rulesLeft } from './rule-conditions.ts'
import { alias, amongIds, foundInText, rowWithId, searchIds, searchPage } from './search.ts'

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

/** What the rules look at; plain rows, since thousands of entities would keep the event loop for long. */
const ruledColumns = `id, common_name as "commonName", organization, organizational_unit as "organizationalUnit", country,
  external_id as "externalId", email, domains, ips, generic_dto_list as "genericDtoList"`

interface RuledRow extends SubjectData {
  readonly id: string
}

/** What the rules look at of these end entities, in the order of the ids. */
const ruledRows = (em: EntityManager, ids: readonly string[]): Promise<RuledRow[]> =>
  em.execute<RuledRow[]>(
    `select ${ruledColumns} from end_entity
      join unnest(?::uuid[]) with ordinality wanted (wanted_id, place) on id = wanted_id order by place`,
    [`{${ids.join(',')}}`],
  )

type Asked = Parameters<typeof searchPage<EndEntity>>[2]

/** The page of those that also satisfy rules which PostgreSQL does not judge: all are judged, those of the page are kept. */
const findJudged = async (
  em: EntityManager,
  asked: Asked,
  { rules, held = asItIs, judgeEach }: EndEntityQuery & { rules: readonly EndEntityRule[] },
): Promise<Page<EndEntity>> => {
  const { page } = asked
  const begin = page.page * page.size
  const satisfies = (row: RuledRow): boolean => ruleViolations(rules, held(row)).length === 0
  await judgeEach(rules, ({ pattern }) => isPattern(pattern ?? ''))
  const ofPage: string[] = []
  let total = 0
  for await (const ids of searchIds(em, EndEntity, { ...asked, sliceLength })) {
    const rows = await ruledRows(em, ids)
    const verdicts = await judgeEach(rows, satisfies)
    const fitting = rows.filter((_, index) => verdicts[index]).map(({ id }) => id)
    ofPage.push(...fitting.slice(Math.max(0, begin - total)).slice(0, page.size - ofPage.length))
    total += fitting.length
  }
  const found = await findByIds(em, EndEntity, ofPage)
  const byId = new Map(found.map(row => [row.id, row]))
  return pageOf(
    ofPage.map(id => byId.get(id)).filter(row => row !== undefined),
    total,
    page,
  )
}

/** One page of the end entities of a realm that satisfy the query and that this principal may read. */
export const findEndEntities = async (
  em: EntityManager,
  reader: Reader,
  query: EndEntityQuery,
): Promise<Page<EndEntity>> => {
  const { realmId, archived, page, policy, held } = query
  const asked = { where: { realmId, archived }, and: await conditionsOf(em, reader, query), page }
  const rules = policy ? rulesLeft(policy, held) : []
  return rules.length === 0 ? searchPage(em, EndEntity, asked) : findJudged(em, asked, { ...query, rules })
}
