// Changing settings (contract 9.1): all that one call names or none, judged together, one audit event a change.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { checkTogether, refuseSetting, settingValue } from '../../../domain/setting-rules.ts'
import { definitionOf, isKnownSetting, type SettingDefinition } from '../../../domain/settings.ts'
import { record } from '../../../storage/audit.ts'
import { settingSecretUse } from '../../../storage/key-uses.ts'
import { takeLock } from '../../../storage/lock.ts'
import { Setting } from '../../../storage/rows/setting.ts'
import type { Seal } from '../../../storage/seal.ts'
import { followSystemSettings, mustFitTheSystem } from './system-settings.ts'

/** What one setting is to become; an absent value stays, null brings the default back. */
export interface Wanted {
  readonly settingsKey: string
  readonly value?: string | null | undefined
  readonly version?: number | null | undefined
  readonly description?: string | null
  /** Where it stands in the body, as far as it is one of several: `configurations.3.` */
  readonly place?: string
}

/** A wanted change with what is known and stored about its setting. */
interface Change extends Wanted {
  readonly definition: SettingDefinition
  readonly row: Setting | undefined
  /** As it is to be kept; undefined leaves the setting as it is. */
  readonly kept: string | null | undefined
}

/** The settings that others are judged by, whether a call names them or not. */
const relatives = [
  'mail.tls',
  'mail.starttls',
  'system.realm-id',
  'system.user-certificate-policy-id',
  'system.cmp-signer-policy-id',
]

/** Looks at every item and refuses all together with the code of the first one at fault. */
const forEach = <T extends Pick<Wanted, 'place'>, R>(items: readonly T[], look: (item: T) => R): R[] => {
  const failures: Failure[] = []
  const results: R[] = []
  for (const item of items)
    try {
      results.push(look(item))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const fields = error.fieldErrors.map(({ field, message }) => ({ field: (item.place ?? '') + field, message }))
      failures.push(new Failure(error.code, error.message, fields))
    }
  const [first] = failures
  if (!first) return results
  const message = failures.map(one => one.message).join(' ')
  throw new Failure(
    first.code,
    message.length > 1000 ? `${message.slice(0, 999)}…` : message,
    failures.flatMap(one => one.fieldErrors),
  )
}

const missing = (key: string): never => {
  const message = `There is no setting ${key}: it is neither a known key nor stored.`
  throw new Failure('CONFIGURATION_NOT_FOUND', message, [{ field: 'settingsKey', message: 'is not known' }])
}

const known = (key: string, row: Setting | undefined): SettingDefinition => {
  const definition = definitionOf(key)
  return definition && (row || isKnownSetting(key)) ? definition : missing(key)
}

/** The row of a setting and what is known about it; else CONFIGURATION_NOT_FOUND. */
export const settingUnder = async (em: EntityManager, key: string) => {
  const row = (await em.findOne(Setting, { settingsKey: key })) ?? undefined
  return { row, definition: known(key, row) }
}

/** Compares the version that a caller states with that of the row; a setting without one has version 0. */
export const mustHaveVersion = (key: string, stated: number | null | undefined, row: Setting | undefined): void => {
  const version = row?.version ?? 0
  if (stated == null || stated === version) return
  const message = `The version of ${key} is ${version}, not ${stated}.`
  throw new Failure('VERSION_CONFLICT', message, [{ field: 'version', message: `is ${version}` }])
}

/** The settings that the service needs cannot be without a value. */
export const mustNotBeOfTheSystem = (key: string): void => {
  if (!key.startsWith('system.')) return
  const message = `The service itself needs ${key}: its value can be changed, not removed.`
  throw new Failure('SYSTEM_ENTITY_PROTECTED', message, [{ field: 'settingsKey', message: 'cannot be removed' }])
}

const keptOf = ({ settingsKey, value }: Wanted, definition: SettingDefinition): string | null | undefined => {
  if (value == null) return value
  const kept = settingValue(settingsKey, value, definition)
  return kept === null && definition.type === 'SECRET' ? undefined : kept
}

const isRemoval = ({ value, definition: { type } }: Change): boolean =>
  value === null || (value?.trim() === '' && type === 'UUID')

const judged = (wanted: readonly Wanted[], rows: ReadonlyMap<string, Setting>): Change[] => {
  const changes = forEach(wanted, (one): Change => {
    const row = rows.get(one.settingsKey)
    return { ...one, row, definition: known(one.settingsKey, row), kept: undefined }
  })
  forEach(changes, one => {
    mustHaveVersion(one.settingsKey, one.version, one.row)
    if (isRemoval(one)) mustNotBeOfTheSystem(one.settingsKey)
  })
  return forEach(changes, one => ({ ...one, kept: keptOf(one, one.definition) }))
}

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

/** Judges and stores changes within a transaction that holds the lock; answers the rows in the order of the changes. */
const store = async (em: EntityManager, seal: Seal, changes: readonly Change[], rows: Map<string, Setting>) => {
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
    return store(inner, seal, judged(wanted, rows), rows)
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
    const [made] = await store(inner, seal, [{ ...wanted, definition, row: undefined, kept }], rows)
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
