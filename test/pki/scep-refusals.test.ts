// SCEP requests that are refused, each with its failInfo and with what is needed to answer.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  bmpString,
  ia5String,
  octetString,
  oid,
  printableString,
  sequence,
  tags,
  tlv,
  utf8String,
} from '../../pki/asn1/der.ts'
import { readDer, readSequence } from '../../pki/asn1/der-reader.ts'
import { digests } from '../../pki/cms/algorithms.ts'
import { contentInfo, contentTypes, readContentInfo } from '../../pki/cms/content-info.ts'
import { prepareFailure, preparePending } from '../../pki/scep/cert-rep.ts'
import { readScepRequest } from '../../pki/scep/request.ts'
import { attributeOids } from '../../pki/scep/signed-attributes.ts'
import { indefinite } from './encodings.ts'
import { openssl, Workbench } from './openssl.ts'
import {
  again,
  type Crafted,
  craftRequest,
  refusalOf,
  reply,
  withoutAttributes,
  withSignerInfos,
} from './scep-exchange.ts'
import { makeParty, makePkcs10, type TestParty } from './scep-parties.ts'

let server: TestParty
let device: TestParty
let pkcs10: Buffer
let good: Buffer
const bench = new Workbench()

beforeAll(async () => {
  ;[server, device] = await Promise.all([makeParty({ commonName: 'scep' }), makeParty({ commonName: 'device' })])
  pkcs10 = await makePkcs10()
  good = await craft()
})
afterAll(() => bench.clear())

const craft = (parts: Crafted = {}) => craftRequest(parts, device, server)

test('scep case 22, 23: an octet changed anywhere in envelope, signature or attributes is badMessageCheck', async () => {
  const good = await craft()
  const { envelopeBytes } = readScepRequest(good)
  const start = good.indexOf(envelopeBytes)
  const type = good.indexOf(printableString('19')) + 3
  for (const place of [start + 30, start + envelopeBytes.length - 1, good.length - 1, type]) {
    const changed = Buffer.from(good)
    changed[place] = (changed[place] ?? 0) ^ 0x0e
    expect(refusalOf(() => readScepRequest(changed))).toMatchObject({
      failInfo: 'badMessageCheck',
      reply: { transactionId: { text: 'transaction 1' } },
    })
  }
})

const answerable = { reply: { digest: 'SHA-256', transactionId: { text: 'transaction 1' } } }

test.each<[string, () => Promise<Buffer>]>([
  ['two SignerInfos', async () => withSignerInfos(await craft(), infos => [...infos, ...infos])],
  ['no certificate of the signer', () => craft({ certificates: [server.certificate] })],
  ['no certificates', () => craft({ certificates: [] })],
  ['no contentType', () => craft({ without: attributeOids.contentType })],
  ['no messageDigest', () => craft({ without: attributeOids.messageDigest })],
  ['an envelope of no octets', () => craft({ envelope: Buffer.alloc(0) })],
  ['an envelope that is none', () => craft({ envelope: pkcs10 })],
])('scep case 26: %s is badMessageCheck, and a CertRep can say so', async (_, make) => {
  const der = await make()
  expect(refusalOf(() => readScepRequest(der))).toMatchObject({ failInfo: 'badMessageCheck', ...answerable })
})

test.each<[string, () => Promise<Buffer>]>([
  ['no SignerInfo', async () => withSignerInfos(await craft(), () => [])],
  ['no signed attributes', async () => withSignerInfos(await craft(), infos => infos.map(withoutAttributes))],
  [
    'a wrong signature and no transactionID',
    async () => {
      const der = await craft({ attributes: { transactionId: [] } })
      der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
      return der
    },
  ],
])('scep case 26: %s cannot be answered', async (_, make) => {
  const der = await make()
  expect(refusalOf(() => readScepRequest(der)).reply).toBeNull()
})

const nonce = (octets: number) => octetString(randomBytes(octets))

test.each<[string, Crafted]>([
  ['no messageType', { attributes: { messageType: [] } }],
  ['no senderNonce', { attributes: { senderNonce: [] } }],
  ['two message types', { more: [again('messageType', printableString('17'))] }],
  ['a second value of messageType', { attributes: { messageType: [printableString('19'), printableString('17')] } }],
  ['two senderNonces', { more: [again('senderNonce', nonce(16))] }],
  ['two transactionIDs', { more: [again('transactionId', printableString('transaction 2'))] }],
  ['a nonce of no octets', { attributes: { senderNonce: [nonce(0)] } }],
  ['a nonce of 15 octets', { attributes: { senderNonce: [nonce(15)] } }],
  ['a nonce of 65,000 octets', { attributes: { senderNonce: [nonce(65_000)] } }],
  ['a nonce that is a text', { attributes: { senderNonce: [printableString('0123456789abcdef')] } }],
])('scep case 27: %s is badRequest, and a CertRep can say so', async (_, parts) => {
  const der = await craft(parts)
  const { failInfo, reply } = refusalOf(() => readScepRequest(der))
  expect(failInfo).toBe('badRequest')
  expect(reply?.transactionId.text).toMatch(/^transaction [12]$/)
  expect(reply?.senderNonce?.length ?? 0).toBeLessThan(65)
})

test.each<[string, readonly Buffer[]]>([
  ['no transactionID', []],
  ['an empty transactionID', [printableString('')]],
  ['a transactionID that is no text', [octetString(Buffer.from('x'))]],
  ['a transactionID of 300 octets', [printableString('x'.repeat(300))]],
])('scep case 27: %s is badRequest, with an empty transactionID in the answer', async (_, transactionId) => {
  const der = await craft({ attributes: { transactionId } })
  const { failInfo, reply: context } = refusalOf(() => readScepRequest(der))
  expect(failInfo).toBe('badRequest')
  expect(context?.transactionId).toEqual({ der: printableString(''), text: '' })
  if (!context) throw new Error('no context')
  await expect(reply(prepareFailure(context, 'badRequest', 'No'), server)).resolves.toBeInstanceOf(Buffer)
})

test('scep case 27: with the tolerance switch only the length of the nonce does not matter', async () => {
  const short = await craft({ attributes: { senderNonce: [nonce(15)] } })
  expect(readScepRequest(short, { anyNonceLength: true }).senderNonce).toHaveLength(15)
  for (const senderNonce of [[], [nonce(0)], [nonce(65)], [nonce(16), nonce(16)]]) {
    const der = await craft({ attributes: { senderNonce } })
    expect(refusalOf(() => readScepRequest(der, { anyNonceLength: true })).failInfo).toBe('badRequest')
  }
})

test.each(['18', '3', '99', 'abc', '', '019', '19 ', '-19'])(
  'scep case 28: the messageType "%s" is badRequest',
  async type => {
    const der = await craft({ attributes: { messageType: [printableString(type)] } })
    expect(refusalOf(() => readScepRequest(der))).toMatchObject({ failInfo: 'badRequest', ...answerable })
  },
)

const universal = (text: string): Buffer =>
  tlv(
    tags.universalString,
    ...Array.from(text, point => Buffer.from(`0000000${point.codePointAt(0)?.toString(16)}`.slice(-8), 'hex')),
  )
const strings: Readonly<Record<string, (text: string) => Buffer>> = {
  PrintableString: printableString,
  UTF8String: utf8String,
  IA5String: ia5String,
  T61String: text => tlv(tags.teletexString, Buffer.from(text, 'latin1')),
  BMPString: bmpString,
  UniversalString: universal,
}

test.each(Object.keys(strings))(
  'transactionID and messageType are read as %s, and the id is echoed as it came',
  async name => {
    const write = strings[name] ?? printableString
    const der = await craft({ attributes: { messageType: [write('17')], transactionId: [write('+/=')] } })
    const request = readScepRequest(der)
    expect(request).toMatchObject({ messageType: 'RenewalReq', transactionId: { der: write('+/='), text: '+/=' } })
    const answer = await reply(preparePending(request), server)
    expect(answer.includes(write('+/='))).toBe(true)
  },
)

test('the text of a transactionID is short and has no control characters', async () => {
  const der = await craft({ attributes: { transactionId: [utf8String(`a\u0000\n\u009b${'b'.repeat(200)}`)] } })
  expect(readScepRequest(der).transactionId.text).toBe(`a???${'b'.repeat(96)}`)
})

const des = () => {
  const [aes, single] = [oid('2.16.840.1.101.3.4.1.2'), sequence(oid('1.3.14.3.2.7'), octetString(Buffer.alloc(8)))]
  const { envelopeBytes } = readScepRequest(good)
  const members = readContentInfo(readDer(envelopeBytes), contentTypes.envelopedData)
  const [type, algorithm, content] = readSequence(members[2])
  if (!type || !algorithm?.raw.includes(aes) || !content) throw new Error('no envelope')
  const [version, recipients] = members.map(({ raw }) => raw)
  if (!version || !recipients) throw new Error('no envelope')
  return contentInfo(contentTypes.envelopedData, sequence(version, recipients, sequence(type.raw, single, content.raw)))
}

test('scep case 29: the cipher DES is badAlg', async () => {
  const der = await craft({ envelope: des() })
  expect(refusalOf(() => readScepRequest(der))).toMatchObject({ failInfo: 'badAlg', ...answerable })
})

test('scep case 29: the digest MD5 is badAlg, answered by SHA-1', async () => {
  const [sha256, md5] = [digests['SHA-256'].identifier, sequence(oid('1.2.840.113549.2.5'))]
  const der = withSignerInfos(good, infos =>
    infos.map(info => sequence(...readSequence(readDer(info)).map(({ raw }) => (raw.equals(sha256) ? md5 : raw)))),
  )
  const { failInfo, reply: context } = refusalOf(() => readScepRequest(der))
  expect([failInfo, context?.digest]).toEqual(['badAlg', 'SHA-1'])
})

test('scep case 32: a signer with an EC key is badAlg', async () => {
  const ec = await makePkcs10Signer()
  const der = await craftRequest({}, { ...device, certificate: ec }, server)
  expect(refusalOf(() => readScepRequest(der))).toMatchObject({ failInfo: 'badAlg', ...answerable })
})

const makePkcs10Signer = async (): Promise<Buffer> => {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', await bench.newPath()]
  return (await openssl('req', '-x509', ...key, '-subj', '/CN=ec', '-outform', 'DER')).output
}

test('scep case 39: blanks and zeros may follow a message, other octets are badMessageCheck', async () => {
  for (const form of [good, indefinite(good)]) {
    const tail = Buffer.from('\0\0\r\n \t')
    expect(readScepRequest(Buffer.concat([form, tail])).transactionId.text).toBe('transaction 1')
    const junk = refusalOf(() => readScepRequest(Buffer.concat([form, tail, Buffer.of(1)])))
    expect(junk).toMatchObject({ failInfo: 'badMessageCheck', ...answerable })
  }
})

test('scep case 39: no octets, random ones, a text and a part of a message cannot be answered', () => {
  const texts = ['', '<html>', 'GET / HTTP/1.0', '0', '00', '0\u0080']
  const parts = [good.subarray(0, 100), good.subarray(0, -1), indefinite(good).subarray(0, -2), pkcs10]
  for (const octets of [...texts.map(text => Buffer.from(text, 'latin1')), randomBytes(1000), ...parts])
    expect(refusalOf(() => readScepRequest(octets)).reply).toBeNull()
})
