// Fields and rules of end entities (contract 5.2, 5.5).
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { canonicalDomain, canonicalEmail, canonicalHostName, canonicalIp } from '../../domain/address.ts'
import {
  comparable,
  endEntityFields,
  ruleViolations,
  strategyKey,
  strategyViolation,
  type SubjectData,
} from '../../domain/end-entity-rules.ts'
import { EndEntityStrategy, valuesOf } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import type { EndEntityRule } from '../../domain/policy-rules.ts'

const failureOf = (run: () => unknown): Failure => {
  try {
    run()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('Nothing was refused.')
}

const fieldsAtFault = (subject: SubjectData) => {
  const failure = failureOf(() => endEntityFields(subject))
  expect(failure.code).toBe('VALIDATION_FAILED')
  return failure.fieldErrors.map(({ field }) => field)
}

test.each([
  ['web-01', 'web-01'],
  ['WEB.Example.ORG', 'web.example.org'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['straße.example', 'xn--strae-oqa.example'],
  ['a'.repeat(63) + '.org', 'a'.repeat(63) + '.org'],
])('%s is the host name %s', (text, name) => expect(canonicalHostName(text)).toBe(name))

test.each([
  '',
  '.',
  'a..b',
  'a.example.',
  '-a.example',
  'a-.example',
  'a_b.example',
  'a b.example',
  'a.example:443',
  'http://a.example',
  '192.0.2.1',
  '1.2',
  'a.*.example',
  'a%2eexample',
  'x'.repeat(64) + '.org',
  `${'abcdefg.'.repeat(32)}org`,
])('%j is no host name', text => expect(canonicalHostName(text)).toBeNull())

test.each([
  ['*.Example.org', '*.example.org'],
  ['example.org', 'example.org'],
  ['*.bücher.example', '*.xn--bcher-kva.example'],
  ['*.XN--Bcher-kva.example', '*.xn--bcher-kva.example'],
  ['xn--strae-oqa.bücher.example', 'xn--strae-oqa.xn--bcher-kva.example'],
])('%s is the domain %s', (text, name) => expect(canonicalDomain(text)).toBe(name))

const meaningless = [
  'xn--a.test',
  'a.XN--99zzzz9999.test',
  '*.xn--99zzzz9999.test',
  'xn--bcher-kva.xn--a.test',
  'xn--.test',
]

test.each(['*', '*.', '*.*.example', 'a.*.example', 'f*.example', '*example.org', ...meaningless])(
  '%j is no domain',
  text => expect(canonicalDomain(text)).toBeNull(),
)

test.each([
  ['192.0.2.10', '192.0.2.10'],
  ['2001:DB8:0:0:0:0:0:10', '2001:db8::10'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['::', '::'],
  ['::ffff:192.0.2.1', '::ffff:c000:201'],
])('%s is the address %s', (text, address) => expect(canonicalIp(text)).toBe(address))

test.each([
  '192.0.2',
  '192.0.2.256',
  '192.0.2.010',
  '0x7f.0.0.1',
  'fe80::1%eth0',
  '[::1]',
  '1::2::3',
  ':::',
  'a',
  '1:2',
])('%j is no address', text => expect(canonicalIp(text)).toBeNull())

test.each([
  ['Jane.Doe@EXAMPLE.org', 'Jane.Doe@example.org'],
  ['a+b@x.example', 'a+b@x.example'],
  ['"a b"@example.org', '"a b"@example.org'],
  ['a@[192.0.2.1]', 'a@[192.0.2.1]'],
  ['a@[IPv6:2001:DB8::1]', 'a@[IPv6:2001:db8::1]'],
])('%s is the mailbox %s', (text, email) => expect(canonicalEmail(text)).toBe(email))

test.each([
  'a',
  '@example.org',
  'a@',
  'a@b@example.org',
  '.a@example.org',
  'a..b@example.org',
  'a b@example.org',
  'a@exa mple.org',
  'ä@example.org',
  'a@bücher.example',
  `${'a'.repeat(65)}@example.org`,
  `a@${'abcdefg.'.repeat(31)}examples`,
  '"a\nb"@example.org',
])('%j is no mailbox', text => expect(canonicalEmail(text)).toBeNull())

test('a canonical form is its own canonical form', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.emailAddress(), fc.string()), text => {
      for (const canonical of [canonicalDomain, canonicalIp, canonicalEmail]) {
        const form = canonical(text)
        if (form !== null) expect(canonical(form)).toBe(form)
      }
    }),
  )
})

test('the fields of an end entity are stored in canonical form', () => {
  expect(
    endEntityFields({
      commonName: '  web-01 ',
      organization: '',
      country: 'de',
      email: 'Ops@Example.ORG',
      domains: ['WEB.example.org', 'web.example.org'],
      ips: ['2001:DB8::0010'],
      genericDtoList: [{ key: ' room ', value: 'B 12' }],
    }),
  ).toEqual({
    commonName: 'web-01',
    organization: null,
    organizationalUnit: null,
    country: 'DE',
    externalId: null,
    email: 'Ops@example.org',
    domains: ['web.example.org'],
    ips: ['2001:db8::10'],
    genericDtoList: [{ key: 'room', value: 'B 12' }],
  })
})

const many = (count: number) => Array.from({ length: count }, (_, index) => `h${index}.example`)

test.each<[string, SubjectData, string[]]>([
  ['nothing at all', {}, ['commonName']],
  ['only what does not name it', { organization: 'Example', country: 'DE' }, ['commonName']],
  ['a common name of 65 characters', { commonName: 'x'.repeat(65) }, ['commonName']],
  ['an organization of 65 characters', { commonName: 'a', organization: 'x'.repeat(65) }, ['organization']],
  ['a unit of 65 characters', { commonName: 'a', organizationalUnit: 'x'.repeat(65) }, ['organizationalUnit']],
  ['a control character', { commonName: 'a\u0007b' }, ['commonName']],
  [
    'half a surrogate pair',
    { commonName: 'a\uD800', externalId: '\uDC00', genericDtoList: [{ key: '\uD800', value: '\uDC00' }] },
    ['commonName', 'externalId', 'genericDtoList[0].key', 'genericDtoList[0].value'],
  ],
  ['an unknown country', { commonName: 'a', country: 'XX' }, ['country']],
  ['a letter that becomes two', { commonName: 'a', country: 'ß' }, ['country']],
  ['a letter that becomes another', { commonName: 'a', country: '\u017fi' }, ['country']],
  ['a country of three letters', { commonName: 'a', country: 'DEU' }, ['country']],
  ['a bad address', { email: 'nobody' }, ['email']],
  ['bad names', { domains: ['ok.example', 'no_good'], ips: ['300.1.1.1'] }, ['domains[1]', 'ips[0]']],
  ['101 names', { domains: many(101) }, ['domains']],
  ['51 pairs', { commonName: 'a', genericDtoList: many(51).map(key => ({ key, value: '1' })) }, ['genericDtoList']],
  [
    'a key twice',
    {
      commonName: 'a',
      genericDtoList: [
        { key: 'k', value: '1' },
        { key: 'k', value: '2' },
      ],
    },
    ['genericDtoList'],
  ],
  [
    'too long a pair',
    { commonName: 'a', genericDtoList: [{ key: 'k'.repeat(65), value: 'v'.repeat(1025) }] },
    ['genericDtoList[0].key', 'genericDtoList[0].value'],
  ],
])('an end entity with %s is refused', (_, subject, fields) => expect(fieldsAtFault(subject)).toEqual(fields))

test('the greatest end entity is accepted', () => {
  const subject = {
    commonName: '😀'.repeat(64),
    domains: many(100),
    genericDtoList: many(50).map(key => ({ key, value: 'v'.repeat(1024) })),
  }
  expect(endEntityFields(subject).domains).toHaveLength(100)
})

const whole = { id: 'the-id', subjectDn: 'CN=a,O=b', commonName: 'a', email: 'e@x.example', externalId: 'x' }
const identity = { ...whole, domains: ['d.example', 'e.example'], ips: ['192.0.2.1'] }

test.each<[EndEntityStrategy, string]>([
  ['COMMON_NAME', 'a'],
  ['SUBJECT_DN', 'CN=a,O=b'],
  ['EMAIL', 'e@x.example'],
  ['DOMAIN', 'd.example'],
  ['IP', '192.0.2.1'],
  ['EXTERNAL_ID', 'x'],
  ['UUID', 'the-id'],
])('strategy %s knows an end entity as %s', (strategy, key) => expect(strategyKey(strategy, identity)).toBe(key))

test.each(valuesOf(EndEntityStrategy))('strategy %s has no key exactly when its field is missing', strategy => {
  const key = strategyKey(strategy, { subjectDn: '', id: 'i' })
  const missing = strategyViolation(strategy, {})
  expect(key === null).toBe(missing !== null)
  expect(strategyViolation(strategy, identity)).toBeNull()
})

test('keys are compared without case and with white space collapsed', () =>
  expect(comparable('  Web   Server\t01 ')).toBe('web server 01'))

const rule = (members: Partial<EndEntityRule>): EndEntityRule => ({
  property: 'DOMAIN',
  requirement: 'OPTIONAL',
  ...members,
})

test.each<[string, Partial<EndEntityRule>, string[]]>([
  ['an optional property', {}, []],
  ['a required one that is there', { requirement: 'REQUIRED' }, []],
  ['a required one that is missing', { property: 'ORGANIZATION', requirement: 'REQUIRED' }, ['ORGANIZATION']],
  ['a forbidden one that is there', { requirement: 'FORBIDDEN' }, ['DOMAIN']],
  ['a forbidden one that is missing', { property: 'COUNTRY', requirement: 'FORBIDDEN' }, []],
  ['a pattern that all match', { pattern: '[a-z]\\.example' }, []],
  ['a pattern that one misses', { pattern: 'd\\.example' }, ['DOMAIN']],
  ['a pattern that matches a part only', { pattern: 'example' }, ['DOMAIN', 'DOMAIN']],
  ['a pattern on nothing', { property: 'COUNTRY', pattern: 'DE' }, []],
  ['too many', { maxCount: 1 }, ['DOMAIN']],
  ['as many as allowed', { maxCount: 2 }, []],
  ['a pair that is missing', { property: 'GENERIC', genericKey: 'room', requirement: 'REQUIRED' }, ['GENERIC']],
])('rule with %s', (_, members, properties) =>
  expect(ruleViolations([rule(members)], identity).map(({ property }) => property)).toEqual(properties),
)

// An engine that goes back and tries again would need longer than the universe has for each of these.
test.each([
  '(a*)*(a*)*(a*)*b',
  '(a+)+',
  '(a|aa)+',
  '(a|a?)+',
  '([a-zA-Z]+)*',
  '(.*a){20}',
  '(a+)+b',
  '(x+x+)+y',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(\\w+\\s?)*$',
  '(((a*)*)*)*b',
])('the pattern %s comes to an end', pattern => {
  const subject = { genericDtoList: [{ key: 'room', value: `${'a'.repeat(1023)}!` }] }
  const violations = ruleViolations([rule({ property: 'GENERIC', genericKey: 'room', pattern })], subject)
  expect(violations).toHaveLength(1)
})
