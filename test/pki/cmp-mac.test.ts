// MACs by passwords: against openssl, by every digest, and a million rounds that keep nobody waiting.
import { execFileSync } from 'node:child_process'
import { createHmac, hash } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { CmpError } from '../../pki/cmp/cmp-error.ts'
import { computeMac, isSlow, macOf } from '../../pki/cmp/mac.ts'
import { findDigest, findHmac, readMacParameters } from '../../pki/cmp/mac-parameters.ts'
import { parseProtectedPart } from '../../pki/cmp/protected-part.ts'
import { integer, octetString, oid, sequence, tlv } from '../../pki/asn1/der.ts'
import { macNames, pbm, pbmac1, protectedPart, type MacChoice } from '../support/cmp-messages.ts'
import { stretches } from '../support/stretches.ts'

const parametersIn = (protectionAlg: Buffer) =>
  readMacParameters(parseProtectedPart(protectedPart({ protectionAlg })).protectionAlg)
const password = Buffer.from('Grüße, K7f!mQ2x')
const data = Buffer.from('whatever is protected')
const names = Object.keys(macNames) as (keyof typeof macNames)[]
const input = { password, data }

describe('PBM', () => {
  test('of one round and of three is what RFC 9810 5.1.3.1 says', () => {
    const salt = Buffer.from('12345678')
    const once = hash('sha256', Buffer.concat([password, salt]), 'buffer')
    const thrice = hash('sha256', hash('sha256', once, 'buffer'), 'buffer')
    const keys = [once, thrice].map(key => createHmac('sha512', key).update(data).digest())
    const made = [1, 3].map(iterationCount =>
      computeMac(parametersIn(pbm({ salt, iterationCount, mac: 'SHA-512' })), input),
    )
    expect(made).toEqual(keys)
  })
})

describe('PBMAC1', () => {
  const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')
  /** Who reads nothing is given nothing. */
  const run = (input: Buffer | undefined, ...args: string[]): string =>
    execFileSync('openssl', args, { ...(input && { input }) })
      .toString()
      .replaceAll(/[:\s]/g, '')
      .toLowerCase()
  /** As openssl derives the key and makes the HMAC. */
  const byOpenssl = ({ salt, iterationCount, keyLength, owf, mac }: Required<MacChoice>): string => {
    const derived = ['digest', 'hexpass', 'hexsalt', 'iter'].flatMap((name, at) => [
      '-kdfopt',
      `${name}:${[owf.replace('-', ''), hex(password), hex(salt), iterationCount][at]}`,
    ])
    const key = run(undefined, 'kdf', '-keylen', String(keyLength), ...derived, 'PBKDF2')
    const options = ['-digest', mac.replace('-', ''), '-macopt', `hexkey:${key}`]
    return run(data, 'mac', ...options, 'HMAC')
  }

  test.each(names.flatMap(owf => names.map(mac => [owf, mac] as const)))('with %s and HMAC-%s', (owf, mac) => {
    const choice = { salt: Buffer.alloc(9, 3), iterationCount: 123, owf, mac, keyLength: 40 }
    expect(hex(computeMac(parametersIn(pbmac1(choice)), input))).toBe(byOpenssl(choice))
    const { keyLength: _, ...usual } = choice
    const octets = findDigest(mac)?.octets ?? 0
    expect(hex(computeMac(parametersIn(pbmac1(usual)), input))).toBe(byOpenssl({ ...choice, keyLength: octets }))
  })
})

describe('many rounds', () => {
  test.each([
    ['PBM', pbm],
    ['PBMAC1', pbmac1],
  ])('of %s are the same in a thread', async (_, write) => {
    const parameters = parametersIn(write({ iterationCount: 5000 }))
    expect(isSlow(parameters)).toBe(true)
    expect(await macOf(parameters, input)).toEqual(computeMac(parameters, input))
    expect(password.toString()).toBe('Grüße, K7f!mQ2x')
  })

  test.each<[boolean, string, Buffer]>([
    [false, 'PBM of 500, as OpenSSL has it', pbm({ mac: 'SHA-512' })],
    [false, 'PBM of 1,000, as Bouncy Castle has it', pbm({ iterationCount: 1000 })],
    [true, 'PBM of 1,001', pbm({ iterationCount: 1001 })],
    [false, 'PBKDF2 of 500 and a key of one block', pbmac1({ keyLength: 32 })],
    [true, 'PBKDF2 of 501 and a key of one block', pbmac1({ iterationCount: 501, keyLength: 32 })],
    [true, 'PBKDF2 of 500 and a key of a block and an octet', pbmac1({ keyLength: 33 })],
    [true, 'PBKDF2 of 500 and a key for an HMAC of two blocks', pbmac1({ mac: 'SHA-512' })],
    [false, 'PBKDF2 of 100 and a key of four blocks', pbmac1({ iterationCount: 100, owf: 'SHA-512', keyLength: 256 })],
    [true, 'PBKDF2 of 100 and a key of ten blocks', pbmac1({ iterationCount: 100, owf: 'SHA-224', keyLength: 256 })],
  ])('take a thread: %s, %s', (slow, _, protectionAlg) => {
    expect(isSlow(parametersIn(protectionAlg))).toBe(slow)
  })

  test.each([
    ['PBM', pbm],
    ['PBMAC1', pbmac1],
  ])('a million of %s keep the event loop free', async (_, write) => {
    const parameters = parametersIn(write({ iterationCount: 1_000_000 }))
    const longest = stretches()
    await macOf(parameters, input)
    expect(longest()).toBeLessThan(100)
  })
})

const digest = sequence(oid('2.16.840.1.101.3.4.2.1'))
const hmac = sequence(oid('1.2.840.113549.2.9'))
const salt = octetString(Buffer.alloc(8))
const named = (...parameters: Buffer[]) => sequence(oid('1.2.840.113533.7.66.13'), ...parameters)
const derived = (...parameters: Buffer[]) =>
  sequence(
    oid('1.2.840.113549.1.5.14'),
    sequence(sequence(oid('1.2.840.113549.1.5.12'), sequence(...parameters)), hmac),
  )

test.each<[string, Buffer]>([
  ['a signature', sequence(oid('1.2.840.10045.4.3.2'))],
  ['no parameters', named()],
  ['a salt that is a number', named(sequence(integer(1), digest, integer(500), hmac))],
  ['a digest that nobody knows', named(sequence(salt, sequence(oid('1.2.3')), integer(500), hmac))],
  ['an HMAC for the digest', named(sequence(salt, hmac, integer(500), hmac))],
  ['a digest with parameters', named(sequence(salt, sequence(oid('1.3.14.3.2.26'), integer(1)), integer(500), hmac))],
  ['no rounds', named(sequence(salt, digest, integer(0), hmac))],
  ['fewer rounds than none', named(sequence(salt, digest, tlv(0x02, Buffer.of(0xff)), hmac))],
  ['rounds without number', named(sequence(salt, digest, integer(Buffer.alloc(20, 0x7f)), hmac))],
  ['more members', named(sequence(salt, digest, integer(500), hmac, hmac))],
  ['a key of 257 octets', derived(salt, integer(500), integer(257), hmac)],
  ['a function that nobody knows', derived(salt, integer(500), sequence(oid('1.2.3')))],
  ['more members of PBKDF2', derived(salt, integer(500), integer(32), hmac, hmac)],
])('a header that names %s is refused', (_, protectionAlg) => {
  expect(() => parametersIn(protectionAlg)).toThrow(CmpError)
})

test('a header that names nothing is refused', () => {
  const { protectionAlg } = parseProtectedPart(protectedPart())
  expect(() => readMacParameters(protectionAlg)).toThrow(CmpError)
})

test('PBKDF2 without a function is that of RFC 8018: HMAC-SHA1', () => {
  expect(parametersIn(derived(salt, integer(500))).owf.name).toBe('SHA-1')
})

test('algorithms are known by their names and their OIDs', () => {
  const found = ['SHA-1', '1.3.14.3.2.26', 'SHA-512', 'HMAC-SHA256', 'sha-256', ''].map(text => findDigest(text)?.name)
  expect(found).toEqual(['SHA-1', 'SHA-1', 'SHA-512', undefined, undefined, undefined])
  const oids = ['HMAC-SHA1', '1.3.6.1.5.5.8.1.2', '1.2.840.113549.2.7', '1.2.840.113549.2.11', 'SHA-256']
  expect(oids.map(text => findHmac(text)?.name)).toEqual(['SHA-1', 'SHA-1', 'SHA-1', 'SHA-512', undefined])
})
