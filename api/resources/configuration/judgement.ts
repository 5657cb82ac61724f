// Judging changes of settings one by one (contract 9.1): whether there is such a setting, its version, its value.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { settingValue } from '../../../domain/setting-rules.ts'
import { definitionOf, isKnownSetting, type SettingDefinition } from '../../../domain/settings.ts'
import { Setting } from '../../../storage/rows/setting.ts'

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
export interface Change extends Wanted {
  readonly definition: SettingDefinition
  readonly row: Setting | undefined
  /** As it is to be kept; undefined leaves the setting as it is. */
  readonly kept: string | null | undefined
}

/** A refusal of an item, its members named as they stand in the body. */
const failureOf = (error: unknown, { place = '' }: Pick<Wanted, 'place'>): Failure => {
  if (!(error instanceof Failure)) throw error
  const fields = error.fieldErrors.map(({ field, message }) => ({ field: place + field, message }))
  return new Failure(error.code, error.message, fields)
}

/** The refusal of an item, and at which of the steps of its judgement it came. */
interface Fault {
  readonly failure: Failure
  readonly step: number
}

/** Refuses all items at fault together, with the code of the one that is so at the earliest step. */
const mustBeFaultless = (faults: readonly Fault[]): void => {
  const failures = faults.toSorted((one, other) => one.step - other.step).map(({ failure }) => failure)
  const [first] = failures
  if (!first) return
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

/** The value as it is to be kept; undefined where the setting stays as it is. INVALID_SETTING. */
export const keptOf = ({ settingsKey, value }: Wanted, definition: SettingDefinition): string | null | undefined => {
  if (value == null) return value
  const kept = settingValue(settingsKey, value, definition)
  return kept === null && definition.type === 'SECRET' ? undefined : kept
}

const isRemoval = ({ value, definition: { type } }: Change): boolean =>
  value === null || (value?.trim() === '' && type === 'UUID')

/** Judges each change in the order of contract 1.6 (existence, version, value), and names all that are at fault. */
export const judged = (wanted: readonly Wanted[], rows: ReadonlyMap<string, Setting>): Change[] => {
  const faults: Fault[] = []
  const changes = wanted.flatMap((one): Change[] => {
    let step = 0
    try {
      const row = rows.get(one.settingsKey)
      const change = { ...one, row, definition: known(one.settingsKey, row), kept: undefined }
      step = 1
      mustHaveVersion(one.settingsKey, one.version, row)
      if (isRemoval(change)) mustNotBeOfTheSystem(one.settingsKey)
      step = 2
      return [{ ...change, kept: keptOf(one, change.definition) }]
    } catch (error) {
      faults.push({ failure: failureOf(error, one), step })
      return []
    }
  })
  mustBeFaultless(faults)
  return changes
}
