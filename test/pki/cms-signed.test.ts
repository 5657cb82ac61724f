// CMS signatures and bags against openssl both ways.
import { hash, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readWholeBer } from '../../pki/asn1/ber.ts'
import { bitString, context, derNull, integer, octetString, oid, sequence, setOf, tlv } from '../../pki/asn1/der.ts'
import { readDer, readSequence } from '../../pki/asn1/der-reader.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { encodeEntries, signCrl } from '../../pki/crl.ts'
import { type DigestName, digests } from '../../pki/cms/algorithms.ts'
import { CmsError, readingCms } from '../../pki/cms/cms-error.ts'
import { contentInfo, contentTypes } from '../../pki/cms/content-info.ts'
import { certificatesOnly, crlOnly, readBag } from '../../pki/cms/degenerate.ts'
import { readParty } from '../../pki/cms/parties.ts'
import { verifySignedData } from '../../pki/cms/signature.ts'
import { readSignedData } from '../../pki/cms/signed-data.ts'
import { assembleSignedData, attribute, signedAttributes } from '../../pki/cms/signed-data-writer.ts'
import { type SignatureScheme, signAttributes } from '../../pki/cms/signing.ts'
import { openssl, Workbench } from './openssl.ts'
import { filesOf, makeParty, type TestParty } from './scep-parties.ts'

const bench = new Workbench()
const digestNames = Object.keys(digests) as DigestName[]
const schemes: readonly SignatureScheme[] = ['PKCS1', 'PSS']
const content = Buffer.from('An envelope, or what looks like one. '.repeat(50))

let party: TestParty
let other: TestParty
let namesake: TestParty
let ec: Pick<TestParty, 'certificate'>
let small: Pick<TestParty, 'certificate'>
let files: Awaited<ReturnType<typeof filesOf>>

beforeAll(async () => {
  ;[party, other, namesake] = await Promise.all([
    makeParty({ commonName: 'device' }),
    makeParty({ commonName: 'other' }),
    makeParty({ commonName: 'device' }),
  ])
  files = await filesOf(bench, party)
  ec = { certificate: await opensslCertificate('ec', 'ec_paramgen_curve:P-256') }
  small = { certificate: await opensslCertificate('rsa', 'rsa_keygen_bits:512') }
})
afterAll(() => bench.clear())

const opensslCertificate = async (algorithm: string, option: string): Promise<Buffer> => {
  const key = ['-newkey', algorithm, '-pkeyopt', option, '-nodes', '-keyout', await bench.newPath()]
  return (await openssl('req', '-x509', ...key, '-subj', '/CN=device', '-outform', 'DER')).output
}

const read = (der: Buffer) => readWholeBer(der, readSignedData)
const verify = (der: Buffer) => verifySignedData(read(der))

const faultOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (error instanceof CmsError) return `${error.fault}: ${error.message}`
    throw error
  }
  throw new Error('The call succeeded')
}

const forms: Readonly<Record<string, readonly string[]>> = {
  DER: [],
  'BER of indefinite length': ['-stream'],
  subjectKeyIdentifier: ['-keyid'],
}

const opensslSign = async (...options: readonly string[]): Promise<Buffer> => {
  const out = await bench.newPath()
  const input = ['-in', await bench.file(content), '-signer', files.certificateFile, '-inkey', files.keyFile]
  await openssl('cms', '-sign', '-binary', '-nodetach', '-outform', 'DER', '-out', out, ...input, ...options)
  return readFile(out)
}

// openssl 3.0 cannot stream RSASSA-PSS.
const fromOpenssl = digestNames
  .flatMap(digest => schemes.flatMap(scheme => Object.keys(forms).map(form => ({ digest, scheme, form }))))
  .filter(({ scheme, form }) => scheme === 'PKCS1' || form !== 'BER of indefinite length')

test.each(fromOpenssl)('scep case 30, 31: we verify what openssl signs: $digest, $scheme, $form', async row => {
  const pss = row.scheme === 'PSS' ? ['-keyopt', 'rsa_padding_mode:pss'] : []
  const form = forms[row.form] ?? []
  const signed = await opensslSign('-md', digests[row.digest].hash, ...pss, ...form)
  expect(signed.subarray(0, 2).equals(Buffer.of(0x30, 0x80))).toBe(row.form === 'BER of indefinite length')
  const { signer, digest } = verify(signed)
  expect(signer.der).toEqual(party.certificate)
  expect(digest.name).toBe(row.digest)
  expect(read(signed).content).toEqual(content)
})

test('scep case 29: a message by MD5 is refused by name', async () => {
  const signed = await opensslSign('-md', 'md5')
  expect(faultOf(() => verify(signed))).toBe('ALGORITHM: The algorithm MD5 is not supported')
})

interface Draft {
  readonly digest?: DigestName
  readonly scheme?: SignatureScheme
  readonly certificates?: readonly Buffer[]
}

const make = async ({ digest = 'SHA-256', scheme = 'PKCS1', certificates = [party.certificate] }: Draft = {}) => {
  const attributes = signedAttributes(content, digest, [attribute('1.2.3.4', octetString(Buffer.from('x')))])
  const signature = await signAttributes(attributes, party.key, { digest, scheme })
  const signer = party.certificate
  return assembleSignedData({ content, digest, signedAttributes: attributes, ...signature, signer, certificates })
}

test.each(digestNames.flatMap(digest => schemes.map(scheme => ({ digest, scheme }))))(
  'openssl and we verify what we sign: $digest, $scheme',
  async ({ digest, scheme }) => {
    const signed = await make({ digest, scheme })
    const trust = ['-CAfile', files.certificateFile, '-purpose', 'any', '-partial_chain']
    const input = await bench.file(signed)
    const verdict = await openssl('cms', '-verify', '-binary', '-inform', 'DER', '-in', input, ...trust)
    expect(verdict.output).toEqual(content)
    expect(verify(signed).signer.der).toEqual(party.certificate)
  },
)

test('certificates keep their order, which is not that of their octets', async () => {
  const [one, two] = [party.certificate, other.certificate].toSorted((a, b) => Buffer.compare(b, a)) as [Buffer, Buffer]
  for (const certificates of [
    [one, two, one],
    [two, one],
  ])
    expect(read(await make({ certificates })).certificates).toEqual(certificates)
})

test('scep case 23: each changed octet of signature, attributes or content is noticed', async () => {
  const signed = await make()
  const attributeValue = signed.lastIndexOf(Buffer.from('2a0304', 'hex')) + 7
  for (const place of [signed.length - 1, signed.indexOf(content) + 3, attributeValue]) {
    const changed = Buffer.from(signed)
    changed[place] = (changed[place] ?? 0) ^ 0x01
    expect(faultOf(() => verify(changed))).toMatch(/^SIGNATURE/)
  }
})

interface Raw {
  readonly id?: Buffer
  readonly digestAlgorithm?: Buffer
  readonly attributes?: readonly Buffer[] | null
  readonly signatureAlgorithm?: Buffer
  readonly signature?: (attributes: Buffer) => Buffer
  readonly certificates?: readonly Buffer[]
  readonly count?: number
  readonly content?: Buffer | null
}

const contentType = (type: string = contentTypes.data) => attribute('1.2.840.113549.1.9.3', oid(type))
const messageDigest = (octets = content) =>
  attribute('1.2.840.113549.1.9.4', octetString(hash('sha256', octets, 'buffer')))
const rsaEncryption = sequence(oid('1.2.840.113549.1.1.1'), derNull)
const pkcs1 = (attributes: Buffer) => sign('sha256', attributes, party.key)

const signerInfo = (raw: Raw): Buffer => {
  const { issuer, serialNumber } = readParty(party.certificate)
  const attributes = raw.attributes === undefined ? [contentType(), messageDigest()] : raw.attributes
  return sequence(
    integer(1),
    raw.id ?? sequence(issuer, tlv(0x02, serialNumber)),
    raw.digestAlgorithm ?? sequence(oid('2.16.840.1.101.3.4.2.1')),
    ...(attributes ? [context(0, ...attributes)] : []),
    raw.signatureAlgorithm ?? rsaEncryption,
    octetString((raw.signature ?? pkcs1)(tlv(0x31, ...(attributes ?? [])))),
  )
}

/** A SignedData by hand: each part can be wrong. */
const craft = (raw: Raw): Buffer => {
  const infos = Array.from({ length: raw.count ?? 1 }, () => signerInfo(raw))
  const octets = raw.content === undefined ? content : raw.content
  const encapsulated = octets ? [context(0, octetString(octets))] : []
  const certificates = raw.certificates ?? [party.certificate]
  return contentInfo(
    contentTypes.signedData,
    sequence(
      integer(1),
      setOf(),
      sequence(oid(contentTypes.data), ...encapsulated),
      context(0, ...certificates),
      tlv(0x31, ...infos),
    ),
  )
}

const unsorted = () => [messageDigest(), contentType()].toSorted((one, two) => Buffer.compare(two, one))

test('scep case 31: attributes out of order are signed as they stand or as they should', () => {
  const sorted = () => sign('sha256', setOf(...unsorted()), party.key)
  expect(verify(craft({ attributes: unsorted() })).digest.name).toBe('SHA-256')
  expect(verify(craft({ attributes: unsorted(), signature: sorted })).digest.name).toBe('SHA-256')
  const other = () => sign('sha256', setOf(contentType()), party.key)
  expect(faultOf(() => verify(craft({ attributes: unsorted(), signature: other })))).toMatch(/^SIGNATURE/)
})

test.each<[string, () => Raw]>([
  ['a digest algorithm with NULL', () => ({ digestAlgorithm: digests['SHA-256'].identifier })],
  ['a signature algorithm without NULL', () => ({ signatureAlgorithm: sequence(oid('1.2.840.113549.1.1.1')) })],
  ['the signature algorithm sha256WithRSA', () => ({ signatureAlgorithm: sequence(oid('1.2.840.113549.1.1.11')) })],
  ['a signer named by its key identifier', () => ({ id: tlv(0x80, skiOf(party.certificate)) })],
  ['the signer after another certificate', () => ({ certificates: [other.certificate, party.certificate] })],
  ['a namesake of another key before it', () => ({ certificates: [namesake.certificate, party.certificate] })],
  ['an unreadable certificate before it', () => ({ certificates: [sequence(integer(1)), party.certificate] })],
])('%s is accepted', (_, raw) => {
  expect(verify(craft(raw())).signer.der).toEqual(party.certificate)
})

const skiOf = (certificate: Buffer): Buffer => parseCertificate(certificate).ski ?? Buffer.alloc(0)

test.each<[string, string, () => Raw]>([
  ['scep case 26: two signatures', 'SIGNATURE', () => ({ count: 2 })],
  ['scep case 26: no signature', 'SIGNATURE', () => ({ count: 0 })],
  ['scep case 26: no certificate of the signer', 'SIGNATURE', () => ({ certificates: [other.certificate] })],
  ['scep case 26: no signed attributes', 'SIGNATURE', () => ({ attributes: null })],
  ['scep case 26: no contentType', 'SIGNATURE', () => ({ attributes: [messageDigest()] })],
  ['no messageDigest', 'SIGNATURE', () => ({ attributes: [contentType()] })],
  ['two messageDigests', 'SIGNATURE', () => ({ attributes: [contentType(), messageDigest(), messageDigest()] })],
  ['a contentType of another kind', 'SIGNATURE', () => ({ attributes: [contentType('1.2.3'), messageDigest()] })],
  [
    'a messageDigest of other octets',
    'SIGNATURE',
    () => ({ attributes: [contentType(), messageDigest(Buffer.of(1))] }),
  ],
  ['no content', 'SIGNATURE', () => ({ content: null })],
  ['the key of a namesake', 'SIGNATURE', () => ({ certificates: [namesake.certificate] })],
  ['a signature by another digest', 'SIGNATURE', () => ({ signatureAlgorithm: sequence(oid('1.2.840.113549.1.1.5')) })],
  ['MD5 with RSA', 'ALGORITHM', () => ({ signatureAlgorithm: sequence(oid('1.2.840.113549.1.1.4')) })],
  ['ECDSA', 'ALGORITHM', () => ({ signatureAlgorithm: sequence(oid('1.2.840.10045.4.3.2')) })],
  ['SHA-224', 'ALGORITHM', () => ({ digestAlgorithm: sequence(oid('2.16.840.1.101.3.4.2.4')) })],
  ['scep case 32: a signer with an EC key', 'ALGORITHM', () => ({ id: issuerOf(ec), certificates: [ec.certificate] })],
  ['an RSA key of 512 bits', 'ALGORITHM', () => ({ id: issuerOf(small), certificates: [small.certificate] })],
  ['PSS without parameters', 'MALFORMED', () => ({ signatureAlgorithm: sequence(oid('1.2.840.113549.1.1.10')) })],
  ['a signer without a name', 'MALFORMED', () => ({ id: integer(1) })],
])('%s is refused', (_, fault, raw) => {
  expect(faultOf(() => readingCms(() => verify(craft(raw()))))).toMatch(new RegExp(`^${fault}: `))
})

const issuerOf = ({ certificate }: Pick<TestParty, 'certificate'>): Buffer => {
  const { issuer, serialNumber } = readParty(certificate)
  return sequence(issuer, tlv(0x02, serialNumber))
}

const exponentOf = (exponent: bigint): Buffer => {
  const hex = exponent.toString(16)
  return integer(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'))
}

/** The certificate of the party with another public exponent, which nobody has to sign for. */
const withExponent = (exponent: bigint): Buffer => {
  const { n } = party.publicKey.export({ format: 'jwk' }) as { n: string }
  const rsaKey = sequence(integer(Buffer.from(n, 'base64url')), exponentOf(exponent))
  const spki = sequence(rsaEncryption, bitString(rsaKey))
  const [tbs, algorithm, signature] = readSequence(readDer(party.certificate)).map(({ raw }) => raw)
  const members = readSequence(readDer(tbs ?? Buffer.alloc(0))).map(({ raw }) => raw)
  const changed = members.map(raw => (raw.equals(party.keys.publicKeySpki) ? spki : raw))
  return sequence(sequence(...changed), algorithm ?? Buffer.alloc(0), signature ?? Buffer.alloc(0))
}

/** What a signature by the exponent 1 is without any private key: the padded block itself (RFC 8017 9.2). */
const blockOf = (attributes: Buffer): Buffer => {
  const info = sequence(digests['SHA-256'].identifier, octetString(hash('sha256', attributes, 'buffer')))
  const padding = Buffer.alloc(256 - 3 - info.length, 0xff)
  return Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), info])
}

test.each([
  ['1', 1n],
  ['2', 2n],
  ['65536', 65_536n],
  ['257 bits', 2n ** 256n + 1n],
  ['1025 bits', 2n ** 1024n + 1n],
])('an RSA exponent of %s is refused', (_, exponent) => {
  const fault = faultOf(() => verify(craft({ certificates: [withExponent(exponent)], signature: blockOf })))
  expect(fault).toMatch(/^ALGORITHM: RSA exponents/)
})

test.each([
  ['3', 3n],
  ['65537', 65_537n],
  ['256 bits', 2n ** 256n - 1n],
])('an RSA exponent of %s is tried', (_, exponent) => {
  const fault = faultOf(() => verify(craft({ certificates: [withExponent(exponent)], signature: blockOf })))
  expect(fault).toBe('SIGNATURE: The signature is wrong')
})

test('scep case 32: the exponent 3, which devices have, signs', async () => {
  const [keyFile, certificateFile, out] = [await bench.newPath(), await bench.newPath(), await bench.newPath()]
  const key = ['-newkey', 'rsa:2048', '-pkeyopt', 'rsa_keygen_pubexp:3', '-nodes', '-keyout', keyFile]
  await openssl('req', '-x509', ...key, '-subj', '/CN=three', '-out', certificateFile)
  const input = ['-in', await bench.file(content), '-signer', certificateFile, '-inkey', keyFile]
  await openssl('cms', '-sign', '-binary', '-nodetach', '-outform', 'DER', '-out', out, ...input)
  expect(verify(await readFile(out)).digest.name).toBe('SHA-256')
})

test('a bag keeps certificates in our order, and openssl reads it', async () => {
  for (const certificates of [
    [party.certificate, other.certificate],
    [other.certificate, party.certificate],
  ]) {
    const bag = certificatesOnly(certificates)
    expect(readBag(bag)).toEqual({ certificates, crls: [] })
    const { text } = await openssl('pkcs7', '-inform', 'DER', '-in', await bench.file(bag), '-print_certs', '-noout')
    const names = [...text.matchAll(/subject=.*CN = (\w+)/g)].map(([, name]) => name)
    expect(names).toEqual(certificates.map(der => (der.equals(party.certificate) ? 'device' : 'other')))
  }
})

test('we read the bag of openssl', async () => {
  const out = await bench.newPath()
  const certificates = ['-certfile', files.certificateFile]
  await openssl('crl2pkcs7', '-nocrl', '-outform', 'DER', '-out', out, ...certificates)
  expect(readBag(await readFile(out))).toEqual({ certificates: [party.certificate], crls: [] })
})

test('a CRL of 50,000 entries travels untouched', async () => {
  const { keyAlgorithm, ski, subjectNameDer } = parseCertificate(party.certificate)
  if (!keyAlgorithm || !ski) throw new Error('no key identifier')
  const revocationDate = new Date('2030-01-01T00:00:00Z')
  const entries = Array.from({ length: 50_000 }, (_, place) => ({
    serialNumber: (0x10_0000_0000 + place).toString(16),
    revocationDate,
    reason: null,
  }))
  const issuer = { nameDer: subjectNameDer, keyIdentifier: ski, algorithm: keyAlgorithm }
  const crl = await signCrl(
    { issuer, number: 1, thisUpdate: revocationDate, nextUpdate: revocationDate, entries: [encodeEntries(entries)] },
    party.key,
  )
  const bag = crlOnly(crl)
  expect(readBag(bag)).toEqual({ certificates: [], crls: [crl] })
  const { output } = await openssl('pkcs7', '-inform', 'DER', '-in', await bench.file(bag), '-print_certs')
  expect(output.includes('BEGIN X509 CRL')).toBe(true)
})

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['a text', Buffer.from('<html>')],
  ['another type', contentInfo(contentTypes.data, octetString(Buffer.alloc(0)))],
  ['more octets behind it', Buffer.concat([certificatesOnly([]), Buffer.of(0)])],
])('%s is no bag', (_, octets) => {
  expect(faultOf(() => readBag(octets))).toMatch(/^MALFORMED/)
})
