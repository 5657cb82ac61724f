// Reading settings: stored values over defaults, kept for a few seconds (a change acts within 10 s on all processes).
import type { EntityManager } from '@mikro-orm/postgresql'
import { integerSetting, settings, type SettingsKey } from '../domain/settings.ts'
import { settingSecretUse } from './key-uses.ts'
import { Setting } from './rows/setting.ts'
import type { Seal } from './seal.ts'

/** So long values are not read again: a change acts within 10 s on all processes. */
const readAgainMs = 5000

/** What differs between processes and tests. */
export interface SettingsOptions {
  /** Opens secrets; without it there are none. */
  readonly seal?: Seal
  readonly freshForMs?: number
}

type Stored = Pick<Setting, 'value' | 'sealed'>

/** The settings as they were at most a few seconds ago. */
export class Settings {
  readonly #em: EntityManager
  readonly #freshForMs: number
  readonly #seal: Seal | undefined
  #stored: ReadonlyMap<string, Stored> = new Map()
  #readAt = -Infinity
  #reading: Promise<void> | undefined

  constructor(em: EntityManager, { seal, freshForMs = readAgainMs }: SettingsOptions = {}) {
    this.#em = em
    this.#freshForMs = freshForMs
    this.#seal = seal
  }

  /** The number of an INTEGER setting. */
  async integer(key: SettingsKey): Promise<number> {
    return integerSetting(key, await this.text(key))
  }

  /** Whether a BOOLEAN setting is on. */
  async isOn(key: SettingsKey): Promise<boolean> {
    return (await this.text(key)) === 'true'
  }

  /** The text of a SECRET, unsealed; null when there is none. */
  async secret(key: SettingsKey): Promise<string | null> {
    const sealed = (await this.#storedUnder(key))?.sealed
    if (!sealed) return null
    if (!this.#seal) throw new Error(`The secret ${key} cannot be opened here: this process has no master keys.`)
    return this.#seal.unseal(Buffer.from(sealed), settingSecretUse(key)).toString()
  }

  /** The text of a setting, else its default, else null. */
  async text(key: SettingsKey): Promise<string | null> {
    return (await this.#storedUnder(key))?.value ?? settings[key].default
  }

  async #storedUnder(key: SettingsKey): Promise<Stored | undefined> {
    if (performance.now() - this.#readAt >= this.#freshForMs)
      await (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
    return this.#stored.get(key)
  }

  async #read(): Promise<void> {
    const rows = await this.#em.fork().find(Setting, {})
    this.#stored = new Map(rows.map(({ settingsKey, value, sealed }) => [settingsKey, { value, sealed }]))
    this.#readAt = performance.now()
  }
}
