// What stands in the envelopes of SCEP requests: PKCS#10 of all makes, challenges in all string types, and garbage.
import { randomBytes, sign } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  bitString,
  bmpString,
  context,
  derNull,
  ia5String,
  integer,
  octetString,
  oid,
  printableString,
  sequence,
  setOf,
  tags,
  tlv,
  utf8String,
} from '../../pki/asn1/der.ts'
import { attribute } from '../../pki/cms/signed-data-writer.ts'
import { type Enrolment, readRequestContent } from '../../pki/scep/request-content.ts'
import { readScepRequest, type ScepRequest } from '../../pki/scep/request.ts'
import type { RequestType } from '../../pki/scep/vocabulary.ts'
import { indefinite } from './encodings.ts'
import { openssl, Workbench } from './openssl.ts'
import { craftRequest, refusalOf } from './scep-exchange.ts'
import { filesOf, makeParty, makePkcs10, type TestParty } from './scep-parties.ts'

const bench = new Workbench()
let server: TestParty
let device: TestParty
let request: ScepRequest

beforeAll(async () => {
  ;[server, device] = await Promise.all([makeParty({ commonName: 'scep' }), makeParty({ commonName: 'device' })])
  request = readScepRequest(await craftRequest({}, device, server))
})
afterAll(() => bench.clear())

const read = (plaintext: Buffer, messageType: RequestType = 'PKCSReq') =>
  readRequestContent({ ...request, messageType }, plaintext)
const challengeOf = (plaintext: Buffer): string | null => (read(plaintext) as Enrolment).challengePassword

const challengeOid = '1.2.840.113549.1.9.7'
const challenge = (...values: readonly Buffer[]): Buffer => sequence(oid(challengeOid), setOf(...values))
const sha256WithRsa = sequence(oid('1.2.840.113549.1.1.11'), derNull)

interface Pkcs10Parts {
  readonly attributes?: readonly Buffer[] | null
  readonly algorithm?: Buffer
  readonly signature?: (info: Buffer) => Buffer
}

/** A PKCS#10 request by hand, of the device's key. */
const pkcs10 = ({ attributes = [], algorithm = sha256WithRsa, signature = signInfo }: Pkcs10Parts = {}): Buffer => {
  const optional = attributes ? [context(0, ...attributes)] : []
  const info = sequence(integer(0), device.nameDer, device.keys.publicKeySpki, ...optional)
  return sequence(info, algorithm, bitString(signature(info)))
}
const signInfo = (info: Buffer) => sign('sha256', info, device.key)

const universal = (text: string): Buffer =>
  tlv(tags.universalString, ...Array.from(text, point => Buffer.of(0, 0, 0, point.codePointAt(0) ?? 0)))

test.each<[string, (text: string) => Buffer, string]>([
  ['PrintableString', printableString, 'a:b c'],
  ['UTF8String', utf8String, 'a:b:ü€'],
  ['IA5String', ia5String, 'a:b@c_d'],
  ['T61String', text => tlv(tags.teletexString, Buffer.from(text, 'latin1')), 'a:ü'],
  ['BMPString', bmpString, 'a:ü€'],
  ['UniversalString', universal, 'a:ü'],
])('a challengePassword is read as %s', (_, write, text) => {
  expect(challengeOf(pkcs10({ attributes: [challenge(write(text))] }))).toBe(text)
})

test('scep case 9: an empty challengePassword is none', () => {
  expect(challengeOf(pkcs10({ attributes: [challenge(utf8String(''))] }))).toBeNull()
  expect(challengeOf(pkcs10())).toBeNull()
})

test.each<[string, () => readonly Buffer[]]>([
  ['two attributes', () => [challenge(utf8String('a')), challenge(utf8String('b'))]],
  ['the same attribute twice', () => [challenge(utf8String('a')), challenge(utf8String('a'))]],
  ['two values', () => [challenge(utf8String('a'), utf8String('b'))]],
  ['two attributes, the first without a value', () => [challenge(), challenge(utf8String('a'))]],
  ['two attributes, the second without a value', () => [challenge(utf8String('a')), challenge()]],
  ['an OCTET STRING', () => [challenge(octetString(Buffer.from('a')))]],
  ['a number', () => [challenge(integer(1))]],
])('scep case 10: a challengePassword as %s is badRequest', (_, attributes) => {
  const error = refusalOf(() => read(pkcs10({ attributes: attributes() })))
  expect(error).toMatchObject({ failInfo: 'badRequest', message: 'The challengePassword is not one text' })
})

const opensslRequest = async (...options: readonly string[]): Promise<Buffer> => {
  const { keyFile } = await filesOf(bench, device)
  const subject = ['-subj', '/C=DE/CN=device', '-outform', 'DER']
  return (await openssl('req', '-new', '-key', keyFile, ...subject, ...options)).output
}

test.each<[string, readonly string[]]>([
  ['PKCS#1 v1.5 and SHA-1', ['-sha1']],
  ['PKCS#1 v1.5 and SHA-512', ['-sha512']],
  ['PSS and SHA-256', ['-sha256', '-sigopt', 'rsa_padding_mode:pss']],
  ['PSS and SHA-512', ['-sha512', '-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:20']],
  ['a requested name', ['-addext', 'subjectAltName=DNS:device.example.test']],
])('scep case 30: a PKCS#10 request of openssl by %s proves its key', async (_, options) => {
  expect(read(await opensslRequest(...options))).toMatchObject({ kind: 'ENROLMENT', challengePassword: null })
})

test('a PKCS#10 request without the attributes element is read', () => {
  expect(read(pkcs10({ attributes: null }))).toMatchObject({ kind: 'ENROLMENT' })
})

test('scep case 33: a wrong signature of the PKCS#10 request is badRequest, one by MD5 badAlg', async () => {
  const wrong = refusalOf(() => read(pkcs10({ signature: () => randomBytes(256) })))
  expect(wrong).toMatchObject({ failInfo: 'badRequest', reply: { transactionId: request.transactionId } })
  expect(refusalOf(() => read(pkcs10({ algorithm: sequence(oid('1.2.840.113549.1.1.4'), derNull) })))).toMatchObject({
    failInfo: 'badAlg',
  })
})

test('what nobody has proven is as what cannot be decrypted, unless its key is that of the signer', async () => {
  const { keyFile } = await dsaKey()
  const dsa = (await openssl('req', '-new', '-key', keyFile, '-subj', '/CN=dsa', '-outform', 'DER')).output
  const good = await makePkcs10()
  const wrong = Buffer.from(good)
  wrong[wrong.length - 1] = (wrong.at(-1) ?? 0) ^ 1
  expect(read(good)).toMatchObject({ kind: 'ENROLMENT' })
  for (const unproven of [dsa, wrong]) expect(refusalOf(() => read(unproven)).failInfo).toBe('badMessageCheck')
})

const dsaKey = async () => {
  const [parameters, keyFile] = [await bench.newPath(), await bench.newPath()]
  await openssl('genpkey', '-genparam', '-algorithm', 'DSA', '-pkeyopt', 'dsa_paramgen_bits:1024', '-out', parameters)
  await openssl('genpkey', '-paramfile', parameters, '-out', keyFile)
  return { keyFile }
}

const refusalFacts = ({ failInfo, message, reply }: ReturnType<typeof refusalOf>) => ({
  failInfo,
  message,
  reply: reply?.transactionId.text,
})

test('scep case 25: garbage that unpads is refused as what cannot be decrypted, for every kind of request', async () => {
  const good = await makePkcs10()
  const garbage = [
    Buffer.alloc(0),
    randomBytes(64),
    Buffer.from('0\u0080', 'latin1'),
    good.subarray(0, -1),
    Buffer.concat([good, Buffer.of(0)]),
    Buffer.alloc(1 << 20, 0x30),
    sequence(sequence(integer(0)), sequence(oid('1.2.3')), bitString(Buffer.alloc(1))),
  ]
  const types: readonly RequestType[] = ['PKCSReq', 'RenewalReq', 'CertPoll', 'GetCert', 'GetCRL']
  for (const type of types)
    for (const plaintext of garbage)
      expect(refusalFacts(refusalOf(() => read(plaintext, type)))).toEqual({
        failInfo: 'badMessageCheck',
        message: 'The envelope cannot be decrypted',
        reply: 'transaction 1',
      })
})

test('CertPoll, GetCert and GetCRL may be BER', () => {
  const names = sequence(server.nameDer, device.nameDer)
  const number = sequence(server.nameDer, tlv(0x02, Buffer.of(0, 0, 0x81)))
  expect(read(indefinite(names), 'CertPoll')).toEqual({ kind: 'POLL', issuer: server.nameDer, subject: device.nameDer })
  for (const type of ['GetCert', 'GetCRL'] as const)
    expect(read(indefinite(number), type)).toEqual({ kind: 'LOOKUP', issuer: server.nameDer, serialNumber: '81' })
})

test('an extra attribute of Microsoft does not disturb', () => {
  const version = attribute('1.3.6.1.4.1.311.13.2.3', ia5String('10.0.19045.2'))
  expect(challengeOf(pkcs10({ attributes: [version, challenge(printableString('x'))] }))).toBe('x')
})
