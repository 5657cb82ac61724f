// Reading and writing PEM and Base64.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { decodePem, encodePem, encodePemChain, findBase64, findObject } from '../../pki/pem.ts'

const octets = fc.uint8Array({ minLength: 1, maxLength: 300 }).map(bytes => Buffer.from(bytes))

test('PEM has 64 columns, LF and a final newline', () => {
  const lines = encodePem('CERTIFICATE', Buffer.alloc(100, 1)).split('\n')
  expect(lines.map(line => line.length)).toEqual([27, 64, 64, 8, 25, 0])
})

test('every chain of blocks survives its PEM, also with CRLF, indentation and text around it', () => {
  fc.assert(
    fc.property(fc.array(octets, { minLength: 1, maxLength: 4 }), ders => {
      const pem = encodePemChain('CERTIFICATE', ders)
      const blocks = ders.map(der => ({ label: 'CERTIFICATE', der }))
      expect(decodePem(pem)).toEqual(blocks)
      expect(decodePem(`subject=CN=a: b\n${pem.replaceAll('\n', '\r\n  ')}\ntrailer`)).toEqual(blocks)
    }),
  )
})

test('base64 is read with white space, in armour and bare', () => {
  const der = Buffer.from('a certificate request')
  const base64 = der.toString('base64')
  for (const text of [base64, ` ${base64.replace(/(.{5})/g, '$1\r\n\t')} `, encodePem('CERTIFICATE REQUEST', der)])
    expect([decodePem(text)[0]?.der, findObject('CERTIFICATE REQUEST', text)]).toEqual([der, der])
})

test('the reader of base64 knows no text around it and finds nothing in empty text', () => {
  const pem = encodePem('CERTIFICATE', Buffer.of(1, 2, 3))
  expect(findBase64(pem)).toBeNull()
  for (const text of ['', ' \r\n\t']) expect(findBase64(text)).toEqual(Buffer.alloc(0))
})

test.each(['', '   ', 'abc', 'a===', 'ab=c', 'ab-_', 'zażółć', '-----BEGIN X-----\nAAAA'])(
  '%j holds no octets',
  text => {
    expect(decodePem(text).filter(({ der }) => der.length > 0)).toEqual([])
  },
)

test.each(['abc', 'a===', 'ab=c', 'ab-_', 'zażółć'])('%j is no base64', text => {
  expect(findBase64(text)).toBeNull()
})

test('a broken block stays a block, so that the others keep their numbers', () => {
  const good = encodePem('CERTIFICATE', Buffer.of(1, 2, 3))
  const blocks = decodePem(`${good}-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n${good}`)
  expect(blocks.map(({ der }) => der.length)).toEqual([3, 0, 3])
})

test('headers of RFC 1421 are passed over', () => {
  const pem = '-----BEGIN X-----\nProc-Type: 4,CLEAR\nName: x\n\nAQID\n-----END X-----\n'
  expect(decodePem(pem)).toEqual([{ label: 'X', der: Buffer.of(1, 2, 3) }])
})

const octetsIn = (text: string) => findObject('CERTIFICATE REQUEST', text)?.toString()
const armoured = (label: string) => `-----BEGIN ${label}-----\nYQ==\n-----END ${label}-----\n`

test('one object is found behind text and other objects, by every label that it has', () => {
  const before = `PKCS#10 Request:\n  Subject: CN=a: b\n${armoured('EC PRIVATE KEY')}`
  for (const label of ['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'])
    expect(octetsIn(`${before}${armoured(label)}\nthe end`)).toBe('a')
})

test.each([
  ['of another object', armoured('CERTIFICATE')],
  ['whose label only ends alike', armoured('OLD CERTIFICATE REQUEST')],
  ['without an END line', '-----BEGIN CERTIFICATE REQUEST-----\nYQ=='],
  ['with the END line of another', '-----BEGIN CERTIFICATE REQUEST-----\nYQ==\n-----END CERTIFICATE-----'],
  ['cut off by the next', `-----BEGIN CERTIFICATE REQUEST-----\nYQ==\n${armoured('CERTIFICATE REQUEST')}`],
  ['with nothing in it', '-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----'],
])('no object is found in PEM %s', (_, text) => {
  expect(findObject('CERTIFICATE REQUEST', text)).toBeNull()
})

test('base64 is whole groups of four, whatever white space stands between, as the text without it is', () => {
  const characters = fc.constantFrom(...Array.from('ABz09+/ '), '\n', '\r', '\t', '\v', '\f', '=', '-', '\u1680')
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 16 }), fc.constantFrom('', '=', '==', '= =\n'), (some, end) => {
      const text = `${some.join('')}${end}`
      const compact = text.trim().replace(/[ \t-\r]/g, '')
      const whole = compact.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(compact)
      expect(findBase64(text)).toEqual(whole ? Buffer.from(compact, 'base64') : null)
    }),
    { numRuns: 5000 },
  )
})
