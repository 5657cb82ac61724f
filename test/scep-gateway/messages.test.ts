// What is in a SCEP message, good and bad, by a running gateway: every refusal is a signed CertRep with its failInfo and one
// text; ../shared/reference/scep.md section 7.
import { constants, publicEncrypt, randomBytes, X509Certificate } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { readWholeBer } from '../../pki/asn1/ber.ts'
import {
  bmpString,
  context,
  integer,
  octetString,
  oid,
  printableString,
  sequence,
  setOf,
  utf8String,
} from '../../pki/asn1/der.ts'
import { readDer, readSequence } from '../../pki/asn1/der-reader.ts'
import { contentCiphers, digests, type ContentCipherName, type DigestName } from '../../pki/cms/algorithms.ts'
import { contentInfo, contentTypes, readContentInfo } from '../../pki/cms/content-info.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { verifySignedData } from '../../pki/cms/signature.ts'
import { attributeValues, readSignedData } from '../../pki/cms/signed-data.ts'
import { signDer } from '../../pki/certificate/signed.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import { attributeOids } from '../../pki/scep/signed-attributes.ts'
import { failInfos, nameOf } from '../../pki/scep/vocabulary.ts'
import { again, craftRequest, withoutAttributes, withSignerInfos, type Crafted } from '../pki/scep-exchange.ts'
import { closing } from '../support/closing.ts'
import { certificatesIn, connect, lookupContent, newDevice, postMessage } from '../support/scep-device.ts'
import { startGateway, type TestGateway } from '../support/scep-gateway.ts'
import { startServiceProxy } from '../support/scep-service-proxy.ts'
import { enrolAt, knownIn, newName, partyOf, refusal, startScep, unauthorised } from '../support/scep-setting.ts'
import type { Owner, ScepSetting } from '../support/scep-setting.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let setting: ScepSetting
let proxy: Awaited<ReturnType<typeof startServiceProxy>>
let gateway: TestGateway
let owner: Owner
let signers: readonly Buffer[]

beforeAll(async () => {
  setting = kept(await startScep())
  const { service, scene } = setting
  proxy = kept(await startServiceProxy(service.url))
  gateway = kept(await startGateway(service, scene, { baseUrl: proxy.url }))
  owner = await enrolAt(gateway.scepUrl, scene)
  signers = (await connect(gateway.scepUrl, owner.device)).signers
})
beforeEach(() => void proxy.calls.splice(0))

const recipient = () => signers[0] as Buffer
const content = () => lookupContent(owner.certificate)
const seal = (octets: Buffer, recipients = [recipient()]) =>
  sealEnvelopedData(octets, { recipients, cipher: 'AES-128-CBC' })
/** A message of the owner's device: GetCert of its own certificate unless parts are otherwise. */
const craft = ({ attributes, ...parts }: Crafted = {}): Promise<Buffer> => {
  const device = partyOf(owner.device)
  const types = { messageType: [printableString('21')] }
  return craftRequest({ envelope: seal(content()), ...parts, attributes: { ...types, ...attributes } }, device, device)
}

/** What a reply says whose signature is that of the service; the status of HTTP when it is none. */
const answerTo = async (der: Buffer, url = gateway.scepUrl) => {
  const response = await postMessage(url, der)
  const bytes = Buffer.from(await response.arrayBuffer())
  if (response.status !== 200) return { http: response.status, text: bytes.toString() }
  expect(response.headers.get('content-type')).toBe('application/x-pki-message')
  const { content: octets, signerInfos } = readWholeBer(bytes, readSignedData)
  verifySignedData({ content: octets ?? Buffer.alloc(0), certificates: signers, crls: [], signerInfos })
  const [info] = signerInfos
  if (!info) throw new Error('The reply has no signature.')
  const text = (name: keyof typeof attributeOids) => attributeValues(info, attributeOids[name])[0]?.content.toString()
  expect(text('messageType')).toBe('3')
  const failInfo = nameOf(failInfos, text('failInfo') ?? '')
  if (failInfo) expect(octets).toHaveLength(0)
  return { status: text('pkiStatus'), failInfo, text: text('failInfoText'), transactionId: text('transactionId') }
}

const failure = { status: '2', transactionId: 'transaction 1' }
const badCheck = { ...failure, failInfo: 'badMessageCheck', text: 'The message cannot be verified or decrypted.' }
const badRequest = { ...failure, failInfo: 'badRequest', text: 'The message is not as RFC 8894 asks.' }
const badAlg = { ...failure, failInfo: 'badAlg', text: 'The algorithm is not supported.' }
const success = { status: '0', failInfo: null, transactionId: 'transaction 1' }

test('the message that the others differ from is answered', async () => {
  expect(await answerTo(await craft())).toMatchObject(success)
  expect(proxy.count('/scep/decrypt')).toBe(1)
})

describe('scep case 22, 23: what the signature does not cover any more', () => {
  test.each([
    ['the beginning of the envelope', (der: Buffer) => der.indexOf(recipientKey(der)) - 20],
    ['the encrypted key', (der: Buffer) => der.indexOf(recipientKey(der)) + 5],
    ['the signature', (der: Buffer) => der.length - 1],
    ['the messageType', (der: Buffer) => der.indexOf(printableString('21')) + 3],
  ])('%s changed is badMessageCheck, and nothing is decrypted', async (_, placeIn) => {
    const der = await craft()
    const place = placeIn(der)
    der[place] = (der[place] ?? 0) ^ 1
    expect(await answerTo(der)).toEqual(badCheck)
    expect(proxy.count('/scep/decrypt')).toBe(0)
  })
})

const recipientKey = (der: Buffer): Buffer => {
  const { content: envelope } = readWholeBer(der, readSignedData)
  return keyIn(envelope ?? Buffer.alloc(0))
}
/** The encrypted key of the only recipient of an envelope. */
const keyIn = (envelope: Buffer): Buffer => {
  const [, recipients] = readContentInfo(readDer(envelope), contentTypes.envelopedData)
  const [info] = recipients?.children ?? []
  const key = readSequence(info).at(-1)?.content
  if (!key) throw new Error('The envelope has no key.')
  return key
}
const replaced = (octets: Buffer, from: Buffer, to: Buffer): Buffer => {
  const place = octets.indexOf(from)
  expect([place > 0, to.length]).toEqual([true, from.length])
  return Buffer.concat([octets.subarray(0, place), to, octets.subarray(place + from.length)])
}

describe('scep case 24: the envelope', () => {
  test('for somebody else is badRequest', async () => {
    const { certificate } = await newDevice('another.example.org')
    expect(await answerTo(await craft({ envelope: seal(content(), [certificate]) }))).toEqual(badRequest)
  })

  test('for three, one of whom is ours, is opened', async () => {
    const others = await Promise.all(['one', 'two'].map(name => newDevice(name, owner.keys)))
    const [one, two] = others.map(({ certificate }) => certificate)
    const envelope = seal(content(), [one as Buffer, recipient(), two as Buffer])
    expect(await answerTo(await craft({ envelope }))).toMatchObject(success)
  })
})

const wrapped = (key: Buffer): Buffer =>
  publicEncrypt({ key: new X509Certificate(recipient()).publicKey, padding: constants.RSA_PKCS1_PADDING }, key)
const withKey = (key: () => Buffer) => (): Buffer => {
  const envelope = seal(content())
  return replaced(envelope, keyIn(envelope), key())
}

describe('scep case 25: an envelope that does not open', () => {
  test.each([
    ['an RSA block of noise', withKey(() => Buffer.concat([Buffer.alloc(1), randomBytes(383)]))],
    ['an RSA block of zeros', withKey(() => Buffer.alloc(384))],
    ['a key that is too long', withKey(() => wrapped(randomBytes(32)))],
    ['a key that is too short', withKey(() => wrapped(randomBytes(8)))],
    ['another key', withKey(() => wrapped(randomBytes(16)))],
    [
      'broken padding of the content',
      () => {
        const envelope = seal(content())
        envelope[envelope.length - 17] = (envelope.at(-17) ?? 0) ^ 0xff
        return envelope
      },
    ],
    ['garbage that unpads', () => seal(randomBytes(500))],
    ['nothing', () => seal(Buffer.alloc(0))],
    ['half of what it should hold', () => seal(content().subarray(0, 20))],
    ['what another message holds', () => seal(sequence(integer(0)))],
  ])('%s is badMessageCheck with the one text', async (_, make) => {
    expect(await answerTo(await craft({ envelope: make() }))).toEqual(badCheck)
    expect(proxy.count('/scep/decrypt')).toBe(1)
  })
})

describe('scep case 26', () => {
  test.each<[string, () => Promise<Buffer>]>([
    ['two SignerInfos', async () => withSignerInfos(await craft(), infos => [...infos, ...infos])],
    ['no certificate of the signer', () => craft({ certificates: [recipient()] })],
    ['no certificates', () => craft({ certificates: [] })],
    ['no contentType', () => craft({ without: attributeOids.contentType })],
    ['no messageDigest', () => craft({ without: attributeOids.messageDigest })],
    ['an envelope that is none', () => craft({ envelope: content() })],
    ['scep case 39: octets behind the message', async () => Buffer.concat([await craft(), Buffer.from('junk')])],
  ])('%s is badMessageCheck', async (_, make) => {
    expect(await answerTo(await make())).toEqual(badCheck)
    expect(proxy.count('/scep/decrypt')).toBe(0)
  })

  test.each<[string, () => Promise<Buffer>]>([
    ['no SignerInfo', async () => withSignerInfos(await craft(), () => [])],
    ['no signed attributes', async () => withSignerInfos(await craft(), infos => infos.map(withoutAttributes))],
  ])('%s is 400, since nothing is there to answer by', async (_, make) => {
    expect(await answerTo(await make())).toEqual({ http: 400, text: 'The message is no CMS SignedData.\n' })
    expect(proxy.count('/scep/sign')).toBe(0)
  })

  test('scep case 39: white space and zeros behind the message do not matter', async () => {
    const tail = Buffer.from('\0\0\r\n \t')
    expect(await answerTo(Buffer.concat([await craft(), tail]))).toMatchObject(success)
  })
})

const nonce = (octets: number) => octetString(randomBytes(octets))

describe('attributes', () => {
  test.each<[string, Crafted]>([
    ['scep case 27: no messageType', { attributes: { messageType: [] } }],
    ['scep case 27: no senderNonce', { attributes: { senderNonce: [] } }],
    ['scep case 27: two message types', { more: [again('messageType', printableString('17'))] }],
    ['scep case 27: two senderNonces', { more: [again('senderNonce', nonce(16))] }],
    ['scep case 27: a nonce of no octets', { attributes: { senderNonce: [nonce(0)] } }],
    ['scep case 27: a nonce of 15 octets', { attributes: { senderNonce: [nonce(15)] } }],
    ...['18', '3', '99', 'abc', ''].map(
      type =>
        [`scep case 28: messageType "${type}"`, { attributes: { messageType: [printableString(type)] } }] as [
          string,
          Crafted,
        ],
    ),
  ])('%s is badRequest', async (_, parts) => {
    expect(await answerTo(await craft(parts))).toEqual(badRequest)
    expect(proxy.count('/scep/decrypt')).toBe(0)
  })

  test.each<[string, Crafted]>([
    ['no transactionID', { attributes: { transactionId: [] } }],
    ['an empty one', { attributes: { transactionId: [printableString('')] } }],
    ['two', { more: [again('transactionId', printableString('transaction 1'))] }],
  ])('scep case 27: %s is badRequest', async (_, parts) => {
    expect(await answerTo(await craft(parts))).toMatchObject({ status: '2', failInfo: 'badRequest' })
  })
})

/** A PKCS#10 request with these attributes. */
const csrWith = (name: string, ...attributes: readonly Buffer[]): Promise<Buffer> => {
  const info = sequence(
    integer(0),
    encodeName(subjectName({ commonName: name })),
    owner.keys.publicKeySpki,
    context(0, ...attributes),
  )
  return signDer(info, owner.device.key)
}
const challengeOid = oid('1.2.840.113549.1.9.7')
const challenge = (...values: readonly Buffer[]): Buffer => sequence(challengeOid, setOf(...values))

describe('challenges', () => {
  const enrol = async (make: (name: string, text: string) => Promise<Buffer>, url = gateway.scepUrl) => {
    const name = newName()
    const { endEntityId, challenge: text } = await knownIn(setting.scene, name)
    const connection = await connect(url, await newDevice(name, owner.keys))
    const reply = await connection.ask({ messageType: 'PKCSReq', content: await make(name, text) })
    return { reply, requests: await setting.service.em().count(CertRequest, { endEntityId }) }
  }

  test.each([
    ['PrintableString', printableString],
    ['UTF8String', utf8String],
    ['BMPString', bmpString],
  ])('scep case 5: as %s are read', async (_, write) => {
    const { reply } = await enrol((name, text) => csrWith(name, challenge(write(text))))
    expect(certificatesIn(reply)).toHaveLength(3)
  })

  test.each([
    ['UTF8String', utf8String],
    ['BMPString', bmpString],
  ])('scep case 5, 12: with colons and umlauts as %s are read', async (_, write) => {
    const password = 'Grüße: an alle: 東京'
    const properties = { 'scep.static-password': password }
    const open = opened(await startGateway(setting.service, setting.scene, { properties }))
    const { reply } = await enrol(name => csrWith(name, challenge(write(password))), open.scepUrl)
    expect(certificatesIn(reply)).toHaveLength(3)
    expect(open.logged()).not.toContain('Grüße')
  })

  test.each<[string, (text: string) => Buffer[]]>([
    ['two attributes', text => [challenge(printableString(text)), challenge(printableString(text))]],
    ['two values', text => [challenge(printableString(text), printableString('another'))]],
    ['an OCTET STRING', text => [challenge(octetString(Buffer.from(text)))]],
  ])('scep case 10: %s are refused as a wrong one', async (_, make) => {
    const { reply, requests } = await enrol((name, text) => csrWith(name, ...make(text)))
    expect(refusal(reply)).toEqual(unauthorised)
    expect(requests).toBe(0)
  })

  const malformed: Readonly<Record<string, () => Buffer>> = {
    'no colon': () => challenge(utf8String('no-colon')),
    'no UUID': () => challenge(utf8String('router-7:secret')),
    'no password': () => challenge(utf8String(owner.endEntityId)),
    'neither of them': () => challenge(utf8String(':')),
    'NUL in its password': () => challenge(utf8String(`${owner.endEntityId}:a\u0000b`)),
    'half a character in it': () => challenge(bmpString(`${owner.endEntityId}:a\ud800`)),
    'no value': () => challenge(),
    'two values': () => challenge(utf8String('a'), utf8String('b')),
    'a number as its value': () => challenge(integer(1)),
  }

  test.each(Object.entries(malformed))(
    'scep case 8: with %s are refused although the signer is a valid certificate',
    async (_, make) => {
      const connection = await connect(gateway.scepUrl, owner.device)
      const reply = await connection.ask({ messageType: 'RenewalReq', content: await csrWith(owner.name, make()) })
      expect(refusal(reply)).toEqual(unauthorised)
      expect(proxy.count('/certificates/by-fingerprint')).toBe(0)
    },
  )

  test('scep case 9: an empty one is none: the valid certificate of the signer decides', async () => {
    const connection = await connect(gateway.scepUrl, owner.device)
    const request = await csrWith(owner.name, challenge(utf8String('')))
    expect(certificatesIn(await connection.ask({ messageType: 'RenewalReq', content: request }))).toHaveLength(3)
  })
})

const single = (): Buffer => {
  const [type, recipients, encrypted] = readContentInfo(readDer(seal(content())), contentTypes.envelopedData)
  const [kind, , octets] = readSequence(encrypted)
  if (!type || !recipients || !kind || !octets) throw new Error('It is no envelope.')
  const des = sequence(oid('1.3.14.3.2.7'), octetString(Buffer.alloc(8)))
  return contentInfo(
    contentTypes.envelopedData,
    sequence(type.raw, recipients.raw, sequence(kind.raw, des, octets.raw)),
  )
}
const md5 = (der: Buffer): Buffer =>
  withSignerInfos(der, infos =>
    infos.map(info =>
      sequence(
        ...readSequence(readDer(info)).map(({ raw }) =>
          raw.equals(digests['SHA-256'].identifier) ? sequence(oid('1.2.840.113549.2.5')) : raw,
        ),
      ),
    ),
  )

describe('scep case 29: old algorithms', () => {
  test('DES and MD5 are badAlg always', async () => {
    expect(await answerTo(await craft({ envelope: single() }))).toEqual(badAlg)
    expect(await answerTo(md5(await craft()))).toEqual(badAlg)
    expect(proxy.count('/scep/decrypt')).toBe(0)
  })

  test('DES3 and SHA-1 are badAlg when they are switched off, and nothing is decrypted', async () => {
    const properties = { 'scep.legacy-algorithms': 'false' }
    const modern = opened(await startGateway(setting.service, setting.scene, { properties, baseUrl: proxy.url }))
    const connection = await connect(modern.scepUrl, owner.device)
    for (const [digest, cipher] of [
      ['SHA-256', 'DES-EDE3-CBC'],
      ['SHA-1', 'AES-128-CBC'],
    ] as const) {
      const reply = await connection.ask({ messageType: 'GetCert', content: content(), algorithms: { digest, cipher } })
      expect([reply.status, reply.failInfo, reply.digest]).toEqual(['FAILURE', 'badAlg', 'SHA-256'])
    }
    expect(proxy.count('/scep/decrypt')).toBe(0)
  })
})

const matrix = (Object.keys(contentCiphers) as ContentCipherName[]).flatMap(cipher =>
  (Object.keys(digests) as DigestName[]).flatMap(digest =>
    (['PKCS1', 'PSS'] as const).map(scheme => ({ cipher, digest, scheme })),
  ),
)
const transports = ['PKCS1', { oaep: 'SHA-1' }, { oaep: 'SHA-256' }] as const

describe('scep case 30', () => {
  test.each(matrix)('$cipher, $digest, $scheme are mirrored', async algorithms => {
    const connection = await connect(gateway.scepUrl, owner.device)
    for (const transport of transports) {
      const draft = { messageType: 'GetCert', content: content(), algorithms: { ...algorithms, transport } } as const
      const { digest, cipher } = algorithms
      expect(await connection.ask(draft)).toMatchObject({ status: 'SUCCESS', digest, contentCipher: cipher })
    }
  })
})
