// Which values settings take (contract 9.1): the text as it is kept, or INVALID_SETTING with the key, what it takes and
// what was given. What was given for a secret is not repeated.
import { canonicalEmail, canonicalHostName, canonicalIp } from './address.ts'
import { Failure } from './failure.ts'
import { isWithin, languages, type SettingDefinition, type SettingForm, type SettingType } from './settings.ts'

/** How long values may be: those of `custom.…` keys, and the others. */
const longest = { custom: 4000, known: 255, secret: 1000, list: 50 }

/** Refuses a value. */
export const refuseSetting = (key: string, message: string): never => {
  throw new Failure('INVALID_SETTING', `${key} ${message}.`, [{ field: 'value', message }])
}

const quoted = (given: string): string => `"${given.length > 100 ? `${given.slice(0, 100)}…` : given}"`

/** What a value is to be, and how it is kept; null where it is not that. */
interface Judgement {
  readonly mustBe: string
  readonly kept: string | null
}

const rangeOf = ({ range }: SettingDefinition): string => (range ? ` from ${range[0]} to ${range[1]}` : '')

const number = (text: string, definition: SettingDefinition): string | null => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  return isWithin(value, definition) ? String(value) : null
}

const numberList = (text: string, definition: SettingDefinition): string | null => {
  const items = text === '' ? [] : text.split(',').map(item => number(item.trim(), definition))
  const kept = [...new Set(items)]
  return kept.includes(null) || kept.length > longest.list ? null : kept.join(',')
}

const address = (text: string): string | null => {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password) return null
  // An empty query or fragment leaves no trace in the parts of the URL.
  if (/[?#\\]/.test(text) || url.href.length > longest.known) return null
  return text.endsWith('/') ? url.href : url.href.replace(/\/$/, '')
}

const forms: Readonly<
  Record<SettingForm, { readonly mustBe: string; readonly keep: (text: string) => string | null }>
> = {
  TEXT: { mustBe: `must have at most ${longest.known} characters`, keep: text => text },
  HOST: { mustBe: 'must be a host name or an IP address', keep: text => canonicalHostName(text) ?? canonicalIp(text) },
  EMAIL: { mustBe: 'must be an e-mail address, such as ca@example.org', keep: canonicalEmail },
  URL: {
    mustBe: `must be an http or https address without login, query and fragment, of at most ${longest.known} characters`,
    keep: address,
  },
  LANGUAGE: {
    mustBe: `must be one of ${languages.join(', ')}`,
    keep: text => languages.find(language => language === text.toLowerCase()) ?? null,
  },
}

const string = (text: string, { form }: SettingDefinition): Judgement => {
  if (form === undefined)
    return {
      mustBe: `must have at most ${longest.custom} characters`,
      kept: text.length > longest.custom ? null : text,
    }
  const { mustBe, keep } = forms[form]
  return { mustBe, kept: text.length > longest.known ? null : keep(text) }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const judges: Readonly<Record<SettingType, (text: string, definition: SettingDefinition) => Judgement>> = {
  UUID: text => ({ mustBe: 'must be a UUID', kept: uuid.test(text.toLowerCase()) ? text.toLowerCase() : null }),
  INTEGER: (text, definition) => ({
    mustBe: `must be a whole number${rangeOf(definition)}`,
    kept: number(text, definition),
  }),
  BOOLEAN: text => ({ mustBe: 'must be true or false', kept: ['true', 'false'].includes(text) ? text : null }),
  STRING: string,
  SECRET: text => ({
    mustBe: `must have at most ${longest.secret} characters`,
    kept: text.length > longest.secret ? null : text,
  }),
  INTEGER_LIST: (text, definition) => ({
    mustBe: `must be whole numbers${rangeOf(definition)}, separated by commas, at most ${longest.list}`,
    kept: numberList(text, definition),
  }),
}

/** A value as it is kept; null when it is none: an empty text is one of an INTEGER_LIST alone. INVALID_SETTING. */
export const settingValue = (key: string, given: string, definition: SettingDefinition): string | null => {
  const { type } = definition
  // Blanks may be part of a password.
  const text = type === 'SECRET' && given.trim() !== '' ? given : given.trim()
  if (text === '' && type !== 'INTEGER_LIST') return null
  const { mustBe, kept } = judges[type](text, definition)
  return kept ?? refuseSetting(key, type === 'SECRET' ? mustBe : `${mustBe}, not ${quoted(text)}`)
}

/** The values of settings that must fit each other, as they are after a change. */
export type ValueOf = (key: 'mail.tls' | 'mail.starttls') => string | null

/** Settings that contradict each other: INVALID_SETTING. */
export const checkTogether = (valueOf: ValueOf, changed: ReadonlySet<string>): void => {
  const pair = ['mail.tls', 'mail.starttls'] as const
  const named = pair.find(key => changed.has(key))
  if (named === undefined || pair.some(key => valueOf(key) !== 'true')) return
  const other = pair.find(key => key !== named)
  refuseSetting(named, `must not be true while ${other} is: TLS begins with the connection or is an upgrade of it`)
}
