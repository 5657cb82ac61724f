// What PostgreSQL judges of a policy's strategy and rules (contract 5.3, 5.5): what must be there, what must not, how many,
// and of patterns as much as LIKE can tell.
import { raw, type RawQueryFragment } from '@mikro-orm/postgresql'
import type { EndEntityProperty } from '../../domain/enums.ts'
import { asItIs, demandedBy, type Held } from '../../domain/end-entity-rules.ts'
import type { EndEntityRule } from '../../domain/policy-rules.ts'
import type { Policy } from '../rows/policy.ts'
import { likenessOf } from './likeness.ts'
import { alias } from './search.ts'

/** An expression of PostgreSQL and its parameters. */
type Expression = readonly [sql: string, params?: readonly unknown[]]

const single = (column: string): Expression => [`array_remove(array[nullif(${alias}.${column}, '')]::text[], null)`]
const list = (column: string): Expression => [`${alias}.${column}`]

const columns: Readonly<Record<Exclude<EndEntityProperty, 'GENERIC'>, Expression>> = {
  COMMON_NAME: single('common_name'),
  ORGANIZATION: single('organization'),
  ORGANIZATIONAL_UNIT: single('organizational_unit'),
  COUNTRY: single('country'),
  EMAIL: single('email'),
  DOMAIN: list('domains'),
  IP: list('ips'),
  EXTERNAL_ID: single('external_id'),
}

type Looked = Pick<EndEntityRule, 'property' | 'genericKey'>

/** The values that a rule looks at, as an array. */
const valuesOf = ({ property, genericKey }: Looked): Expression =>
  property === 'GENERIC'
    ? [
        `array(select pair->>'value' from jsonb_array_elements(${alias}.generic_dto_list) pair where pair->>'key' = ?)`,
        [genericKey ?? ''],
      ]
    : columns[property]

/** Whether there are such values at all, which is cheaper to know than what they are. */
const anyOf = ({ property, genericKey }: Looked): Expression =>
  property === 'GENERIC'
    ? [`${alias}.generic_dto_list @> ?::jsonb`, [JSON.stringify([{ key: genericKey ?? '' }])]]
    : [`cardinality(${columns[property][0]}) > 0`]

const present = (looked: Looked): RawQueryFragment => {
  const [sql, params = []] = anyOf(looked)
  return raw(sql, [...params])
}

const absent = (looked: Looked): RawQueryFragment => {
  const { sql, params } = present(looked)
  return raw(`not (${sql})`, [...params])
}

/** Holds where there are none of the values, and else where the condition on them holds. */
const wherePresent = (rule: EndEntityRule, condition: (values: string) => string, more: readonly unknown[]) => {
  const [any, anyParams = []] = anyOf(rule)
  const [values, valueParams = []] = valuesOf(rule)
  return raw(`(not (${any}) or ${condition(values)})`, [...anyParams, ...valueParams, ...more])
}

const mayHavePattern = ({ pattern, requirement }: EndEntityRule): boolean =>
  Boolean(pattern) && requirement !== 'FORBIDDEN'

/** What LIKE tells of values under the rules of one property, each value looked at once; `.` matches within a line only. */
const alike = (rules: readonly [EndEntityRule, ...EndEntityRule[]]): RawQueryFragment[] => {
  const told = rules.map(({ pattern }) => likenessOf(pattern ?? '')).filter(likeness => likeness !== null)
  if (told.length === 0) return []
  const fits = told.map(({ likes }) => `(${likes.map(() => `one collate "C" like ?`).join(' or ')})`)
  const refused = `not (${fits.join(' and ')})${told.some(({ exact }) => exact) ? ' or strpos(one, chr(10)) > 0' : ''}`
  const condition = (values: string) => `not exists (select 1 from unnest(${values}) one where ${refused})`
  return [
    wherePresent(
      rules[0],
      condition,
      told.flatMap(({ likes }) => likes),
    ),
  ]
}

/** The rules on each property, or on each key of it. */
const byProperty = (rules: readonly EndEntityRule[]): [EndEntityRule, ...EndEntityRule[]][] => {
  const grouped = new Map<string, [EndEntityRule, ...EndEntityRule[]]>()
  for (const rule of rules) {
    const key = `${rule.property} ${rule.property === 'GENERIC' ? rule.genericKey : ''}`
    const others = grouped.get(key)
    if (others) others.push(rule)
    else grouped.set(key, [rule])
  }
  return [...grouped.values()]
}

const conditionsOf = (rule: EndEntityRule): RawQueryFragment[] => {
  const { requirement, maxCount } = rule
  if (requirement === 'FORBIDDEN') return [absent(rule)]
  return [
    ...(requirement === 'REQUIRED' ? [present(rule)] : []),
    ...(maxCount == null ? [] : [wherePresent(rule, values => `cardinality(${values}) <= ?`, [maxCount])]),
  ]
}

/** Whether PostgreSQL cannot know what a rule looks at: names that a template makes of other fields. */
const isOfMadeNames = ({ property }: EndEntityRule, held: Held): boolean => property === 'DOMAIN' && held !== asItIs

/** Conditions that end entities fulfil which satisfy a policy; those that `rulesLeft` satisfy as well are such. */
export const ruleConditions = (
  { endEntityStrategy, endEntityRules }: Policy,
  held: Held = asItIs,
): RawQueryFragment[] => {
  const property = demandedBy(endEntityStrategy)
  const ofColumns = endEntityRules.filter(rule => !isOfMadeNames(rule, held))
  return [
    ...(property ? [present({ property })] : []),
    ...ofColumns.flatMap(conditionsOf),
    ...byProperty(ofColumns.filter(mayHavePattern)).flatMap(alike),
  ]
}

/** The rules that PostgreSQL does not judge, or not to the end. */
export const rulesLeft = ({ endEntityRules }: Policy, held: Held = asItIs): EndEntityRule[] =>
  endEntityRules.filter(
    rule => isOfMadeNames(rule, held) || (mayHavePattern(rule) && !likenessOf(rule.pattern ?? '')?.exact),
  )
