// The checks of a certificate request and their order (contract 5.4).
import { expect, test } from '@jest/globals'
import { asItIs, endEntityFields } from '../../domain/end-entity-rules.ts'
import { Failure, type ApiError } from '../../domain/failure.ts'
import type { KeyFacts } from '../../domain/key-rules.ts'
import { namesAtOdds, type Pkcs10Names } from '../../domain/pkcs10-rules.ts'
import { everything, withinTemplate } from '../../domain/policy-rules.ts'
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
  template: { needs: () => [], held: asItIs },
  mail: { enabled: true },
  latestActive: null,
  keyCompromised: false,
  now,
  caNotAfter: null,
  caRevoked: false,
}

type Change = { [K in keyof RequestCase]?: Partial<RequestCase[K]> | null }

/** Whether a value of a change stands for single members, not for the whole. */
const isMembers = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof Date)

const requestWith = (change: Change): RequestCase => {
  const all: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(change))
    all[key] = isMembers(value) && isMembers(all[key]) ? { ...all[key], ...value } : value
  return all as unknown as RequestCase
}

const merged = (...changes: readonly Change[]): Change => {
  const all: Record<string, unknown> = {}
  for (const [key, value] of changes.flatMap(change => Object.entries(change)))
    all[key] = isMembers(value) ? { ...(all[key] as object), ...value } : value
  return all
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
  unread: [],
}
const throwing = (code: ApiError) => () => {
  throw new Failure(code)
}
const brought = (members: Partial<KeySource> = {}): Change => ({
  request: { keyPairMode: 'PKCS10', present: ['pkcs10ReqBase64'] },
  key: {
    describe: () => ecKey,
    checkProof: () => undefined,
    checkStrength: () => undefined,
    names: () => noNames,
    ...members,
  },
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
  [
    'a period that the template has come to forbid',
    { capabilities: withinTemplate(everything, { rsaOnly: false, maxValidFor: 'THREE_MONTHS' }) },
    'VALID_FOR_NOT_ALLOWED',
  ],
  [
    'a key that the template has come to forbid',
    { capabilities: withinTemplate(everything, { rsaOnly: true, maxValidFor: null }) },
    'CRYPTO_RESTRICTION_VIOLATION',
  ],
  ['a CA that ends before', { caNotAfter: inDays(100) }, 'VALID_FOR_NOT_ALLOWED'],
  ['a CA that is revoked', { caRevoked: true }, 'VALID_FOR_NOT_ALLOWED'],
  ['a CA that ends at the same second', { caNotAfter: new Date('2031-07-31T09:59:59Z') }, null],
  ['a CA that ends a second before', { caNotAfter: new Date('2031-07-31T09:59:58Z') }, 'VALID_FOR_NOT_ALLOWED'],
  ['a request signed by another', brought({ checkProof: throwing('INVALID_PKCS10') }), 'INVALID_PKCS10'],
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
  [
    'a common name that is no host name as a DNS name',
    merged(naming({ domains: ['jane doe'] }), { endEntity: { commonName: 'Jane Doe' } }),
    'PKCS10_MISMATCH',
  ],
  ['another common name', naming({ commonNames: ['web-02'] }), 'PKCS10_MISMATCH'],
  ['another organization', naming({ organizations: ['x'] }), 'PKCS10_MISMATCH'],
  ['another unit', naming({ organizationalUnits: ['x'] }), 'PKCS10_MISMATCH'],
  ['another country', naming({ countries: ['DE'] }), 'PKCS10_MISMATCH'],
  ['another address', naming({ emails: ['a@example.org'] }), 'PKCS10_MISMATCH'],
  ['another DNS name', naming({ domains: ['web.example', 'evil.example'] }), 'PKCS10_MISMATCH'],
  ['another IP address', naming({ ips: ['192.0.2.1'] }), 'PKCS10_MISMATCH'],
  [
    'a need of the template',
    { template: { needs: () => [{ message: 'a DNS name' }], held: asItIs } },
    'END_ENTITY_RULE_VIOLATION',
  ],
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

const caught = (change: Change): Failure => {
  try {
    checkRequest(requestWith(change))
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('Nothing was refused.')
}

const edwards = { allowedCryptoAlgorithms: ['EDDSA' as const] }
const need = [{ message: 'The template needs a DNS name' }]

/** A fault for each check of contract 5.4, in the order of the contract; none of them mends another. */
const faults: readonly [string, Change, ApiError][] = [
  ['1 realm', { endEntity: { realmId: 'other' } }, 'REALM_MISMATCH'],
  ['1 archived', { policy: { archived: true } }, 'ENTITY_ARCHIVED'],
  ['2 mode', { policy: { allowedKeyPairModes: ['SERVER_GEN'] } }, 'KEY_PAIR_MODE_NOT_ALLOWED'],
  ['2 key source', { request: { present: [] } }, 'VALIDATION_FAILED'],
  ['3 period', { request: { validFor: 'ONE_DAY' } }, 'VALID_FOR_NOT_ALLOWED'],
  ['4 signature', { key: { checkProof: throwing('INVALID_PKCS10') } }, 'INVALID_PKCS10'],
  ['5 kind of key', { policy: { cryptoRestrictions: edwards } }, 'CRYPTO_RESTRICTION_VIOLATION'],
  ['6 strength', { keyCompromised: true }, 'WEAK_KEY'],
  ['7 rules', { policy: { endEntityStrategy: 'EXTERNAL_ID' } }, 'END_ENTITY_RULE_VIOLATION'],
  ['8 wildcard', { endEntity: { domains: ['*.example'] } }, 'WILDCARD_NOT_ALLOWED'],
  ['9 names', { key: { names: () => ({ ...noNames, commonNames: ['x'] }) } }, 'PKCS10_MISMATCH'],
  ['10 template', { template: { needs: () => need, held: asItIs } }, 'END_ENTITY_RULE_VIOLATION'],
  ['11 address', { ...mailed, endEntity: { email: null } }, 'EMAIL_MISSING'],
  ['11 mail', { ...mailed, endEntity: { email: 'a@example.org' }, mail: { enabled: false } }, 'MAIL_NOT_CONFIGURED'],
  ['12 uniqueness', { policy: unique, latestActive: inDays(11) }, 'ACTIVE_CERTIFICATE_EXISTS'],
]

test.each(faults)('check %s refuses alone', (_, fault, code) =>
  expect(refusalsOf(requestWith(merged(brought(), fault))).map(failure => failure.code)).toEqual([code]),
)

const pairs = faults.flatMap(([name, fault], index) =>
  faults.slice(index + 1).map(([later, laterFault]) => [name, later, fault, laterFault] as const),
)

// Two checks have one code: the message tells them apart.
test.each(pairs)('check %s comes before check %s', (...[, , fault, laterFault]) => {
  const { code, message } = caught(merged(brought(), fault))
  expect(caught(merged(brought(), laterFault)).message).not.toBe(message)
  expect(caught(merged(brought(), laterFault, fault))).toMatchObject({ code, message })
})

test('every check tells its first refusal, in the order of the checks', () => {
  const all = requestWith(merged(brought(), ...faults.toReversed().map(([, fault]) => fault)))
  const number = ([name]: (typeof faults)[number]) => Number.parseInt(name, 10)
  const first = [...Map.groupBy(faults, number).values()].map(([fault]) => fault?.[2])
  expect(refusalsOf(all).map(({ code }) => code)).toEqual(first)
})

test('of an unreadable key nothing but that is said, and the rest is judged', () => {
  const unreadable = throwing('INVALID_PKCS10')
  const names = () => ({ ...noNames, commonNames: ['x'] })
  const key = { describe: unreadable, checkProof: unreadable, checkStrength: unreadable, names }
  const fault = merged(brought(key), { endEntity: { domains: ['*.example'] } })
  expect(refusalsOf(requestWith(fault)).map(({ code }) => code)).toEqual(['INVALID_PKCS10', 'WILDCARD_NOT_ALLOWED'])
})

test('of a readable key whose signature is wrong everything else is judged as well', () => {
  const fault = merged(naming({ commonNames: ['x'] }), { key: { checkProof: throwing('INVALID_PKCS10') } })
  expect(refusalsOf(requestWith(fault)).map(({ code }) => code)).toEqual(['INVALID_PKCS10', 'PKCS10_MISMATCH'])
})

test('where nobody asks for a period none is refused, not even by a CA that has ended', () =>
  expect(refusal({ request: { validFor: null }, caNotAfter: inDays(-1) })).toBeNull())

const endEntity = endEntityFields({ commonName: 'Jane Doe', domains: ['a.example', 'b.example'] })

test('a name at odds tells what was expected instead', () => {
  const names = { ...noNames, commonNames: ['jane doe', 'Joe'], emails: ['j@example.org'], domains: ['c.example'] }
  expect(namesAtOdds(names, endEntity)).toEqual([
    { property: 'COMMON_NAME', expected: 'Jane Doe', actual: 'Joe', message: expect.stringContaining('Joe') },
    { property: 'EMAIL', expected: null, actual: 'j@example.org', message: expect.any(String) },
    { property: 'DOMAIN', expected: 'a.example, b.example', actual: 'c.example', message: expect.any(String) },
  ])
})

test('the field errors of a mismatch name the properties', () =>
  expect(caught(naming({ ips: ['192.0.2.1'] })).fieldErrors).toEqual([{ field: 'IP', message: expect.any(String) }]))
