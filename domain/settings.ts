// The settings that people change at run time (contract 9.1) as a table: key, type, default, range and meaning; and how
// their stored texts are read. What may be stored is judged by setting-rules.ts.
import { challengeMinutes } from './password-rules.ts'

/** How the text of a setting is read. */
export type SettingType = 'UUID' | 'INTEGER' | 'BOOLEAN' | 'STRING' | 'SECRET' | 'INTEGER_LIST'

/** What the text of a STRING setting has to be. */
export type SettingForm = 'TEXT' | 'HOST' | 'EMAIL' | 'URL' | 'LANGUAGE'

/** What is known about a setting. */
export interface SettingDefinition {
  readonly type: SettingType
  readonly default: string | null
  /** What the setting is for, as it is answered where nobody has described it otherwise. */
  readonly meaning: string
  /** The bounds of an INTEGER and of each item of an INTEGER_LIST. */
  readonly range?: readonly [number, number]
  readonly form?: SettingForm
  /** The default is the address of this service with this path. */
  readonly below?: `/${string}`
}

const integer = (value: number, range: readonly [number, number], meaning: string) =>
  ({ type: 'INTEGER', default: String(value), range, meaning }) as const
const text = (form: SettingForm, meaning: string) => ({ type: 'STRING', default: null, form, meaning }) as const
const page = (below: `/${string}`, meaning: string) => ({ ...text('URL', meaning), below }) as const
const off = (meaning: string) => ({ type: 'BOOLEAN', default: 'false', meaning }) as const
const madeAtFirstStart = (meaning: string) => ({ type: 'UUID', default: null, meaning }) as const

/** Every known key; `custom.…` keys are free beside it. */
export const settings = {
  'system.realm-id': madeAtFirstStart('System realm'),
  'system.user-certificate-policy-id': madeAtFirstStart('Policy of RA certificates'),
  'system.cmp-signer-policy-id': madeAtFirstStart('Policy of CMP signer certificates'),
  'issue.wait-seconds': integer(30, [1, 300], 'Wait of one synchronous issue or revocation'),
  'issue.batch-wait-seconds': integer(120, [1, 600], 'Wait of a synchronous batch'),
  'issue.backdate-seconds': integer(60, [0, 3600], 'How long before now certificates begin'),
  'order.max-wait-days': integer(90, [1, 365], 'Life of an order'),
  'purge.wait-seconds': integer(30, [0, 300], 'Wait of a purge'),
  'mail.enabled': off('Send mail'),
  'mail.starttls': off('Upgrade the connection to the mail server to TLS'),
  'mail.tls': off('TLS with the mail server from the start'),
  'mail.host': text('HOST', 'Mail server'),
  'mail.username': text('TEXT', 'Name for the login at the mail server'),
  'mail.from': text('EMAIL', 'Sender address'),
  'mail.port': integer(25, [1, 65_535], 'Port of the mail server'),
  'mail.password': { type: 'SECRET', default: null, meaning: 'Password for the login at the mail server' },
  'mail.language': { ...text('LANGUAGE', 'Language of mails'), default: 'en' },
  'notification.expiry-days': {
    type: 'INTEGER_LIST',
    default: '30,14,7,1',
    range: [1, 3650],
    meaning: 'Days before the end of a certificate on which its realm is reminded',
  },
  'verification.token-lifetime-hours': integer(168, [1, 720], 'Life of the token of a verification mail'),
  'verification.base-url': page('/verify-email', 'Page that the link of a verification mail opens'),
  'certificate.expiring-soon-days': integer(30, [1, 3650], 'Bound of the list of soon expiring certificates'),
  'password.length': integer(16, [12, 64], 'Length of end entity passwords'),
  'password.max-failures': integer(10, [3, 100], 'Failures that lock an end entity password'),
  'password.lock-minutes': integer(15, [1, 1440], 'How long an end entity password is locked'),
  'scep.challenge-minutes': integer(60, challengeMinutes, 'How long a one-time SCEP challenge serves'),
  'pki.base-url': page('/pki', 'Prefix of the links in certificates'),
} as const satisfies Record<string, SettingDefinition>
export type SettingsKey = keyof typeof settings

/** The languages of mails. */
export const languages = ['en', 'de'] as const

const custom: SettingDefinition = { type: 'STRING', default: null, meaning: '' }

/** The prefix of keys that are free. */
export const customPrefix = 'custom.'

/** Whether this is the key of a known setting. */
export const isKnownSetting = (key: string): key is SettingsKey => Object.hasOwn(settings, key)

/** What is known about a setting with this key; undefined where there can be none. */
export const definitionOf = (key: string): SettingDefinition | undefined => {
  if (isKnownSetting(key)) return settings[key]
  return key.startsWith(customPrefix) && key.length > customPrefix.length ? custom : undefined
}

/** What a setting is where nothing is stored, in a service with this address. */
export const defaultOf = ({ default: value, below }: SettingDefinition, baseUrl: string | undefined): string | null =>
  below !== undefined && baseUrl !== undefined ? `${baseUrl.replace(/\/$/, '')}${below}` : value

/** Whether a number is within the range of a setting. */
export const isWithin = (value: number, { range }: Pick<SettingDefinition, 'range'>): boolean =>
  Number.isSafeInteger(value) && (!range || (value >= range[0] && value <= range[1]))

/** Reads an INTEGER setting; a missing or unreadable value is the default. */
export const integerSetting = (key: SettingsKey, stored: string | null | undefined): number => {
  const definition: SettingDefinition = settings[key]
  const value = stored?.trim() ? Number(stored) : Number.NaN
  return isWithin(value, definition) ? value : Number(definition.default)
}

const numbersIn = (text: string): number[] =>
  text.trim() === '' ? [] : text.split(',').map(item => (item.trim() === '' ? Number.NaN : Number(item)))

/** Reads an INTEGER_LIST setting, an empty text as an empty list; a missing or unreadable value is the default. */
export const listSetting = (key: SettingsKey, stored: string | null | undefined): number[] => {
  const definition: SettingDefinition = settings[key]
  const items = numbersIn(stored ?? definition.default ?? '')
  return items.every(item => isWithin(item, definition)) ? items : numbersIn(definition.default ?? '')
}
