// Keys of ML-DSA (FIPS 204, RFC 9881) in everything that is signed; OpenSSL 3.5 within Node is the judge, by handshakes too.
import { createPublicKey, createPrivateKey, verify as verifyOctets, X509Certificate } from 'node:crypto'
import { connect, createServer, type SecureContextOptions } from 'node:tls'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { MlDsaParameterSet, valuesOf } from '../../domain/enums.ts'
import { bitString, derNull, oid, sequence } from '../../pki/asn1/der.ts'
import { readBitString, readDer, readSequence } from '../../pki/asn1/der-reader.ts'
import { issueCertificate, issuerOf, parseCertificate } from '../../pki/certificate/certificate.ts'
import { isSignedBy, readSigned, signDer, signOctets } from '../../pki/certificate/signed.ts'
import { builtInTemplates, keyUsagesFor } from '../../pki/certificate/templates.ts'
import { encodeEntries, signCrl } from '../../pki/crl.ts'
import { findKeyAlgorithm, type KeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { checkKeyStrength } from '../../pki/keys/key-strength.ts'
import { describePublicKey } from '../../pki/keys/public-key.ts'
import { checkPkcs10, createPkcs10, parsePkcs10 } from '../../pki/pkcs10.ts'
import { createPkcs12 } from '../../pki/pkcs12.ts'
import { encodePem, encodePemChain } from '../../pki/pem.ts'
import { nextCaMessage } from '../../pki/scep/next-ca.ts'
import { failureCode } from './failing.ts'
import { getTemplate, importKey, leafInput } from './hierarchy.ts'
import { answerOf, below, makeCa, makeSetting, validNow, verdictOf } from './ocsp-parties.ts'

const sets = valuesOf(MlDsaParameterSet)
const algorithmOf = (set: MlDsaParameterSet) => findKeyAlgorithm(set) as KeyAlgorithm
const keysOf = (set: MlDsaParameterSet) => generateKeyPair({ cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet: set })

/** The octets of a public key, and of a signature: FIPS 204 4, table 2. */
const lengths = { ML_DSA_44: [1312, 2420], ML_DSA_65: [1952, 3309], ML_DSA_87: [2592, 4627] } as const

const keyOf = (spki: Buffer) => createPublicKey({ key: spki, format: 'der', type: 'spki' })

/** Whether OpenSSL finds the signature of a SIGNED{} right. */
const isRight = (der: Buffer, spki: Buffer): boolean => {
  const { contents, signature } = readSigned(der)
  return verifyOctets(null, contents.raw, keyOf(spki), signature)
}

describe.each(sets)('%s:', set => {
  const { spec } = algorithmOf(set)
  const [octets, signatureOctets] = lengths[set]

  test('a new key belongs together, is described and strong, and is kept as its seed', async () => {
    const { publicKeySpki, privateKeyPkcs8 } = await keysOf(set)
    const key = createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' })
    expect(createPublicKey(key).export({ type: 'spki', format: 'der' }).equals(publicKeySpki)).toBe(true)
    expect(key.asymmetricKeyType).toBe(set.toLowerCase().replaceAll('_', '-'))
    // RFC 9881 6: [0] IMPLICIT OCTET STRING of 32 octets, within the OCTET STRING of PKCS#8.
    expect(privateKeyPkcs8).toHaveLength(54)
    expect(privateKeyPkcs8.subarray(18, 22).toString('hex')).toBe('04228020')
    const description = { cryptoAlgorithm: 'ML_DSA', keySize: null, namedCurve: set, algorithm: algorithmOf(set) }
    expect(describePublicKey(publicKeySpki)).toEqual(description)
    expect(publicKeySpki).toHaveLength(22 + octets)
    await checkKeyStrength(publicKeySpki)
  })

  test('a CA signs itself, certificates, lists and answers, and OpenSSL finds them right', async () => {
    const setting = await makeSetting(spec)
    const { ca, leaf } = setting
    const [authority, certificate] = [new X509Certificate(ca.certificate.der), new X509Certificate(leaf.der)]
    expect(authority.verify(authority.publicKey)).toBe(true)
    expect(certificate.verify(authority.publicKey) && certificate.checkIssued(authority)).toBe(true)
    expect(leaf.signatureAlgorithm).toBe(set)
    expect(readSigned(leaf.der).signature).toHaveLength(signatureOctets)
    const times = { thisUpdate: validNow.notBefore, nextUpdate: validNow.notAfter }
    const entries = [encodeEntries([{ serialNumber: '7f', revocationDate: validNow.notBefore, reason: null }])]
    const list = await signCrl({ issuer: issuerOf(ca.certificate), number: 1, ...times, entries }, ca.key)
    expect(isRight(list, ca.certificate.publicKeySpki)).toBe(true)
    const answer = await answerOf(setting)
    expect(verdictOf(setting, answer).status).toBe('GOOD')
    const [, bytes] = readSequence(readDer(answer))
    const basic = readSequence(bytes?.children[0])[1]?.content ?? Buffer.alloc(0)
    expect(isRight(basic, ca.certificate.publicKeySpki)).toBe(true)
  })

  test('a request is right to OpenSSL and to us, and wrong when a bit is', async () => {
    const keys = await keysOf(set)
    const der = await createPkcs10({ subject: { commonName: 'a.example.test' }, sans: [], keys })
    expect(checkPkcs10(der)).toMatchObject({ subjectDn: 'CN=a.example.test', signatureAlgorithm: set })
    expect(isRight(der, keys.publicKeySpki)).toBe(true)
    der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
    expect(failureCode(() => checkPkcs10(der))).toBe('INVALID_PKCS10')
  })

  test('OpenSSL opens the PKCS#12 file and shakes hands by it', async () => {
    const ca = await makeCa(spec)
    const keys = await generateKeyPair(spec)
    const leaf = await issueCertificate(leafInput(ca, keys.publicKeySpki, { validity: validNow }), ca.key)
    const [certificates, password] = [[leaf, ca.certificate.der], 'secret']
    const pfx = await createPkcs12({ ...keys, certificates, friendlyName: 'x', password })
    const peer = await handshake({ pfx, passphrase: password }, encodePem('CERTIFICATE', ca.certificate.der))
    expect(peer.equals(leaf)).toBe(true)
  })

  test('its keys sign and nothing else, whatever the template wishes', async () => {
    const usages = builtInTemplates.flatMap(template => keyUsagesFor(template, spec))
    expect([...new Set(usages)]).toEqual(['digitalSignature'])
    const ca = await makeCa(spec)
    const { certificate } = await below(ca, { publicKeySpki: (await keysOf(set)).publicKeySpki })
    expect(certificate.keyUsages).toEqual(['digitalSignature'])
  })

  test('a key of another length or with parameters is no key', () => {
    const algorithm = (...more: Buffer[]) => sequence(oid(algorithmOf(set).signature.oid), ...more)
    const others = [
      0,
      32,
      octets - 1,
      octets + 1,
      2 * octets,
      ...sets.filter(other => other !== set).map(other => lengths[other][0]),
    ]
    const malformed = [
      ...others.map(length => sequence(algorithm(), bitString(Buffer.alloc(length, 7)))),
      sequence(algorithm(derNull), bitString(Buffer.alloc(octets, 7))),
      sequence(algorithm(sequence()), bitString(Buffer.alloc(octets, 7))),
    ]
    for (const spki of malformed) expect(failureCode(() => describePublicKey(spki))).toBe('INVALID_PUBLIC_KEY')
  })

  test.each<[string, (octets: number) => Buffer]>([
    ['of zeros', length => Buffer.alloc(length)],
    ['of ones', length => Buffer.alloc(length, 0xff)],
    ['of zeros and ones in turn', length => Buffer.alloc(length, Buffer.from('ff03f03f00', 'hex'))],
    ['of zeros in its first half', length => Buffer.alloc(length).fill(0x5a, length / 2)],
  ])('a key with a vector %s is WEAK_KEY', async (_, make) => {
    const key = Buffer.concat([Buffer.alloc(32, 9), make(octets - 32)])
    const spki = sequence(sequence(oid(algorithmOf(set).signature.oid)), bitString(key))
    await expect(checkKeyStrength(spki)).rejects.toMatchObject({ code: 'WEAK_KEY', message: /anybody can sign/ })
  })

  test.each([
    ['of RFC 9881 C', Buffer.from(Array.from({ length: 32 }, (_, at) => at))],
    ['of zeros', Buffer.alloc(32)],
    ['of ones', Buffer.alloc(32, 0xff)],
  ])('the key from the seed %s is WEAK_KEY', async (_, seed) => {
    const { privateKeyPkcs8 } = await keysOf(set)
    const pkcs8 = Buffer.concat([privateKeyPkcs8.subarray(0, 22), seed])
    const key = createPublicKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
    const spki = key.export({ type: 'spki', format: 'der' })
    await expect(checkKeyStrength(spki)).rejects.toMatchObject({ code: 'WEAK_KEY', message: /published/ })
  })
})

/** The certificate of a server by which a client that trusts one CA accepts it, over TLS 1.3. */
const handshake = async (options: SecureContextOptions, ca: string): Promise<Buffer> => {
  const server = createServer({ ...options, minVersion: 'TLSv1.3' }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, ca, servername: 'www.example.test' })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerCertificate().raw
  } finally {
    socket.destroy()
    server.close()
  }
}

test('a chain may change its kind of key from CA to CA', async () => {
  const root = await makeCa(algorithmOf('ML_DSA_87').spec)
  const keys = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const input = leafInput(root, keys.publicKeySpki, { validity: validNow })
  const leaf = await issueCertificate(input, root.key)
  const cert = encodePemChain('CERTIFICATE', [leaf, root.certificate.der])
  const key = encodePem('PRIVATE KEY', keys.privateKeyPkcs8)
  expect((await handshake({ cert, key }, encodePem('CERTIFICATE', root.certificate.der))).equals(leaf)).toBe(true)
  expect(parseCertificate(leaf)).toMatchObject({ signatureAlgorithm: 'ML_DSA_87', cryptoAlgorithm: 'EC' })
})

describe('a signature', () => {
  /** The contents of a request with an algorithm and a signature of any making. */
  const signedAs = (contents: Buffer, algorithm: Buffer, signature: Buffer) =>
    sequence(contents, algorithm, bitString(signature))

  test('of another set proves no key, also under the name of the right set', async () => {
    const [keys, other] = [await keysOf('ML_DSA_65'), await keysOf('ML_DSA_44')]
    const der = await createPkcs10({ subject: { commonName: 'a' }, sans: [], keys })
    const { contents, algorithmIdentifier } = readSigned(der)
    const foreign = await signDer(contents.raw, importKey(other))
    const { signature } = readSigned(foreign)
    for (const wrong of [foreign, signedAs(contents.raw, algorithmIdentifier.raw, signature)]) {
      expect(parsePkcs10(wrong).signatureValid).toBe(false)
      expect(failureCode(() => checkPkcs10(wrong))).toBe('INVALID_PKCS10')
    }
  })

  test.each(['ML_DSA_44', 'ED25519'] as const)('with parameters is none of %s', async name => {
    const keys = await generateKeyPair((findKeyAlgorithm(name) as KeyAlgorithm).spec)
    const der = await createPkcs10({ subject: { commonName: 'a' }, sans: [], keys })
    const { contents, algorithmOid, signature } = readSigned(der)
    expect(isSignedBy(readSigned(der), keys.publicKeySpki)).toBe(true)
    const withNull = signedAs(contents.raw, sequence(oid(algorithmOid), derNull), signature)
    expect(isSignedBy(readSigned(withNull), keys.publicKeySpki)).toBe(false)
  })

  test('of a request is about this request', async () => {
    const keys = await keysOf('ML_DSA_44')
    const [one, other] = await Promise.all(
      ['a', 'b'].map(commonName => createPkcs10({ subject: { commonName }, sans: [], keys })),
    )
    const [, algorithm, signature] = readSequence(readDer(one ?? Buffer.alloc(0)))
    const [contents] = readSequence(readDer(other ?? Buffer.alloc(0)))
    const mixed = signedAs(contents?.raw as Buffer, algorithm?.raw as Buffer, readBitString(signature))
    expect(parsePkcs10(mixed).signatureValid).toBe(false)
  })
})

test('a CA tells the next one by SCEP, signed over the content itself', async () => {
  const [ca, next] = [await makeCa(algorithmOf('ML_DSA_65').spec), await makeCa()]
  const succession = { next: [next.certificate.der], ca: ca.certificate.der }
  const signedOver: Buffer[] = []
  const message = await nextCaMessage(succession, content => {
    signedOver.push(content)
    return signOctets(content, ca.key)
  })
  const [content = Buffer.alloc(0)] = signedOver
  expect(message.includes(content)).toBe(true)
  // SHA-512 stands beside it (RFC 9882); the signature is the last of the message.
  expect(message.includes(oid('2.16.840.1.101.3.4.2.3'))).toBe(true)
  const signature = message.subarray(-lengths.ML_DSA_65[1])
  expect(verifyOctets(null, content, keyOf(ca.certificate.publicKeySpki), signature)).toBe(true)
})

test('a template for RSA alone takes no such key', () => {
  expect(getTemplate('SCEP_SIGNER').rsaOnly).toBe(true)
  expect(keyUsagesFor(getTemplate('DEVICE'), algorithmOf('ML_DSA_65').spec)).toEqual(['digitalSignature'])
})
