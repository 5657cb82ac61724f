// Messages made to break a parser: huge, deep, long, and a thousand mutations of real ones. Each is read or refused with a
// reason; nothing else is ever thrown.
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { octetString, sequence, tlv } from '../../pki/asn1/der.ts'
import { CmsError } from '../../pki/cms/cms-error.ts'
import { certificatesOnly, readBag } from '../../pki/cms/degenerate.ts'
import { openEnvelopedData } from '../../pki/cms/opening.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { preparePending, prepareSuccess } from '../../pki/scep/cert-rep.ts'
import { type SentRequest, writeScepRequest } from '../../pki/scep/client.ts'
import { ScepRefusal } from '../../pki/scep/refusal.ts'
import { readCertRep } from '../../pki/scep/reply.ts'
import { readScepRequest } from '../../pki/scep/request.ts'
import { readRequestContent } from '../../pki/scep/request-content.ts'
import { indefinite } from './encodings.ts'
import { mutate, mutation } from './mutations.ts'
import { reply } from './scep-exchange.ts'
import { makeParty, makePkcs10, type TestParty } from './scep-parties.ts'

let server: TestParty
let device: TestParty
let pkcs10: Buffer
let sent: SentRequest
let envelope: Buffer
let answers: readonly Buffer[]

beforeAll(async () => {
  ;[server, device] = await Promise.all([makeParty({ commonName: 'scep' }), makeParty({ commonName: 'device' })])
  pkcs10 = await makePkcs10()
  const draft = {
    messageType: 'PKCSReq',
    transactionId: 'x',
    content: pkcs10,
    recipients: [server.certificate],
  } as const
  sent = await writeScepRequest(draft, device, { digest: 'SHA-256', cipher: 'AES-128-CBC' })
  const request = readScepRequest(sent.der)
  envelope = request.envelopeBytes
  const unsigned = [preparePending(request), prepareSuccess(request, certificatesOnly([device.certificate]))]
  answers = await Promise.all(unsigned.map(each => reply(each, server)))
})

/** What came of a reader: what it read, or its refusal. Whatever else it throws is thrown on. */
const outcomeOf = (read: () => unknown): string => {
  try {
    read()
    return 'read'
  } catch (error) {
    if (error instanceof ScepRefusal) return `${error.failInfo}${error.reply ? '' : ' without answer'}`
    if (error instanceof CmsError) return error.fault
    throw error
  }
}

const readers: Readonly<Record<string, (octets: Buffer) => unknown>> = {
  request: readScepRequest,
  envelope: octets => openEnvelopedData(octets, [server]),
  bag: readBag,
  reply: octets => readCertRep(octets, { request: sent, client: device, signers: [server.certificate] }),
  content: octets => readRequestContent(readScepRequest(sent.der), octets),
}

const nested = (levels: number, open: string, close = ''): Buffer =>
  Buffer.from(open.repeat(levels) + close.repeat(levels), 'hex')
const million = 1_000_000
const definite = (levels: number): Buffer => {
  let value: Buffer = Buffer.of(0x05, 0)
  for (let level = 0; level < levels; level++) value = sequence(value)
  return value
}

const hostile: Readonly<Record<string, () => Buffer>> = {
  'scep case 39: 200 levels': () => definite(200),
  '10,000 levels': () => definite(10_000),
  '200 levels of indefinite length': () => nested(200, '3080', '0000'),
  '250,000 levels of indefinite length without an end': () => nested(250_000, '3080'),
  '250,000 levels of strings': () => nested(250_000, '2480'),
  'half a million values': () => sequence(Buffer.alloc(million, Buffer.of(0x05, 0))),
  'half a million values of indefinite length': () =>
    Buffer.concat([Buffer.of(0x30, 0x80), Buffer.alloc(million - 4, Buffer.of(0x05, 0)), Buffer.alloc(2)]),
  'half a million pieces of a string': () => tlv(0x24, Buffer.alloc(million, Buffer.of(0x04, 0))),
  'ten megabytes': () => octetString(Buffer.alloc(10 * million)),
  'ten megabytes of values': () => sequence(Buffer.alloc(10 * million, Buffer.of(0x05, 0))),
  'a length of 4 GiB': () => Buffer.from('3084ffffffff0101', 'hex'),
  'a length of 126 octets': () => Buffer.concat([Buffer.of(0x30, 0xfe), Buffer.alloc(200, 0xff)]),
  'a tag number of a million octets': () => Buffer.alloc(million, 0xff),
  'a megabyte of zeros': () => Buffer.alloc(million),
  'a megabyte of noise': () => randomBytes(million),
  'a megabyte of sequences': () => Buffer.alloc(million, 0x30),
}

test.each(Object.keys(hostile).flatMap(name => Object.keys(readers).map(reader => ({ name, reader }))))(
  '$name as $reader',
  ({ name, reader }) => {
    const octets = hostile[name]?.()
    if (!octets) throw new Error('no such row')
    expect(outcomeOf(() => readers[reader]?.(octets))).not.toBe('read')
  },
)

test('more certificates or recipients than real messages have are refused', () => {
  const certificates = Array.from({ length: 20_000 }, () => sequence())
  expect(outcomeOf(() => readBag(certificatesOnly(certificates)))).toBe('MALFORMED')
  const recipients = Array.from({ length: 101 }, () => server.certificate)
  const many = sealEnvelopedData(pkcs10, { recipients, cipher: 'AES-128-CBC' })
  expect(outcomeOf(() => openEnvelopedData(many, [server]))).toBe('MALFORMED')
})

const runs = 1000

const subjects: Readonly<Record<string, readonly [string, () => readonly Buffer[]]>> = {
  requests: ['request', () => [sent.der, indefinite(sent.der)]],
  envelopes: ['envelope', () => [envelope, indefinite(envelope)]],
  replies: ['reply', () => answers.flatMap(answer => [answer, indefinite(answer)])],
  bags: ['bag', () => [certificatesOnly([device.certificate]), indefinite(certificatesOnly([device.certificate]))]],
  'PKCS#10 requests': ['content', () => [pkcs10]],
}

test.each(Object.keys(subjects))('1,000 mutations of %s are read or refused', name => {
  const [reader, originals] = subjects[name] ?? ['', () => []]
  const outcomes = new Map<string, number>()
  const property = fc.property(mutation, fc.nat(3), (changes, which) => {
    const all = originals()
    const original = all[which % all.length] ?? Buffer.alloc(0)
    const octets = changes.reduce(mutate, original)
    const outcome = outcomeOf(() => readers[reader]?.(octets))
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  })
  fc.assert(property, { numRuns: runs })
  expect([...outcomes.values()].reduce((sum, count) => sum + count, 0)).toBe(runs)
  expect(outcomes.size).toBeGreaterThan(1)
})
