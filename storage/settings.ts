// Reading settings: stored values over defaults. They are read once and kept until a change is heard of
// (setting-changes.ts) or, in case that none was heard, for a few seconds: a change acts within 10 s on all processes.
import type { EntityManager } from '@mikro-orm/postgresql'
import { defaultOf, integerSetting, listSetting, settings, type SettingsKey } from '../domain/settings.ts'
import { settingSecretUse } from './key-uses.ts'
import { Setting } from './rows/setting.ts'
import type { Seal } from './seal.ts'

/** So long values are not read again when no change is heard of. */
const readAgainMs = 5000

/** Settings that this service acts by; free ones may be many and are not kept in memory. */
const known = Object.keys(settings)

/** What differs between processes and tests. */
export interface SettingsOptions {
  /** Opens secrets; without it there are none. */
  readonly seal?: Seal
  /** The address of this service, which some defaults begin with. */
  readonly baseUrl?: string
  readonly freshForMs?: number
}

type Stored = Pick<Setting, 'value' | 'sealed'>

/** The settings as they were when a change was last heard of, at most a few seconds ago. */
export class Settings {
  readonly #em: EntityManager
  readonly #seal: Seal | undefined
  readonly #baseUrl: string | undefined
  readonly #freshForMs: number
  #stored: ReadonlyMap<string, Stored> = new Map()
  #readAt = -Infinity
  #changes = 0
  #reading: Promise<void> | undefined

  constructor(em: EntityManager, { seal, baseUrl, freshForMs = readAgainMs }: SettingsOptions = {}) {
    this.#em = em
    this.#seal = seal
    this.#baseUrl = baseUrl
    this.#freshForMs = freshForMs
  }

  /** The number of an INTEGER setting. */
  async integer(key: SettingsKey): Promise<number> {
    return integerSetting(key, await this.text(key))
  }

  /** The numbers of an INTEGER_LIST setting. */
  async list(key: SettingsKey): Promise<number[]> {
    return listSetting(key, await this.text(key))
  }

  /** Whether a BOOLEAN setting is on. */
  async isOn(key: SettingsKey): Promise<boolean> {
    return (await this.text(key)) === 'true'
  }

  /** The text of a setting, else its default, else null. */
  async text(key: SettingsKey): Promise<string | null> {
    return (await this.#storedUnder(key))?.value ?? this.defaultOf(key)
  }

  /** The text of a SECRET, unsealed; null when there is none. */
  async secret(key: SettingsKey): Promise<string | null> {
    const sealed = (await this.#storedUnder(key))?.sealed
    if (!sealed) return null
    if (!this.#seal) throw new Error(`The secret ${key} cannot be opened here: this process has no master keys.`)
    return this.#seal.unseal(Buffer.from(sealed), settingSecretUse(key)).toString()
  }

  /** What a setting is where nothing is stored. */
  defaultOf(key: SettingsKey): string | null {
    return defaultOf(settings[key], this.#baseUrl)
  }

  /** A change was heard of: the next question reads again. */
  forget(): void {
    this.#changes += 1
    this.#readAt = -Infinity
    // What is being read may be older than the change.
    this.#reading = undefined
  }

  async #storedUnder(key: SettingsKey): Promise<Stored | undefined> {
    if (performance.now() - this.#readAt >= this.#freshForMs) await (this.#reading ??= this.#readOnce())
    return this.#stored.get(key)
  }

  #readOnce(): Promise<void> {
    const reading = this.#read().finally(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  async #read(): Promise<void> {
    const [changes, began] = [this.#changes, performance.now()]
    const rows = await this.#em.fork().find(Setting, { settingsKey: { $in: known } })
    // Who began before the last change must not lay the older values over newer ones.
    if (changes !== this.#changes && this.#readAt > -Infinity) return
    this.#stored = new Map(rows.map(({ settingsKey, value, sealed }) => [settingsKey, { value, sealed }]))
    if (changes === this.#changes) this.#readAt = began
  }
}
