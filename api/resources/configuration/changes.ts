// Changing settings (contract 9.1): all that one call names or none, judged together, one audit event a change.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { checkTogether, refuseSetting } from '../../../domain/setting-rules.ts'
import { definitionOf, isKnownSetting } from '../../../domain/settings.ts'
import { record } from '../../../storage/audit.ts'
import { settingSecretUse } from '../../../storage/key-uses.ts'
import { takeLock } from '../../../storage/lock.ts'
import { Setting } from '../../../storage/rows/setting.ts'
import type { Seal } from '../../../storage/seal.ts'
import {
  judged,
  keptOf,
  mustHaveVersion,
  mustNotBeOfTheSystem,
  settingUnder,
  type Change,
  type Wanted,
} from './judgement.ts'
import { followSystemSettings, mustFitTheSystem } from './system-settings.ts'

/** The settings that others are judged by, whether a call names them or not. */
const relatives = [
  'mail.tls',
  'mail.starttls',
  'system.realm-id',
  'system.user-certificate-policy-id',
  'system.cmp-signer-policy-id',
]

const isSame = ({ row, kept, definition, settingsKey }: Change, seal: Seal): boolean => {
  if (definition.type !== 'SECRET') return (row?.value ?? null) === kept
  if (!row?.sealed || kept === null) return !row?.sealed && kept === null
  try {
    return seal.unseal(Buffer.from(row.sealed), settingSecretUse(settingsKey)).toString() === kept
  } catch {
    // What cannot be opened any more can still be replaced.
    return false
  }
}

/** What an audit event tells of values: those of known settings that are no secrets. */
const told = (key: string, tell: (value: (text: string | null | undefined) => string) => string): string => {
  if (!isKnownSetting(key) || definitionOf(key)?.type === 'SECRET') return ''
  return tell(value => (value == null ? 'the default' : `"${value}"`))
}

const write = (em: EntityManager, seal: Seal, change: Change): Setting => {
  const { settingsKey, definition, row, description = null, kept = null } = change
  const isSecret = definition.type === 'SECRET'
  const columns = {
    value: isSecret ? null : kept,
    sealed: isSecret && kept !== null ? seal.seal(Buffer.from(kept), settingSecretUse(settingsKey)) : null,
  }
  const type = row ? 'ENTITY_UPDATED' : 'ENTITY_CREATED'
  const values = told(settingsKey, value =>
    row ? ` from ${value(row.value)} to ${value(kept)}` : ` with ${value(kept)}`,
  )
  const what = `Setting ${settingsKey} ${row ? 'updated' : 'created'}${values}`
  const written = row
    ? Object.assign(row, columns)
    : em.create(Setting, { id: crypto.randomUUID(), settingsKey, description, ...columns })
  record(em, { type, objectId: written.id, what })
  return written
}

const mustNameEachOnce = (wanted: readonly Wanted[]): void => {
  const keys = wanted.map(({ settingsKey }) => settingsKey)
  const index = keys.findIndex((key, at) => keys.indexOf(key) !== at)
  if (index === -1) return
  const field = `configurations.${index}.settingsKey`
  throw new Failure('INVALID_REQUEST', `${keys[index]} is named twice.`, [{ field, message: 'is named twice' }])
}

interface Plan {
  readonly changes: readonly Change[]
  /** Those that are changed and those that they are judged by. */
  readonly rows: Map<string, Setting>
}

/** Judges and stores changes within a transaction that holds the lock; answers the rows in the order of the changes. */
const store = async (em: EntityManager, seal: Seal, { changes, rows }: Plan) => {
  const stated = new Map(changes.flatMap(one => (one.kept === undefined ? [] : [[one.settingsKey, one.kept] as const])))
  const valueOf = (key: string) => (stated.has(key) ? stated.get(key) : rows.get(key)?.value) ?? null
  const altered = changes.filter(one => one.kept !== undefined && !isSame(one, seal))
  const names = new Set(altered.map(one => one.settingsKey))
  checkTogether(valueOf, names)
  await mustFitTheSystem(em, valueOf, names)
  for (const one of altered) rows.set(one.settingsKey, write(em, seal, one))
  await followSystemSettings(em, valueOf, names)
  await em.flush()
  return changes.map(one => rows.get(one.settingsKey))
}

const lockedRows = async (em: EntityManager, wanted: readonly Wanted[]): Promise<Map<string, Setting>> => {
  await takeLock(em, 'SETTINGS')
  const keys = [...relatives, ...wanted.map(({ settingsKey }) => settingsKey)]
  return new Map((await em.find(Setting, { settingsKey: { $in: keys } })).map(row => [row.settingsKey, row]))
}

/** Changes settings, all or none, and answers their rows, in the same order; undefined where nothing is stored. */
export const changeSettings = (em: EntityManager, seal: Seal, wanted: readonly Wanted[]) => {
  mustNameEachOnce(wanted)
  return em.transactional(async inner => {
    const rows = await lockedRows(inner, wanted)
    return store(inner, seal, { changes: judged(wanted, rows), rows })
  })
}

/** Stores a setting that is not stored yet. */
export const createSetting = (em: EntityManager, seal: Seal, wanted: Required<Omit<Wanted, 'version' | 'place'>>) => {
  const { settingsKey: key } = wanted
  const definition = definitionOf(key)
  if (!definition)
    throw new Failure('UNKNOWN_SETTINGS_KEY', `There is no setting ${key}: free keys begin with custom.`, [
      { field: 'settingsKey', message: 'is not known' },
    ])
  return em.transactional(async inner => {
    const rows = await lockedRows(inner, [wanted])
    if (rows.has(key))
      throw new Failure('ALREADY_EXISTS', `${key} is stored already: update it.`, [
        { field: 'settingsKey', message: 'is taken' },
      ])
    const kept = keptOf(wanted, definition) ?? refuseSetting(key, 'must have a value')
    const [made] = await store(inner, seal, { changes: [{ ...wanted, definition, row: undefined, kept }], rows })
    return made
  })
}

/** Removes what is stored under a key, so that the default applies again. */
export const removeSetting = (em: EntityManager, key: string, version: number): Promise<void> =>
  em.transactional(async inner => {
    await takeLock(inner, 'SETTINGS')
    const { row } = await settingUnder(inner, key)
    if (!row) throw new Failure('CONFIGURATION_NOT_FOUND', `Nothing is stored under ${key}: its default applies.`)
    mustNotBeOfTheSystem(key)
    mustHaveVersion(key, version, row)
    record(inner, {
      type: 'ENTITY_DELETED',
      objectId: row.id,
      what: `Setting ${key} deleted${told(key, value => `, it was ${value(row.value)}`)}`,
    })
    await inner.remove(row).flush()
  })
