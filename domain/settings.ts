// The settings that people change at run time (contract 9.1): key, type, default and range as a table.

/** How the text of a setting is read. */
export type SettingType = 'UUID' | 'INTEGER' | 'BOOLEAN' | 'STRING' | 'SECRET' | 'INTEGER_LIST'

interface Definition {
  readonly type: SettingType
  readonly default: string | null
  readonly range?: readonly [number, number]
}

const integer = (value: number, from: number, to: number): Definition => ({
  type: 'INTEGER',
  default: String(value),
  range: [from, to],
})
const text = (value: string | null = null): Definition => ({ type: 'STRING', default: value })
const off: Definition = { type: 'BOOLEAN', default: 'false' }
const madeAtFirstStart: Definition = { type: 'UUID', default: null }

/** Every known key; `custom.…` keys are free beside it. */
export const settings = {
  'system.realm-id': madeAtFirstStart,
  'system.user-certificate-policy-id': madeAtFirstStart,
  'system.cmp-signer-policy-id': madeAtFirstStart,
  'issue.wait-seconds': integer(30, 1, 300),
  'issue.batch-wait-seconds': integer(120, 1, 600),
  'issue.backdate-seconds': integer(60, 0, 3600),
  'order.max-wait-days': integer(90, 1, 365),
  'purge.wait-seconds': integer(30, 0, 300),
  'mail.enabled': off,
  'mail.starttls': off,
  'mail.tls': off,
  'mail.host': text(),
  'mail.username': text(),
  'mail.from': text(),
  'mail.port': integer(25, 1, 65535),
  'mail.password': { type: 'SECRET', default: null },
  'mail.language': text('en'),
  'notification.expiry-days': { type: 'INTEGER_LIST', default: '30,14,7,1', range: [1, 3650] },
  'verification.token-lifetime-hours': integer(168, 1, 720),
  'verification.base-url': text(),
  'certificate.expiring-soon-days': integer(30, 1, 3650),
  'password.length': integer(16, 12, 64),
  'password.max-failures': integer(10, 3, 100),
  'password.lock-minutes': integer(15, 1, 1440),
  'pki.base-url': text(),
} as const satisfies Record<string, Definition>
export type SettingsKey = keyof typeof settings

/** Reads an INTEGER setting; a missing or unreadable value is the default. */
export const integerSetting = (key: SettingsKey, stored: string | null | undefined): number => {
  const definition: Definition = settings[key]
  const value = Number(stored ?? definition.default)
  const [from, to] = definition.range ?? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  if (!Number.isInteger(value) || value < from || value > to) return Number(definition.default)
  return value
}
