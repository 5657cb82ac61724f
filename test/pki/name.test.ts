// Distinguished names: their encoding and their RFC 4514 text.
import { afterAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import {
  attributeTypes,
  type AttributeName,
  commonNameOf,
  encodeName,
  type Name,
  parseName,
  subjectName,
  textAttribute,
} from '../../pki/names/name.ts'
import { encodeGeneralNames, readGeneralNames } from '../../pki/names/general-name.ts'
import { formatName, parseNameText } from '../../pki/names/name-text.ts'
import { createPkcs10, parsePkcs10 } from '../../pki/pkcs10.ts'
import { failureCode } from './failing.ts'
import { openssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

test('the subject is encoded C, O, OU, CN and printed the other way round', () => {
  const name = subjectName({ commonName: 'Ann', organizationalUnit: 'Lab', organization: 'Acme', country: 'DE' })
  expect(name.map(([attribute]) => attribute?.text)).toEqual(['DE', 'Acme', 'Lab', 'Ann'])
  expect(formatName(name)).toBe('CN=Ann,OU=Lab,O=Acme,C=DE')
})

test('absent and empty subject data leave no attribute', () => {
  expect(formatName(subjectName({ commonName: 'Ann', organization: null, country: '' }))).toBe('CN=Ann')
  expect(encodeName(subjectName({})).toString('hex')).toBe('3000')
})

test('the country is a PrintableString and the rest is UTF-8', () => {
  const tagsOf = subjectName({ country: 'DE', organization: 'A', commonName: 'B' }).flat()
  expect(tagsOf.map(({ der }) => der[0])).toEqual([0x13, 0x0c, 0x0c])
})

test('the most specific common name counts', () => {
  expect(commonNameOf(parseNameText('CN=leaf,OU=x,CN=container'))).toBe('leaf')
  expect(commonNameOf(parseNameText('O=x'))).toBeNull()
})

// RFC 4514 section 4.
test.each([
  ['UID=jsmith,DC=example,DC=net', 'UID=jsmith,DC=example,DC=net'],
  ['OU=Sales+CN=J.  Smith,DC=example,DC=net', 'OU=Sales+CN=J.  Smith,DC=example,DC=net'],
  ['CN=James \\"Jim\\" Smith\\, III,DC=example', 'CN=James \\"Jim\\" Smith\\, III,DC=example'],
  ['CN=Before\\0dAfter,DC=example', 'CN=Before\\0DAfter,DC=example'],
  ['1.3.6.1.4.1.1466.0=#04024869', '1.3.6.1.4.1.1466.0=#04024869'],
  ['CN=Lu\\C4\\8Di\\C4\\87', 'CN=Lučić'],
  [' cn = Ann , o = Acme ', 'CN=Ann,O=Acme'],
  ['2.5.4.3=Ann', 'CN=Ann'],
  ['', ''],
])('%j is read and printed as %j', (text, printed) => {
  expect(formatName(parseNameText(text))).toBe(printed)
})

test.each([
  'Ann',
  'CN=',
  'XX=Ann',
  'CN=a;b',
  'CN="Ann"',
  'CN=a\\',
  'CN=a\\zb',
  'CN=\\ff',
  'CN=#12',
  'CN=#0402486',
  'CN=a,',
  '1.2.3=text',
  `CN=${'x'.repeat(65)}`,
  'C=DEU',
  'C=ÄÖ',
])('%j is no distinguished name', text => {
  expect(failureCode(() => parseNameText(text))).toBe('VALIDATION_FAILED')
})

const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom(...Array.from('ab "#+,;<=>\\\u0000\n/é€😀')), minLength: 1, maxLength: 20 }),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 10 })
    .filter(text => Array.from(text).length <= 64 && text.isWellFormed()),
)
const asciiTexts = fc.string({ minLength: 1, maxLength: 2 })
const attributes = fc
  .constantFrom(...(Object.keys(attributeTypes) as AttributeName[]))
  .chain(type =>
    (attributeTypes[type].encode('é')[0] === 0x0c ? texts : asciiTexts).map(text => textAttribute(type, text)),
  )
const names: fc.Arbitrary<Name> = fc.array(fc.array(attributes, { minLength: 1, maxLength: 1 }), { maxLength: 5 })

test('every name survives its text', () => {
  fc.assert(fc.property(names, name => expect(parseNameText(formatName(name))).toEqual(name)))
})

test('every name survives its DER', () => {
  fc.assert(fc.property(names, name => expect(parseName(encodeName(name))).toEqual(name)))
})

test.each(['192.0.2', '192.0.2.010', '0x7f.0.0.1', '2130706433', 'fe80::1%eth0', '::1/64', '[::1]', '1::2::3', ''])(
  'the odd address %j never enters a certificate',
  value => {
    expect(() => encodeGeneralNames([{ type: 'IP', value }])).toThrow(TypeError)
  },
)

test.each([
  ['192.0.2.10', '192.0.2.10'],
  ['2001:DB8:0:0:0:0:0:10', '2001:db8::10'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:0:0:1:0:0:1:1', '2001::1:0:0:1:1'],
  ['::ffff:192.0.2.1', '::ffff:c000:201'],
])('the address %s is read back from its octets as %s', (value, canonical) => {
  const der = encodeGeneralNames([{ type: 'IP', value }])
  expect(readGeneralNames(der)).toEqual([{ type: 'IP', value: canonical }])
})

test('openssl prints the same text for awkward names', async () => {
  const keys = await generateKeyPair({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED25519' })
  const subject = {
    commonName: '#1 "A+B", <C>; \\ ',
    organizationalUnit: ' Łódź',
    organization: 'Ac=me',
    country: 'PL',
  }
  const der = await createPkcs10({ subject, sans: [], keys })
  const nameopt = ['-nameopt', 'RFC2253,-esc_msb,utf8']
  const { text } = await openssl(
    'req',
    '-inform',
    'DER',
    '-in',
    await bench.file(der),
    '-noout',
    '-subject',
    ...nameopt,
  )
  expect(`subject=${parsePkcs10(der).subjectDn}\n`).toBe(text)
})
