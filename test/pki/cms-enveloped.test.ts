// CMS envelopes against openssl both ways, and that nothing tells why one does not open.
import { constants, publicEncrypt, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { context, implicit, integer, octetString, oid, sequence, setOf, tlv } from '../../pki/asn1/der.ts'
import { type ContentCipherName, contentCiphers } from '../../pki/cms/algorithms.ts'
import { CmsError } from '../../pki/cms/cms-error.ts'
import { contentInfo, contentTypes } from '../../pki/cms/content-info.ts'
import { isAddressedTo, readEnvelopedData } from '../../pki/cms/enveloped-data.ts'
import { hasImplicitRejection, type KeyTransport, unwrapKey } from '../../pki/cms/key-transport.ts'
import { openEnvelopedData } from '../../pki/cms/opening.ts'
import { readParty } from '../../pki/cms/parties.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { openssl, Workbench } from './openssl.ts'
import { filesOf, makeParty, type TestParty } from './scep-parties.ts'

const bench = new Workbench()
const ciphers = Object.keys(contentCiphers) as ContentCipherName[]
const content = Buffer.from('What the device asks for, ü'.repeat(100))

let server: TestParty
let former: TestParty
let stranger: TestParty
let files: Awaited<ReturnType<typeof filesOf>>

beforeAll(async () => {
  ;[server, former, stranger] = await Promise.all([
    makeParty({ commonName: 'scep' }),
    makeParty({ commonName: 'scep', serialNumber: '7a00' }),
    makeParty({ commonName: 'other', serialNumber: '11' }),
  ])
  files = await filesOf(bench, server)
})
afterAll(() => bench.clear())

/** The fault of the CmsError that the call throws. */
const faultOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (error instanceof CmsError) return `${error.fault}: ${error.message}`
    throw error
  }
  throw new Error('The call succeeded')
}

const oaep = ['-keyopt', 'rsa_padding_mode:oaep']
const opensslTransports: Readonly<Record<string, readonly string[]>> = {
  'PKCS#1 v1.5': [],
  'OAEP without parameters': oaep,
  'OAEP with SHA-256': [...oaep, '-keyopt', 'rsa_oaep_md:sha256'],
  'OAEP with SHA-512': [...oaep, '-keyopt', 'rsa_oaep_md:sha512'],
}
const opensslForms: Readonly<Record<string, readonly string[]>> = {
  DER: [],
  'BER of indefinite length': ['-stream'],
  subjectKeyIdentifier: ['-keyid'],
}
const opensslCipher = (name: ContentCipherName) => (name === 'DES-EDE3-CBC' ? '-des3' : `-${name.toLowerCase()}`)

const fromOpenssl = ciphers.flatMap(cipher =>
  Object.keys(opensslTransports).flatMap(transport =>
    Object.keys(opensslForms).map(form => ({ cipher, transport, form })),
  ),
)

test.each(fromOpenssl)('scep case 30, 31: we open what openssl seals: $cipher, $transport, $form', async row => {
  const out = await bench.newPath()
  const options = [...(opensslForms[row.form] ?? []), opensslCipher(row.cipher)]
  const transport = opensslTransports[row.transport] ?? []
  const input = await bench.file(content)
  const target = ['-recip', files.certificateFile, ...transport]
  await openssl('cms', '-encrypt', '-binary', '-in', input, '-outform', 'DER', '-out', out, ...options, ...target)
  const sealed = await readFile(out)
  expect(sealed.subarray(0, 2).equals(Buffer.of(0x30, 0x80))).toBe(row.form === 'BER of indefinite length')
  const candidates = [former, server]
  expect(openEnvelopedData(sealed, candidates)).toEqual({ content, contentCipher: row.cipher })
})

const transports: readonly KeyTransport[] = ['PKCS1', { oaep: 'SHA-1' }, { oaep: 'SHA-256' }, { oaep: 'SHA-384' }]

test.each(ciphers.flatMap(cipher => transports.map(transport => ({ cipher, transport }))))(
  'openssl and we open what we seal: $cipher, $transport',
  async ({ cipher, transport }) => {
    const sealed = sealEnvelopedData(content, { recipients: [server.certificate], cipher, transport })
    const target = ['-inkey', files.keyFile, '-recip', files.certificateFile]
    const verdict = await openssl(
      'cms',
      '-decrypt',
      '-binary',
      '-inform',
      'DER',
      '-in',
      await bench.file(sealed),
      ...target,
    )
    expect(verdict.output).toEqual(content)
    expect(openEnvelopedData(sealed, [server])).toEqual({ content, contentCipher: cipher })
  },
)

test('what we seal is definite DER with the encrypted content in one piece', async () => {
  const sealed = sealEnvelopedData(Buffer.alloc(5000), { recipients: [server.certificate], cipher: 'AES-128-CBC' })
  const { text } = await openssl('asn1parse', '-inform', 'DER', '-in', await bench.file(sealed))
  expect(text).toMatch(/l=5008 prim: +cont \[ 0 \]/)
  expect(text).not.toContain('l=inf')
})

test('scep case 24: an envelope for another is told from ours, also among three recipients', () => {
  const foreign = sealEnvelopedData(content, { recipients: [stranger.certificate], cipher: 'AES-128-CBC' })
  expect(isAddressedTo(readEnvelopedData(foreign), [server.certificate])).toBe(false)
  const recipients = [stranger.certificate, former.certificate, server.certificate]
  const several = sealEnvelopedData(content, { recipients, cipher: 'AES-128-CBC' })
  expect(isAddressedTo(readEnvelopedData(several), [server.certificate])).toBe(true)
  expect(openEnvelopedData(several, [server]).content).toEqual(content)
})

interface Crafted {
  readonly id?: Buffer
  readonly transport?: Buffer
  readonly encryptedKey?: Buffer
  readonly algorithm?: Buffer
  readonly encrypted?: Buffer
}

const rsaEncryption = sequence(oid('1.2.840.113549.1.1.1'))
const wrap = (key: Buffer) => publicEncrypt({ key: server.publicKey, padding: constants.RSA_PKCS1_PADDING }, key)
const aes = (iv: Buffer = Buffer.alloc(16)) => sequence(oid(contentCiphers['AES-128-CBC'].oid), octetString(iv))

/** An envelope by hand: each part can be wrong. */
const craft = (parts: Crafted): Buffer => {
  const { issuer, serialNumber } = readParty(server.certificate)
  const id = parts.id ?? sequence(issuer, tlv(0x02, serialNumber))
  const key = parts.encryptedKey ?? wrap(randomBytes(16))
  const recipient = sequence(integer(0), id, parts.transport ?? rsaEncryption, octetString(key))
  const encrypted = parts.encrypted ?? implicit(0, randomBytes(160))
  const info = sequence(oid(contentTypes.data), parts.algorithm ?? aes(), encrypted)
  return contentInfo(contentTypes.envelopedData, sequence(integer(0), setOf(recipient), info))
}

/** The parts of an envelope whose content is the text. */
const crafted = (text: Buffer) => {
  const sealed = sealEnvelopedData(text, { recipients: [server.certificate], cipher: 'AES-128-CBC' })
  const { recipients, iv, encryptedContent } = readEnvelopedData(sealed)
  const [recipient] = recipients
  if (!recipient) throw new Error('no recipient')
  const encrypted = implicit(0, encryptedContent)
  return { encryptedKey: recipient.encryptedKey, algorithm: aes(iv), encrypted, encryptedContent }
}

test('key encryption without NULL, and an issuer whose parts stand in another order or are written anew', () => {
  const parts = crafted(content)
  const { serialNumber } = readParty(server.certificate)
  const serial = tlv(0x02, serialNumber)
  const rdn = (type: string, tag: number, text: string) => setOf(sequence(oid(type), tlv(tag, Buffer.from(text))))
  const [country, organization] = [rdn('2.5.4.6', 0x13, 'DE'), rdn('2.5.4.10', 0x0c, 'Größe & Co')]
  const names = [
    sequence(rdn('2.5.4.3', 0x0c, 'scep'), country, organization),
    sequence(rdn('2.5.4.3', 0x13, 'scep'), country, organization),
  ]
  for (const name of names)
    expect(openEnvelopedData(craft({ ...parts, id: sequence(name, serial) }), [former, server]).content).toEqual(
      content,
    )
})

test('a serial number alone is not enough where two candidates have it', async () => {
  const twin = await makeParty({ commonName: 'twin' })
  const id = sequence(sequence(), tlv(0x02, readParty(server.certificate).serialNumber))
  expect(faultOf(() => openEnvelopedData(craft({ ...crafted(content), id }), [twin, server]))).toMatch('DECRYPTION')
  expect(openEnvelopedData(craft({ ...crafted(content), id }), [former, server]).content).toEqual(content)
})

test('an encrypted content in definite pieces is joined', () => {
  const parts = crafted(content)
  const whole = parts.encryptedContent
  const pieces = context(0, octetString(whole.subarray(0, 1000)), octetString(whole.subarray(1000)))
  expect(openEnvelopedData(craft({ ...parts, encrypted: pieces }), [server]).content).toEqual(content)
})

const one = 'DECRYPTION: The data cannot be decrypted'

const flipped = (octets: Buffer, place: number): Buffer =>
  Buffer.from(octets.map((octet, index) => (index === place ? octet ^ 1 : octet)))

type Parts = ReturnType<typeof crafted>

test.each<[string, (parts: Parts) => Crafted]>([
  ['a broken block', () => ({ encryptedKey: Buffer.concat([Buffer.of(0), randomBytes(255)]) })],
  ['a block above the modulus', () => ({ encryptedKey: Buffer.alloc(256, 0xff) })],
  ['a block of another length', () => ({ encryptedKey: randomBytes(100) })],
  ['an empty block', () => ({ encryptedKey: Buffer.alloc(0) })],
  ['a key of another length', () => ({ encryptedKey: wrap(randomBytes(24)) })],
  ['another key', () => ({ encryptedKey: wrap(randomBytes(16)) })],
  ['broken padding', ({ encrypted }) => ({ encrypted: flipped(encrypted, encrypted.length - 17) })],
  ['half a block of content', () => ({ encrypted: implicit(0, randomBytes(30)) })],
  ['content of no octets', () => ({ encrypted: implicit(0, Buffer.alloc(0)) })],
  ['broken OAEP', () => ({ transport: sequence(oid('1.2.840.113549.1.1.7'), sequence()) })],
])('scep case 25: %s fails as all else', (_, wrong) => {
  // A wrong key unpads once in 250 times, so five draws all do once in 10^12.
  const outcomes = Array.from({ length: 5 }, () => {
    const parts = crafted(content)
    return outcomeOf(craft({ ...parts, ...wrong(parts) }))
  })
  expect(outcomes).toContain(one)
  expect(outcomes).not.toContain(content.toString('hex'))
  expect(outcomes.filter(outcome => outcome !== one && !/^[0-9a-f]*$/.test(outcome))).toEqual([])
})

test('scep case 25: no candidate, or none that is a recipient, fails as all else', () => {
  const sealed = craft(crafted(content))
  expect(faultOf(() => openEnvelopedData(sealed, [stranger]))).toBe(one)
  expect(faultOf(() => openEnvelopedData(sealed, []))).toBe(one)
})

const outcomeOf = (sealed: Buffer): string => {
  try {
    return openEnvelopedData(sealed, [server]).content.toString('hex')
  } catch (error) {
    return error instanceof CmsError ? `${error.fault}: ${error.message}` : 'thrown'
  }
}

test('scep case 25: 300 random blocks are refused or decrypt to garbage, and each does the same again', () => {
  const sealed = Array.from({ length: 300 }, () =>
    craft({ encryptedKey: Buffer.concat([Buffer.of(0), randomBytes(255)]) }),
  )
  const outcomes = sealed.map(outcomeOf)
  expect(outcomes).not.toContain('thrown')
  expect(sealed.map(outcomeOf)).toEqual(outcomes)
  const garbage = outcomes.filter(outcome => outcome !== one)
  expect(garbage.length).toBeLessThan(30)
})

test('a wrong block yields a key of the right length, the same for the same block, another for another', () => {
  const [recipient] = readEnvelopedData(craft({})).recipients
  if (!recipient) throw new Error('no recipient')
  const unwrap = (encryptedKey: Buffer, octets: number) => unwrapKey({ ...recipient, encryptedKey }, server.key, octets)
  const keyOf24 = wrap(randomBytes(24))
  for (const octets of [16, 32]) {
    expect(unwrap(keyOf24, octets)).toHaveLength(octets)
    expect(unwrap(keyOf24, octets)).toEqual(unwrap(keyOf24, octets))
    expect(unwrap(wrap(randomBytes(24)), octets)).not.toEqual(unwrap(keyOf24, octets))
  }
  const contentKey = randomBytes(24)
  expect(unwrap(wrap(contentKey), 24)).toEqual(contentKey)
})

test('this openssl rejects broken blocks silently', async () => {
  await expect(hasImplicitRejection()).resolves.toBe(true)
})

test.each([
  ['DES-CBC', '1.3.14.3.2.7'],
  ['RC2-CBC', '1.2.840.113549.3.2'],
  ['1.2.840.113549.3.4', '1.2.840.113549.3.4'],
])('scep case 29: the cipher %s is refused by name', (name, dotted) => {
  const algorithm = sequence(oid(dotted), octetString(Buffer.alloc(8)))
  expect(faultOf(() => readEnvelopedData(craft({ algorithm })))).toBe(
    `ALGORITHM: The algorithm ${name} is not supported`,
  )
})

const sha256 = sequence(oid('2.16.840.1.101.3.4.2.1'))
const mgf1 = (digest: Buffer) => context(1, sequence(oid('1.2.840.113549.1.1.8'), digest))
const oaepWith = (...members: readonly Buffer[]) => sequence(oid('1.2.840.113549.1.1.7'), sequence(...members))

test.each([
  ['RSASSA-PSS', sequence(oid('1.2.840.113549.1.1.10'))],
  ['OAEP with MD5', oaepWith(context(0, sequence(oid('1.2.840.113549.2.5'))))],
  ['OAEP with a mask by another digest', oaepWith(context(0, sha256))],
  ['OAEP with an unknown mask', oaepWith(context(0, sha256), context(1, sequence(oid('1.2.3'), sha256)))],
  ['OAEP with an unknown label', oaepWith(context(0, sha256), mgf1(sha256), context(2, sequence(oid('1.2.3'))))],
])('key transport by %s is refused', (_, transport) => {
  // Everybody who reads it can see that, without a key.
  expect(faultOf(() => readEnvelopedData(craft({ transport })))).toMatch(/^ALGORITHM/)
  expect(faultOf(() => openEnvelopedData(craft({ transport }), [server]))).toMatch(/^ALGORITHM/)
})

test.each<[string, Crafted]>([
  ['an initialisation vector of 15 octets', { algorithm: aes(Buffer.alloc(15)) }],
  ['no initialisation vector', { algorithm: sequence(oid(contentCiphers['AES-128-CBC'].oid)) }],
  ['no encrypted content', { encrypted: Buffer.alloc(0) }],
  ['encrypted content of another type', { encrypted: integer(1) }],
  ['a recipient without a name', { id: integer(1) }],
])('%s is malformed', (_, parts) => {
  expect(faultOf(() => readEnvelopedData(craft(parts)))).toMatch(/^MALFORMED/)
})
