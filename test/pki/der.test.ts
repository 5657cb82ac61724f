// Writing and reading strict DER.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { context, generalizedTime, integer, namedBits, oid, sequence, setOf, time, tlv } from '../../pki/asn1/der.ts'
import {
  DerError,
  readDer,
  readInteger,
  readLooseInteger,
  readNamedBits,
  readOid,
  readTime,
} from '../../pki/asn1/der-reader.ts'

const hex = (bytes: Buffer) => bytes.toString('hex')
const bytes = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

test.each<[string, Buffer, string]>([
  ['zero', integer(0), '020100'],
  ['127', integer(127), '02017f'],
  ['a high bit gets a zero octet', integer(128), '02020080'],
  ['leading zeros fall away', integer('0000ff01'), '020300ff01'],
  ['an odd count of digits', integer('abc'), '02020abc'],
  ['sha256WithRSAEncryption', oid('1.2.840.113549.1.1.11'), '06092a864886f70d01010b'],
  [
    'an arc above 2^32',
    oid('2.25.329800735698586629295641978511506172918'),
    '0614 6983f09da7eb cfdee0c7a1a7b2c0948cc8f9d776',
  ],
  ['key usage bits', namedBits([0, 2]), '030205a0'],
  ['the ninth key usage bit', namedBits([4, 8]), '0303070880'],
  ['a set is sorted', setOf(integer(2), integer(1)), '3106020101020102'],
  ['an explicit tag', context(0, integer(2)), 'a003020102'],
  ['UTCTime until 2049', time(new Date('2049-12-31T23:59:59.900Z')), hex(tlv(0x17, Buffer.from('491231235959Z')))],
  ['GeneralizedTime from 2050', time(new Date('2050-01-01T00:00:00Z')), hex(tlv(0x18, Buffer.from('20500101000000Z')))],
])('DER of %s', (_, encoded, expected) => {
  expect(hex(encoded)).toBe(expected.replaceAll(' ', ''))
})

test.each([
  ['an empty input', ''],
  ['a missing length', '30'],
  ['an indefinite length', '3080 0000'],
  ['a long form for a short length', '308100'],
  ['a length with a leading zero octet', `30820001 05`],
  ['a value that is cut off', '3003 0201'],
  ['octets after the value', '3000 00'],
  ['a high tag number', '1f8101 00'],
  ['a member longer than its sequence', '3003 020201 00'],
])('%s is not read', (_, input) => {
  expect(() => readDer(bytes(input)).children).toThrow(DerError)
})

test.each([
  ['an empty integer', '0200'],
  ['a padded integer', '0202 0001'],
  ['a padded negative integer', '0202 ff80'],
])('%s is refused', (_, input) => {
  expect(() => readInteger(readDer(bytes(input)))).toThrow(DerError)
})

test.each([
  ['without octets', '0600'],
  ['that is padded', '0603 2a8001'],
  ['that is cut off', '0602 2a86'],
])('an object identifier %s is refused', (_, input) => {
  expect(() => readOid(readDer(bytes(input)))).toThrow(DerError)
})

test.each([
  ['of the 30th of February', 0x17, '310230000000Z'],
  ['with a fraction', 0x18, '20500101000000.5Z'],
  ['with a zone', 0x17, '310101000000+0100'],
  ['without seconds', 0x17, '3101010000Z'],
])('a time %s is refused', (_, tag, text) => {
  expect(() => readTime(readDer(tlv(tag, Buffer.from(text))))).toThrow(DerError)
})

test('object identifiers survive a round trip', () => {
  const arc = fc.oneof(fc.nat(), fc.bigInt(0n, 2n ** 128n))
  const dotted = fc
    .tuple(fc.nat(2), fc.nat(39), fc.array(arc, { minLength: 1, maxLength: 6 }))
    .map(([first, second, rest]) => [first, second, ...rest].join('.'))
  fc.assert(fc.property(dotted, text => expect(readOid(readDer(oid(text)))).toBe(text)))
})

test('named bits survive a round trip', () => {
  const bits = fc.uniqueArray(fc.nat(20)).map(list => list.toSorted((one, other) => one - other))
  fc.assert(fc.property(bits, list => expect(readNamedBits(readDer(namedBits(list)))).toEqual(list)))
})

test('lengths survive a round trip', () => {
  for (const length of [0, 127, 128, 255, 256, 65_535, 65_536]) {
    const value = readDer(sequence(tlv(0x04, Buffer.alloc(length, 7))), undefined, 70_000)
    expect(value.children[0]?.content.equals(Buffer.alloc(length, 7))).toBe(true)
  }
})

test('whatever the octets are, reading ends with a value or a DerError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), octets => {
      try {
        readDer(Buffer.from(octets))
      } catch (error) {
        expect(error).toBeInstanceOf(DerError)
      }
    }),
  )
})

test('a value has as many members as 65,536 octets can hold, and no more in a longer message', () => {
  const withMembers = (count: number) => sequence(Buffer.alloc(count * 2, bytes('0500')))
  expect(readDer(withMembers(32_768), 0x30, 100_000).children).toHaveLength(32_768)
  expect(() => readDer(withMembers(32_769), 0x30, 100_000).children).toThrow(DerError)
})

test.each([
  ['0201 7f', '7f'],
  ['0204 00000081', '0081'],
  ['0202 0000', '00'],
  ['0202 ff80', 'ff80'],
])('the integer %s of another writer is %s', (encoded, expected) => {
  expect(hex(readLooseInteger(readDer(bytes(encoded))))).toBe(expected)
})

test('a time that is none is not written', () => {
  expect(() => time(new Date(Number.NaN))).toThrow(RangeError)
  expect(() => generalizedTime(new Date(Number.NaN))).toThrow(RangeError)
  expect(() => time(new Date('+010000-01-01T00:00:00Z'))).toThrow(RangeError)
  expect(time(new Date('9999-12-31T23:59:59Z')).toString('latin1')).toContain('99991231235959Z')
})
