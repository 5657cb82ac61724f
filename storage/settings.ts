// Reading settings: stored values over defaults, kept for a few seconds (a change acts within 10 s on all processes).
import type { EntityManager } from '@mikro-orm/postgresql'
import { integerSetting, settings, type SettingsKey } from '../domain/settings.ts'
import { Setting } from './rows/setting.ts'

/** So long values are not read again: a change acts within 10 s on all processes. */
const readAgainMs = 5000

/** The settings as they were at most a few seconds ago. */
export class Settings {
  readonly #em: EntityManager
  readonly #freshForMs: number
  #values: ReadonlyMap<string, string | null> = new Map()
  #readAt = -Infinity
  #reading: Promise<void> | undefined

  constructor(em: EntityManager, freshForMs = readAgainMs) {
    this.#em = em
    this.#freshForMs = freshForMs
  }

  /** The number of an INTEGER setting. */
  async integer(key: SettingsKey): Promise<number> {
    return integerSetting(key, await this.text(key))
  }

  /** Whether a BOOLEAN setting is on. */
  async isOn(key: SettingsKey): Promise<boolean> {
    return (await this.text(key)) === 'true'
  }

  /** The text of a setting, else its default, else null. */
  async text(key: SettingsKey): Promise<string | null> {
    if (performance.now() - this.#readAt >= this.#freshForMs)
      await (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
    return this.#values.get(key) ?? settings[key].default
  }

  async #read(): Promise<void> {
    const rows = await this.#em.fork().find(Setting, {})
    this.#values = new Map(rows.map(row => [row.settingsKey, row.value ?? null]))
    this.#readAt = performance.now()
  }
}
