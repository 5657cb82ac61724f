// What signDataWithCA must not sign, in every encoding that somebody's parser takes; and what signDataScep may.
import { randomBytes, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { DerValue } from '../../pki/asn1/der-reader.ts'
import { readWholeBer } from '../../pki/asn1/ber.ts'
import {
  context,
  derNull,
  integer,
  octetString,
  oid,
  printableString,
  sequence,
  setOf,
  time,
  tlv,
  utf8String,
} from '../../pki/asn1/der.ts'
import { readSigned } from '../../pki/certificate/signed.ts'
import { type DigestName, digests } from '../../pki/cms/algorithms.ts'
import { certificatesOnly } from '../../pki/cms/degenerate.ts'
import { readSignedData } from '../../pki/cms/signed-data.ts'
import { attribute, signedAttributes } from '../../pki/cms/signed-data-writer.ts'
import { findSignedForm } from '../../pki/cms/signed-forms.ts'
import { prepareFailure, preparePending } from '../../pki/scep/cert-rep.ts'
import type { ReplyContext } from '../../pki/scep/refusal.ts'
import { attributeOids, isScepSignedAttributes } from '../../pki/scep/signed-attributes.ts'
import { encodedBy, everyHeader, indefinite, longLengths, longTags, oddHeaders } from './encodings.ts'
import { openssl, Workbench } from './openssl.ts'
import { filesOf, makeParty, makePkcs10, type TestParty } from './scep-parties.ts'

const bench = new Workbench()
let party: TestParty
let files: Awaited<ReturnType<typeof filesOf>>
let real: Record<string, Buffer>

const contentsOf = (signed: Buffer): Buffer => readSigned(signed).contents.raw

const versionOne = async (): Promise<Buffer> => {
  const request = await bench.newPath()
  await openssl('req', '-new', '-key', files.keyFile, '-subj', '/CN=v1', '-out', request)
  const issuer = ['-CA', files.certificateFile, '-CAkey', files.keyFile, '-set_serial', '7']
  return (await openssl('x509', '-req', '-in', request, ...issuer, '-outform', 'DER')).output
}

const crlOfOpenssl = async (): Promise<Buffer> => {
  const [index, number, out] = [await bench.file(''), await bench.file('01\n'), await bench.newPath()]
  const settings = ['[ca]', 'default_ca=a', '[a]', `database=${index}`, `crlnumber=${number}`, 'default_md=sha256']
  const config = await bench.file([...settings, 'default_crl_days=5', ''].join('\n'))
  const signer = ['-cert', files.certificateFile, '-keyfile', files.keyFile]
  await openssl('ca', '-gencrl', '-config', config, ...signer, '-out', out)
  return (await openssl('crl', '-in', out, '-outform', 'DER')).output
}

const attributesOfOpenssl = async (): Promise<Buffer> => {
  const out = await bench.newPath()
  const signer = ['-signer', files.certificateFile, '-inkey', files.keyFile]
  await openssl('cms', '-sign', '-in', await bench.file('x'), '-outform', 'DER', '-out', out, ...signer)
  const [info] = readWholeBer(await readFile(out), readSignedData).signerInfos
  if (!info?.signedAttributes) throw new Error('no attributes')
  return info.signedAttributes
}

beforeAll(async () => {
  party = await makeParty({ commonName: 'ca' })
  files = await filesOf(bench, party)
  real = {
    TBSCertificate: contentsOf(party.certificate),
    'TBSCertificate of version 1': contentsOf(await versionOne()),
    TBSCertList: contentsOf(await crlOfOpenssl()),
    CertificationRequestInfo: contentsOf(await makePkcs10()),
    'CMS SignedAttributes': await attributesOfOpenssl(),
  }
})
afterAll(() => bench.clear())

const now = new Date('2030-01-01T00:00:00Z')
const generalized = tlv(0x18, Buffer.from('20300101000000Z'))
const name = sequence(setOf(sequence(oid('2.5.4.3'), utf8String('ca'))))
const sha256 = sequence(oid('2.16.840.1.101.3.4.2.1'), derNull)
const single = sequence(sequence(sha256, octetString(Buffer.alloc(32)), octetString(Buffer.alloc(32)), integer(1)))
const extensions = sequence(sequence(oid('1.3.6.1.5.5.7.48.1.2'), octetString(octetString(randomBytes(16)))))
const stamp = [
  attribute('1.2.840.113549.1.9.3', oid('1.2.840.113549.1.9.16.1.4')),
  attribute('1.2.840.113549.1.9.4', octetString(randomBytes(32))),
  attribute('1.2.840.113549.1.9.16.2.47', sequence(sequence(sequence(octetString(randomBytes(32)))))),
]

const bodyOf = (der: Buffer): Buffer => {
  const length = der[1] ?? 0
  return der.subarray(length < 0x80 ? 2 : 2 + (length & 0x7f))
}
const data = sequence(oid('1.2.840.113549.1.7.1'))
const nextCa = sequence(integer(1), setOf(), data, context(0, sequence()), setOf())

const made: Readonly<Record<string, Buffer>> = {
  'TBSCertList of version 1': sequence(sha256, name, time(now)),
  'TBSCertList of version 1 with GeneralizedTime': sequence(sha256, name, generalized, generalized),
  'OCSP ResponseData by name': sequence(context(1, name), generalized, sequence(single)),
  'OCSP ResponseData by key': sequence(context(2, octetString(randomBytes(20))), generalized, sequence(single)),
  'OCSP ResponseData by key, implicit': sequence(tlv(0x82, randomBytes(20)), generalized, sequence(single)),
  'OCSP ResponseData whole': sequence(
    context(0, integer(0)),
    context(1, name),
    generalized,
    sequence(single, single),
    context(1, extensions),
  ),
  'CMS SignedAttributes of a time stamp': setOf(...stamp),
  'CMS SignedAttributes unsorted': tlv(0x31, ...stamp.toReversed()),
  'CMS SignedAttributes under their tag': context(0, ...stamp),
  'CMS ContentInfo of a next CA': certificatesOnly([sequence()]),
  'CMS SignedData of a next CA': nextCa,
  'CMP ProtectedPart of an error': sequence(
    sequence(integer(2), context(4, name), context(4, name)),
    context(23, sequence()),
  ),
  'AttributeCertificateInfo of anybody': sequence(
    integer(1),
    sequence(context(1, name)),
    context(0, sequence(name)),
    sha256,
    integer(7),
    sequence(generalized, generalized),
    sequence(),
  ),
}

const names = [
  'TBSCertificate',
  'TBSCertificate of version 1',
  'TBSCertList',
  'CertificationRequestInfo',
  'CMS SignedAttributes',
  ...Object.keys(made),
]

const encodings: Readonly<Record<string, (der: Buffer) => Buffer>> = {
  DER: der => der,
  'lengths of four octets': longLengths,
  'indefinite lengths': indefinite,
  'tag numbers in the long form': longTags,
  ...Object.fromEntries(
    Object.entries(oddHeaders).map(([odd, header]) => [odd, (der: Buffer) => encodedBy(der, () => header)]),
  ),
  'octets behind it': der => Buffer.concat([der, Buffer.from('more')]),
  'a length that is too long': der =>
    Buffer.concat([der.subarray(0, 1), Buffer.of(0x83, 0x7f, 0xff, 0xff), bodyOf(der)]),
}

/** As node has openssl read it. */
const isReadByOpenssl = (certificate: Buffer): boolean => {
  try {
    return new X509Certificate(certificate).raw.length > 0
  } catch {
    return false
  }
}

const sampleOf = (name: string): Buffer => {
  const der = real[name] ?? made[name]
  if (!der) throw new Error('no such sample')
  return der
}
const formIn = (name: string) => /^(OCSP ResponseData|CM[SP] \w+|\w+)/.exec(name)?.[0]

test.each(names.flatMap(name => Object.keys(encodings).map(encoding => ({ name, encoding }))))(
  '$name is recognised with $encoding',
  row => {
    const encode = encodings[row.encoding]
    if (!encode) throw new Error('no such row')
    expect(findSignedForm(encode(sampleOf(row.name)))).toBe(formIn(row.name))
  },
)

test.each(names)('%s is recognised with every header in a way of its own', name => {
  const sample = sampleOf(name)
  fc.assert(
    fc.property(fc.infiniteStream(fc.constantFrom(...everyHeader)), choices => {
      const octets = encodedBy(sample, () => choices.next().value)
      expect([octets.toString('hex'), findSignedForm(octets)]).toEqual([octets.toString('hex'), formIn(name)])
    }),
  )
})

test.each(['CMS ContentInfo of a next CA', 'CMS SignedData of a next CA'])(
  '%s is recognised without its header',
  name => {
    const members = new DerValue(sampleOf(name), 0, sampleOf(name).length).children.map(({ raw }) => raw)
    for (const header of everyHeader) {
      const octets = Buffer.concat(members.map(member => encodedBy(member, () => header)))
      expect([octets.toString('hex'), findSignedForm(octets)]).toEqual([octets.toString('hex'), formIn(name)])
    }
  },
)

test.each(Object.keys(oddHeaders).filter(odd => odd.includes('zero')))('openssl takes %s', async odd => {
  const octets = encodedBy(sequence(integer(5), integer(6)), () => oddHeaders[odd]!)
  const { output } = await openssl('asn1parse', '-inform', 'DER', '-in', await bench.file(octets))
  expect(String(output).match(/cons: SEQUENCE|INTEGER {2,}:0\d/g)).toEqual([
    'cons: SEQUENCE',
    expect.stringMatching(/5$/),
    expect.stringMatching(/6$/),
  ])
})

const oddOctets = fc.constantFrom(0, 0x05, 0x10, 0x1f, 0x20, 0x30, 0x31, 0x3f, 0x80, 0x81, 0x82, 0x90, 0xa0, 0xff)

/** At a place among the first members: octets taken away, and others put there. */
const change = fc.record({
  place: fc.nat({ max: 60 }),
  removed: fc.nat({ max: 1 }),
  put: fc.array(oddOctets, { maxLength: 4 }),
})

test('what openssl reads as a certificate is recognised, whatever is odd in it', () => {
  const [tbs, ...rest] = new DerValue(party.certificate, 0, party.certificate.length).children.map(({ raw }) => raw)
  const usual = Array.from({ length: 10 * everyHeader.length }, () => everyHeader[0]!)
  let read = 0
  fc.assert(
    fc.property(
      fc.infiniteStream(fc.constantFrom(...usual, ...everyHeader)),
      fc.array(change, { maxLength: 2 }),
      (choices, changes) => {
        let octets = encodedBy(tbs ?? Buffer.alloc(0), () => choices.next().value)
        for (const { place, removed, put } of changes)
          octets = Buffer.concat([octets.subarray(0, place), Buffer.from(put), octets.subarray(place + removed)])
        const certificate = sequence(octets, ...rest)
        if (!isReadByOpenssl(certificate)) return
        read++
        expect([octets.toString('hex'), findSignedForm(octets) === null]).toEqual([octets.toString('hex'), false])
      },
    ),
    { numRuns: 10_000 },
  )
  expect(read).toBeGreaterThan(500)
})

test.each<[string, Buffer]>([
  ['a SEQUENCE', sequence(integer(1), integer(2))],
  ['a SET', setOf(integer(1), integer(2))],
  ['a member', sequence(integer(1), sequence(integer(2)))],
])('%s of indefinite length is not signed, whatever it is', (_, der) => {
  expect(findSignedForm(der)).toBeNull()
  expect(findSignedForm(indefinite(der))).toBe('BER value of indefinite length')
})

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['a text', Buffer.from('Hello')],
  ['a text of digits', Buffer.from('0123456789'.repeat(20))],
  ['a text that begins with 1', Buffer.from('1 December')],
  ['JSON', Buffer.from('{"a":[1,2,3]}')],
  ['a digest', Buffer.from('30'.repeat(32), 'hex')],
  ['a DigestInfo', sequence(sha256, octetString(Buffer.alloc(32)))],
  ['a name', name],
  ['a sequence of numbers', sequence(integer(1), integer(2), integer(3))],
  ['an empty set', setOf()],
  ['a set of numbers', setOf(integer(1), integer(2))],
])('%s is none of the forms', (_, octets) => {
  expect(findSignedForm(octets)).toBeNull()
})

test('any octets are judged, in linear time', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), octets =>
      expect(() => findSignedForm(Buffer.from(octets))).not.toThrow(),
    ),
  )
  const repeated = (octets: string) => Buffer.from(octets.repeat((1 << 21) / octets.length), 'hex')
  const hostile = ['30', 'ff', '3f', '00', '1f00', '31'].map(octets =>
    Buffer.concat([Buffer.of(0x30, 0), repeated(octets)]),
  )
  expect(hostile.map(findSignedForm)).toEqual([null, null, null, null, null, null])
  expect(findSignedForm(repeated('81'))).toBeNull()
  expect(findSignedForm(repeated('3080'))).toBe('BER value of indefinite length')
})

const replyContext = (digest: DigestName): ReplyContext => ({
  transactionId: { der: printableString('a transaction'), text: 'a transaction' },
  senderNonce: randomBytes(16),
  digest,
})

test.each(Object.keys(digests) as DigestName[])('the attributes of our replies by %s may be signed', digest => {
  const reply = replyContext(digest)
  for (const { toSign } of [prepareFailure(reply, 'badRequest', 'No'), preparePending(reply)]) {
    expect(isScepSignedAttributes(toSign, digest)).toBe(true)
    expect(findSignedForm(toSign)).toBe('CMS SignedAttributes')
    const others = (Object.keys(digests) as DigestName[]).filter(other => other !== digest)
    expect(others.filter(other => isScepSignedAttributes(toSign, other))).toEqual([])
  }
})

const type = (text: string) => attribute(attributeOids.messageType, printableString(text))
const digestAttribute = attribute(attributeOids.messageDigest, octetString(randomBytes(32)))
const dataType = attribute(attributeOids.contentType, oid('1.2.840.113549.1.7.1'))
const least = [dataType, digestAttribute, type('3')]
const nonce = (value: Buffer) => attribute(attributeOids.senderNonce, value)

test('the least that may be signed', () => {
  expect(isScepSignedAttributes(setOf(...least), 'SHA-256')).toBe(true)
})

test.each<[string, () => Buffer]>([
  ['nothing', () => Buffer.alloc(0)],
  ['an empty set', () => setOf()],
  ['no messageType', () => setOf(dataType, digestAttribute)],
  ['no contentType', () => setOf(digestAttribute, type('3'))],
  ['no messageDigest', () => setOf(dataType, type('3'))],
  ['the message type of a request', () => setOf(dataType, digestAttribute, type('19'))],
  [
    'a message type in UTF8String',
    () => setOf(dataType, digestAttribute, attribute(attributeOids.messageType, utf8String('3'))),
  ],
  [
    'another content type',
    () => setOf(attribute(attributeOids.contentType, oid('1.2.840.113549.1.9.16.1.4')), digestAttribute, type('3')),
  ],
  ['an attribute twice', () => setOf(...least, digestAttribute)],
  [
    'an attribute with two values',
    () =>
      setOf(
        dataType,
        digestAttribute,
        sequence(oid(attributeOids.messageType), setOf(printableString('3'), printableString('4'))),
      ),
  ],
  ['an attribute without a value', () => setOf(...least, sequence(oid(attributeOids.senderNonce), setOf()))],
  ['an attribute of others', () => setOf(...least, attribute('1.2.840.113549.1.9.5', time(now)))],
  ['a nonce that is a structure', () => setOf(...least, nonce(sequence(integer(1))))],
  ['members out of order', () => tlv(0x31, ...least.toSorted((one, two) => Buffer.compare(two, one)))],
  ['octets behind it', () => Buffer.concat([setOf(...least), Buffer.of(0)])],
  ['lengths that are not the shortest', () => longLengths(setOf(...least))],
  ['indefinite lengths', () => indefinite(setOf(...least))],
  ['the tag of a signed message', () => context(0, ...least)],
  ['a sequence', () => sequence(...least)],
  [
    'more in an attribute',
    () =>
      setOf(dataType, digestAttribute, sequence(oid(attributeOids.messageType), setOf(printableString('3')), derNull)),
  ],
  ['a certificate', () => contentsOf(party.certificate)],
  ['the attributes of openssl', () => real['CMS SignedAttributes'] ?? Buffer.alloc(0)],
  ['a request of SCEP', () => signedAttributes(Buffer.alloc(1), 'SHA-256', [type('17')])],
])('signDataScep refuses %s', (_, octets) => {
  expect(isScepSignedAttributes(octets(), 'SHA-256')).toBe(false)
})
