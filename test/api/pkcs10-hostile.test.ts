// What anybody may send to the public operation (and every caller to its sister) is answered, never an unexpected failure.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { bitString, context, integer, octetString, oid, sequence, setOf, tlv, utf8String } from '../../pki/asn1/der.ts'
import { encodePem } from '../../pki/pem.ts'
import { nameDer } from '../pki/hierarchy.ts'
import { Workbench } from '../pki/openssl.ts'
import { startApi, type Api, type ApiCaller, type Reply } from '../support/api.ts'
import { ecKey, pkcs10, refusalOf, spkiOf } from '../support/issuing.ts'

const bench = new Workbench()
let api: Api
let caller: ApiCaller
let valid: Buffer

beforeAll(async () => {
  api = await startApi()
  caller = await api.user()
  const names = 'DNS:a.example.org,IP:2001:db8::1,email:a@example.org'
  const subject = '/C=DE/O=Example/CN=web-01/emailAddress=b@example.org'
  valid = Buffer.from(await pkcs10(bench, ecKey(), { subject, names }), 'base64')
})
afterAll(async () => {
  await api.stop()
  await bench.clear()
})

const extract = (pkcs10Pem: string): Promise<Reply> =>
  api.anonymous.post('/api/v1/public/extract-end-entity-from-pkcs10', { pkcs10Pem })
const parse = (der: Buffer): Promise<Reply> =>
  caller.post('/api/v1/pkcs10/parse', { pkcs10ReqBase64: der.toString('base64') })
const pemOf = (der: Buffer): string => encodePem('CERTIFICATE REQUEST', der)

/** Both operations give an answer that says what it is about. */
const expectAnswers = async (der: Buffer): Promise<void> => {
  for (const { status, body } of [await extract(pemOf(der)), await parse(der)]) {
    expect([200, 400, 422]).toContain(status)
    if (status !== 200) expect(body.apiError).toMatch(/^(INVALID_|CRYPTO_RESTRICTION)/)
  }
}

const runs = (numRuns: number) => ({ numRuns, interruptAfterTimeLimit: 20_000 })
const octets = fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes))

test('any octets', async () => {
  await fc.assert(fc.asyncProperty(octets, expectAnswers), runs(60))
}, 60_000)

test('any text', async () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\u00a0', '\ufeff') }),
    fc.string().map(s => `-----BEGIN X-----${s}-----END X-----`),
  )
  // Blank is as good as missing (contract 1.1).
  const answered = async (given: string) => expect((await extract(given)).status).toBe(given.trim() === '' ? 400 : 422)
  await fc.assert(fc.asyncProperty(text, answered), runs(60))
}, 60_000)

test('a request with any octet changed, left out or put in', async () => {
  const at = fc.nat({ max: 4000 })
  const change = fc.tuple(at, fc.nat({ max: 255 }), fc.constantFrom(0, 1, 2))
  const changed = fc.array(change, { minLength: 1, maxLength: 3 }).map(changes =>
    changes.reduce((der, [place, octet, kind]) => {
      const start = place % der.length
      const put = kind === 0 ? [] : [octet]
      return Buffer.concat([der.subarray(0, start), Buffer.from(put), der.subarray(start + (kind === 2 ? 0 : 1))])
    }, valid),
  )
  await fc.assert(fc.asyncProperty(changed, expectAnswers), runs(120))
}, 60_000)

/** A request around these members, its signature wrong. */
const around = (subject: Buffer, spki: Buffer, ...attributes: Buffer[]): Buffer =>
  sequence(
    sequence(integer(0), subject, spki, context(0, ...attributes)),
    sequence(oid('1.2.840.10045.4.3.2')),
    bitString(Buffer.alloc(8)),
  )
const ecSpki = () => Buffer.from(spkiOf(ecKey()), 'base64')
const withSans = (names: Buffer) =>
  sequence(oid('1.2.840.113549.1.9.14'), setOf(sequence(sequence(oid('2.5.29.17'), octetString(names)))))
const nested = (depth: number, tag: number): Buffer =>
  Array.from({ length: depth }).reduce<Buffer>(inner => tlv(tag, inner), Buffer.alloc(0))

test.each<[string, () => Buffer]>([
  ['deep sequences', () => nested(10_000, 0x30)],
  ['deep sequences as the subject', () => around(nested(5000, 0x30), ecSpki())],
  ['deep directory names', () => around(sequence(), ecSpki(), withSans(sequence(nested(5000, 0xa4))))],
  [
    'thousands of names',
    () => around(sequence(), ecSpki(), withSans(tlv(0x30, Buffer.alloc(60_000, Buffer.of(0x82, 0))))),
  ],
  [
    'a key of nonsense',
    () => around(sequence(), sequence(sequence(oid('1.2.840.113549.1.1.1')), bitString(Buffer.of(1)))),
  ],
  ['a name that is no text', () => around(sequence(setOf(sequence(oid('2.5.4.3'), integer(5)))), ecSpki())],
  [
    'half a character',
    () => around(sequence(setOf(sequence(oid('2.5.4.3'), tlv(0x1e, Buffer.of(0xd8, 0))))), ecSpki()),
  ],
  [
    'control characters',
    () => around(sequence(setOf(sequence(oid('2.5.4.3'), utf8String('a\u0000b\u001b')))), ecSpki()),
  ],
])('%s', async (_, make) => {
  await expectAnswers(make())
})

test('a request that is far too long is refused without being read', async () => {
  const subject = sequence(...Array.from({ length: 6000 }, () => setOf(sequence(oid('2.5.4.3'), utf8String('x')))))
  const long = around(subject, ecSpki())
  expect(long.length).toBeGreaterThan(65_536)
  expect(refusalOf(await parse(long))).toEqual([422, 'INVALID_PKCS10'])
  expect(refusalOf(await extract(pemOf(long)))).toEqual([422, 'INVALID_PKCS10'])
  const longest = Buffer.alloc(7_000_000, nameDer({ commonName: 'a' }))
  expect(refusalOf(await parse(longest))).toEqual([400, 'INVALID_REQUEST'])
  expect(refusalOf(await extract(pemOf(longest)))).toEqual([400, 'INVALID_REQUEST'])
})

test('a body beyond the limit is refused', async () => {
  expect(refusalOf(await extract('A'.repeat(10 * 1024 * 1024)))).toEqual([400, 'REQUEST_TOO_LARGE'])
})
