import { expect, test } from '@jest/globals'
import { endEntityFields } from '../../domain/end-entity-rules.ts'
import { Failure, type ApiError } from '../../domain/failure.ts'
import type { KeyFacts } from '../../domain/key-rules.ts'
import type { Pkcs10Names } from '../../domain/pkcs10-rules.ts'
import { checkRequest, generatedKey, refusalsOf, type KeySource, type RequestCase } from '../../domain/request-rules.ts'

const realmId = '5d1f0a4e-0000-4000-8000-000000000001'
const now = new Date('2031-01-31T10:00:00Z')
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)

const base: RequestCase = {
  realm: { archived: false },
  policy: {
    realmId,
    archived: false,
    allowedKeyPairModes: ['SERVER_GEN', 'PKCS10'],
    allowedValidForValues: ['SIX_MONTHS'],
    cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA', 'EC'] },
    endEntityStrategy: 'COMMON_NAME',
    endEntityRules: [],
    wildcardAllowed: false,
    requiresEmailVerification: false,
    enforceActiveCertUniqueness: false,
  },
  endEntity: { realmId, archived: false, ...endEntityFields({ commonName: 'Web-01', domains: ['web.example'] }) },
  request: { validFor: 'SIX_MONTHS', keyPairMode: 'SERVER_GEN', present: ['keyGenParamsDto'] },
  key: generatedKey({ cryptoAlgorithm: 'EC' }, { allowedCryptoAlgorithms: [] }),
  template: { needs: () => [] },
  mail: { enabled: true },
  latestActive: null,
  keyCompromised: false,
  now,
  caNotAfter: null,
}

type Change = { [K in keyof RequestCase]?: Partial<RequestCase[K]> | null }

const requestWith = (change: Change): RequestCase => {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(change)) {
    const old = merged[key]
    const plain = value === null || value instanceof Date || typeof value !== 'object' || old === null
    merged[key] = plain ? value : { ...(old as object), ...value }
  }
  return merged as unknown as RequestCase
}

const refusal = (change: Change): ApiError | null => {
  try {
    checkRequest(requestWith(change))
    return null
  } catch (error) {
    if (error instanceof Failure) return error.code
    throw error
  }
}

const ecKey: KeyFacts = { cryptoAlgorithm: 'EC', keySize: null, namedCurve: 'SECP256R1' }
const noNames: Pkcs10Names = {
  commonNames: [],
  organizations: [],
  organizationalUnits: [],
  countries: [],
  emails: [],
  domains: [],
  ips: [],
}
const throwing = (code: ApiError) => () => {
  throw new Failure(code)
}
const brought = (members: Partial<KeySource> = {}): Change => ({
  request: { keyPairMode: 'PKCS10', present: ['pkcs10ReqBase64'] },
  key: { describe: () => ecKey, checkStrength: () => undefined, names: () => noNames, ...members },
})
const naming = (names: Partial<Pkcs10Names>): Change => brought({ names: () => ({ ...noNames, ...names }) })
const star = endEntityFields({ commonName: 'web', domains: ['*.example'] })
const unique = { enforceActiveCertUniqueness: true, renewalWindowDays: 10 }
const mailed = { policy: { requiresEmailVerification: true } }

const cases: [string, Change, ApiError | null][] = [
  ['all is well', {}, null],
  ['two realms', { endEntity: { realmId: 'other' } }, 'REALM_MISMATCH'],
  ['an archived realm', { realm: { archived: true } }, 'ENTITY_ARCHIVED'],
  ['an archived policy', { policy: { archived: true } }, 'ENTITY_ARCHIVED'],
  ['an archived end entity', { endEntity: { archived: true } }, 'ENTITY_ARCHIVED'],
  ['a mode that is not allowed', { request: { keyPairMode: 'PUBLIC_KEY' } }, 'KEY_PAIR_MODE_NOT_ALLOWED'],
  ['no key source', { request: { present: [] } }, 'VALIDATION_FAILED'],
  ['two key sources', { request: { present: ['keyGenParamsDto', 'pkcs10ReqBase64'] } }, 'VALIDATION_FAILED'],
  ['the wrong key source', { request: { present: ['publicKeyBase64'] } }, 'VALIDATION_FAILED'],
  ["the end entity of a user's RA certificate", { endEntity: { userId: 'u' } }, 'VALIDATION_FAILED'],
  ['the same by an RA operation', { endEntity: { userId: 'u' }, request: { forRaCertificate: true } }, null],
  ['the same at issue', { endEntity: { userId: 'u' }, mail: null }, null],
  ['another period', { request: { validFor: 'ONE_YEAR' } }, 'VALID_FOR_NOT_ALLOWED'],
  ['a CA that ends before', { caNotAfter: inDays(100) }, 'VALID_FOR_NOT_ALLOWED'],
  ['a CA that ends at the same second', { caNotAfter: new Date('2031-07-31T09:59:59Z') }, null],
  ['a CA that ends a second before', { caNotAfter: new Date('2031-07-31T09:59:58Z') }, 'VALID_FOR_NOT_ALLOWED'],
  ['an unreadable request', brought({ describe: throwing('INVALID_PKCS10') }), 'INVALID_PKCS10'],
  ['an unreadable key', brought({ describe: throwing('INVALID_PUBLIC_KEY') }), 'INVALID_PUBLIC_KEY'],
  ['a curve of the past', brought({ describe: () => ({ ...ecKey, namedCurve: 'x' }) }), 'CRYPTO_RESTRICTION_VIOLATION'],
  ['a weak key', brought({ checkStrength: throwing('WEAK_KEY') }), 'WEAK_KEY'],
  ['a compromised key', { keyCompromised: true }, 'WEAK_KEY'],
  ['a missing strategy field', { policy: { endEntityStrategy: 'EMAIL' } }, 'END_ENTITY_RULE_VIOLATION'],
  [
    'a broken rule',
    { policy: { endEntityRules: [{ property: 'DOMAIN', requirement: 'FORBIDDEN' }] } },
    'END_ENTITY_RULE_VIOLATION',
  ],
  ['a wildcard', { endEntity: star }, 'WILDCARD_NOT_ALLOWED'],
  ['a wildcard common name', { endEntity: { commonName: '*.example' } }, 'WILDCARD_NOT_ALLOWED'],
  ['an allowed wildcard', { endEntity: star, policy: { wildcardAllowed: true } }, null],
  ['the same names in other case', naming({ commonNames: ['WEB-01'], domains: ['Web.Example'] }), null],
  ['the common name as a DNS name', naming({ domains: ['web-01'] }), null],
  ['another common name', naming({ commonNames: ['web-02'] }), 'PKCS10_MISMATCH'],
  ['another organization', naming({ organizations: ['x'] }), 'PKCS10_MISMATCH'],
  ['another unit', naming({ organizationalUnits: ['x'] }), 'PKCS10_MISMATCH'],
  ['another country', naming({ countries: ['DE'] }), 'PKCS10_MISMATCH'],
  ['another address', naming({ emails: ['a@example.org'] }), 'PKCS10_MISMATCH'],
  ['another DNS name', naming({ domains: ['web.example', 'evil.example'] }), 'PKCS10_MISMATCH'],
  ['another IP address', naming({ ips: ['192.0.2.1'] }), 'PKCS10_MISMATCH'],
  ['a need of the template', { template: { needs: () => [{ message: 'a DNS name' }] } }, 'END_ENTITY_RULE_VIOLATION'],
  ['no address to verify', mailed, 'EMAIL_MISSING'],
  ['no mail', { ...mailed, endEntity: { email: 'a@example.org' }, mail: { enabled: false } }, 'MAIL_NOT_CONFIGURED'],
  ['an address and mail', { ...mailed, endEntity: { email: 'a@example.org' } }, null],
  ['no mail at issue', { ...mailed, mail: null }, null],
  ['an active certificate', { policy: unique, latestActive: inDays(11) }, 'ACTIVE_CERTIFICATE_EXISTS'],
  ['one that may be renewed', { policy: unique, latestActive: inDays(10) }, null],
  ['a second one where many are allowed', { latestActive: inDays(100) }, null],
  [
    'the window of 30 days by default',
    { policy: { enforceActiveCertUniqueness: true }, latestActive: inDays(31) },
    'ACTIVE_CERTIFICATE_EXISTS',
  ],
]

test.each(cases)('a request with %s', (_, change, code) => expect(refusal(change)).toBe(code))

test('the first refusal is that of the earliest check', () => {
  const everyFault: [Change, ApiError][] = [
    [{ endEntity: { realmId: 'other' } }, 'REALM_MISMATCH'],
    [{ request: { present: [] } }, 'VALIDATION_FAILED'],
    [{ request: { validFor: 'ONE_DAY' } }, 'VALID_FOR_NOT_ALLOWED'],
    [{ key: { describe: () => ({ ...ecKey, cryptoAlgorithm: 'EDDSA' }) } }, 'CRYPTO_RESTRICTION_VIOLATION'],
    [{ keyCompromised: true }, 'WEAK_KEY'],
    [{ policy: { endEntityStrategy: 'IP' } }, 'END_ENTITY_RULE_VIOLATION'],
    [{ endEntity: { domains: ['*.example'] } }, 'WILDCARD_NOT_ALLOWED'],
    [{ key: { names: () => ({ ...noNames, commonNames: ['x'] }) } }, 'PKCS10_MISMATCH'],
  ]
  const expected = everyFault.map(([, code]) => code)
  const merged = everyFault.reduce((all, [change]) => {
    const next: Record<string, unknown> = { ...all }
    for (const [key, value] of Object.entries(change))
      next[key] = typeof value === 'object' ? { ...(next[key] as object), ...value } : value
    return next
  }, {} as Change)
  expect(refusal(merged)).toBe('REALM_MISMATCH')
  expect(refusalsOf(requestWith(merged)).map(({ code }) => code)).toEqual(expected)
})

test('of an unreadable key nothing but that is said', () =>
  expect(refusalsOf(requestWith(brought({ describe: throwing('INVALID_PKCS10') }))).map(({ code }) => code)).toEqual([
    'INVALID_PKCS10',
  ]))
