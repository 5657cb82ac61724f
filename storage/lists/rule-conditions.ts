// What PostgreSQL judges of a policy's strategy and rules (contract 5.3, 5.5): what must be there, what must not, how many.
import { raw, type RawQueryFragment } from '@mikro-orm/postgresql'
import type { EndEntityProperty } from '../../domain/enums.ts'
import { asItIs, demandedBy, type Held } from '../../domain/end-entity-rules.ts'
import type { EndEntityRule } from '../../domain/policy-rules.ts'
import type { Policy } from '../rows/policy.ts'
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

/** The values that a rule looks at, as an array. */
const valuesOf = ({ property, genericKey }: Pick<EndEntityRule, 'property' | 'genericKey'>): Expression =>
  property === 'GENERIC'
    ? [
        `array(select 1 from jsonb_array_elements(${alias}.generic_dto_list) pair where pair->>'key' = ?)`,
        [genericKey ?? ''],
      ]
    : columns[property]

const counted = (rule: Pick<EndEntityRule, 'property' | 'genericKey'>, bound: string, ...more: number[]) => {
  const [sql, params = []] = valuesOf(rule)
  return raw(`cardinality(${sql}) ${bound}`, [...params, ...more])
}

const conditionsOf = (rule: EndEntityRule): RawQueryFragment[] => {
  if (rule.requirement === 'FORBIDDEN') return [counted(rule, '= 0')]
  return [
    ...(rule.requirement === 'REQUIRED' ? [counted(rule, '> 0')] : []),
    ...(rule.maxCount == null ? [] : [counted(rule, '<= ?', rule.maxCount)]),
  ]
}

/**
 * Conditions that keep the end entities which satisfy a policy, but for the patterns of its rules, and for the names that
 * a template makes of other fields.
 */
export const ruleConditions = (
  { endEntityStrategy, endEntityRules }: Policy,
  held: Held = asItIs,
): RawQueryFragment[] => {
  const property = demandedBy(endEntityStrategy)
  const ofColumns = endEntityRules.filter(rule => rule.property !== 'DOMAIN' || held === asItIs)
  return [...(property ? [counted({ property }, '> 0')] : []), ...ofColumns.flatMap(conditionsOf)]
}

/** Whether a rule has a pattern that is looked at. */
export const hasPattern = ({ pattern, requirement }: EndEntityRule): boolean =>
  Boolean(pattern) && requirement !== 'FORBIDDEN'
