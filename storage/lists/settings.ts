// The search of settings (contract 6.2 SearchConfigurationRequestDto): those that are known, stored or not, and the free
// ones that are stored.
import type { EntityManager } from '@mikro-orm/postgresql'
import { pageOf, type Page, type PageRequest } from '../../domain/search.ts'
import { customPrefix } from '../../domain/settings.ts'
import { Setting } from '../rows/setting.ts'
import { likeText } from './search.ts'

/** A known setting as the search sees it. */
export interface KnownSetting {
  readonly key: string
  readonly type: string
  readonly default: string | null
  readonly meaning: string
}

/** What is looked for; null members do not narrow. */
export interface SettingQuery {
  readonly simpleSearchTerm: string | null
  readonly settingsKeys: readonly string[] | null
  readonly prefix: string | null
  readonly known: readonly KnownSetting[]
  readonly page: PageRequest
}

/** A setting that was found, with its row where something is stored. */
export interface FoundSetting {
  readonly settingsKey: string
  readonly row: Setting | undefined
}

const key = 'coalesce(s.settings_key, k.key)'
const type = `coalesce(k.type, 'STRING')`
const description = `coalesce(s.description, nullif(k.meaning, ''))`

const source = `jsonb_to_recordset(?::jsonb) as k(key text, type text, "default" text, meaning text)
  full join setting s on s.settings_key = k.key`

/** What the members of the answer are in SQL; a secret has no value here. */
const members: Readonly<Record<string, string>> = {
  settingsKey: key,
  value: `coalesce(s.value, k."default")`,
  valueSet: '(s.value is not null or s.sealed is not null)',
  secret: `(${type} = 'SECRET')`,
  type,
  defaultValue: 'k."default"',
  description,
  createdDate: 's.created_date',
  createdBy: 's.created_by',
  lastModifiedDate: 's.last_modified_date',
}

interface Condition {
  readonly sql: string
  readonly values: readonly unknown[]
}

const conditionsOf = ({ simpleSearchTerm, settingsKeys, prefix }: SettingQuery): Condition[] => {
  const conditions: Condition[] = [{ sql: `(k.key is not null or starts_with(${key}, ?))`, values: [customPrefix] }]
  if (settingsKeys)
    conditions.push({
      sql: `${key} in (select jsonb_array_elements_text(?::jsonb))`,
      values: [JSON.stringify(settingsKeys)],
    })
  if (prefix) conditions.push({ sql: `starts_with(${key}, ?)`, values: [prefix] })
  const term = simpleSearchTerm?.trim()
  if (term)
    conditions.push({
      sql: `(${key} ilike ? or ${description} ilike ? or s.id::text = lower(?))`,
      values: [likeText(term), likeText(term), term],
    })
  return conditions
}

const orderOf = ({ page: { sort } }: SettingQuery): string => {
  const named = sort.map(({ property, descending }) => {
    const expression = members[property]
    if (expression === undefined) throw new Error(`Settings cannot be sorted by ${property}.`)
    return `${expression} ${descending ? 'desc' : 'asc'} nulls last`
  })
  return [...(named.length > 0 ? named : ['s.created_date desc nulls last']), key].join(', ')
}

/** One page of the settings that satisfy the query. */
export const findSettings = async (em: EntityManager, query: SettingQuery): Promise<Page<FoundSetting>> => {
  const { page, known } = query
  const conditions = conditionsOf(query)
  const where = `from ${source} where ${conditions.map(({ sql }) => sql).join(' and ')}`
  const values = [JSON.stringify(known), ...conditions.flatMap(one => one.values)]
  const [total] = await em.execute<{ count: number }[]>(`select count(*)::int as count ${where}`, values)
  const keys = (
    await em.execute<{ key: string }[]>(`select ${key} as key ${where} order by ${orderOf(query)} limit ? offset ?`, [
      ...values,
      page.size,
      page.page * page.size,
    ])
  ).map(row => row.key)
  const rows = new Map((await em.find(Setting, { settingsKey: { $in: keys } })).map(row => [row.settingsKey, row]))
  return pageOf(
    keys.map(settingsKey => ({ settingsKey, row: rows.get(settingsKey) })),
    total?.count ?? 0,
    page,
  )
}
