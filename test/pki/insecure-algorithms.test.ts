// DES and MD5, for the devices that have nothing else: taken where they are allowed in so many words, refused elsewhere.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readWholeBer } from '../../pki/asn1/ber.ts'
import { derNull, implicit, integer, octetString, oid, sequence, setOf, tlv } from '../../pki/asn1/der.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { CmsError } from '../../pki/cms/cms-error.ts'
import { contentInfo, contentTypes } from '../../pki/cms/content-info.ts'
import { certificatesOnly } from '../../pki/cms/degenerate.ts'
import { readEnvelopedData } from '../../pki/cms/enveloped-data.ts'
import { openEnvelopedData } from '../../pki/cms/opening.ts'
import { readParty } from '../../pki/cms/parties.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { verifySignedData } from '../../pki/cms/signature.ts'
import { readSignedData, type SignedData } from '../../pki/cms/signed-data.ts'
import { prepareSuccess } from '../../pki/scep/cert-rep.ts'
import { writeScepRequest } from '../../pki/scep/client.ts'
import { readCertRep } from '../../pki/scep/reply.ts'
import { readScepRequest } from '../../pki/scep/request.ts'
import { readRequestContent } from '../../pki/scep/request-content.ts'
import { byMd5 } from './scep-md5.ts'
import { openssl, Workbench } from './openssl.ts'
import { refusalOf, reply } from './scep-exchange.ts'
import { filesOf, makeParty, makePkcs10, type TestParty } from './scep-parties.ts'

const bench = new Workbench()
const content = Buffer.from('What an old device asks for. '.repeat(40))
const allowed = { insecureAlgorithms: true }
const withDes = ['-provider', 'legacy', '-provider', 'default']
const [rsaEncryption, md5WithRsa] = ['1.2.840.113549.1.1.1', '1.2.840.113549.1.1.4']

let server: TestParty
let device: TestParty
let files: Awaited<ReturnType<typeof filesOf>>

beforeAll(async () => {
  ;[server, device] = await Promise.all([makeParty({ commonName: 'scep' }), makeParty({ commonName: 'device' })])
  files = await filesOf(bench, server)
})
afterAll(() => bench.clear())

/** What the call answers, else the CmsError that it throws. */
const outcomeOf = (call: () => unknown): unknown => {
  try {
    return call()
  } catch (error) {
    if (error instanceof CmsError) return `${error.fault}: ${error.message}`
    throw error
  }
}

const opensslEncrypt = async (...options: readonly string[]): Promise<Buffer> => {
  const input = ['-in', await bench.file(content), '-recip', files.certificateFile]
  return (await openssl('cms', '-encrypt', '-binary', '-outform', 'DER', ...options, ...input)).output
}

test('what openssl encrypts by DES opens where that is allowed, and nowhere else', async () => {
  const sealed = await opensslEncrypt('-des-cbc', ...withDes)
  expect(openEnvelopedData(sealed, [server], allowed)).toEqual({ content, contentCipher: 'DES-CBC' })
  expect(outcomeOf(() => openEnvelopedData(sealed, [server]))).toBe('ALGORITHM: The algorithm DES-CBC is not supported')
})

test('openssl reads what we encrypt by DES', async () => {
  const sealed = sealEnvelopedData(content, { recipients: [server.certificate], cipher: 'DES-CBC' })
  const input = ['-in', await bench.file(sealed), '-inkey', files.keyFile, '-recip', files.certificateFile]
  const { output } = await openssl('cms', '-decrypt', '-binary', '-inform', 'DER', ...input, ...withDes)
  expect(output).toEqual(content)
})

test('RC2 stays refused', async () => {
  const sealed = await opensslEncrypt('-rc2-40', ...withDes)
  expect(outcomeOf(() => openEnvelopedData(sealed, [server], allowed))).toMatch(/^ALGORITHM: .*RC2/)
})

// The key of another cipher is of another length, so that calling it DES is a broken block like every other.
test('an envelope that is only called DES fails as all else', () => {
  const outcomes = Array.from({ length: 5 }, () => {
    const sealed = sealEnvelopedData(content, { recipients: [server.certificate], cipher: 'DES-EDE3-CBC' })
    const { iv, encryptedContent, recipients } = readEnvelopedData(sealed)
    const { issuer, serialNumber } = readParty(server.certificate)
    const key = octetString(recipients[0]?.encryptedKey ?? Buffer.alloc(0))
    const id = sequence(issuer, tlv(0x02, serialNumber))
    const recipient = sequence(integer(0), id, sequence(oid(rsaEncryption), derNull), key)
    const des = sequence(oid('1.3.14.3.2.7'), octetString(iv))
    const info = sequence(oid(contentTypes.data), des, implicit(0, encryptedContent))
    const called = contentInfo(contentTypes.envelopedData, sequence(integer(0), setOf(recipient), info))
    return outcomeOf(() => openEnvelopedData(called, [server], allowed).content.toString('hex'))
  })
  expect(outcomes).toContain('DECRYPTION: The data cannot be decrypted')
  expect(outcomes).not.toContain(content.toString('hex'))
  expect(
    outcomes.filter(outcome => !/^([0-9a-f]*|DECRYPTION: The data cannot be decrypted)$/.test(String(outcome))),
  ).toEqual([])
})

const signedByOpenssl = async (...options: readonly string[]) => {
  const input = ['-in', await bench.file(content), '-signer', files.certificateFile, '-inkey', files.keyFile]
  const { output } = await openssl('cms', '-sign', '-binary', '-nodetach', '-outform', 'DER', ...input, ...options)
  return readWholeBer(output, readSignedData)
}

/** The message with another name for its signature algorithm. */
const named = (message: SignedData, dotted: string): SignedData => ({
  ...message,
  signerInfos: message.signerInfos.map(info => ({
    ...info,
    signatureAlgorithm: readDer(sequence(oid(dotted), derNull)),
  })),
})

test.each([rsaEncryption, md5WithRsa])(
  'what openssl signs by MD5 is verified where it is allowed: %s',
  async dotted => {
    const signed = named(await signedByOpenssl('-md', 'md5'), dotted)
    const { signer, digest } = verifySignedData(signed, allowed)
    expect([signer.der, digest.name, digest.answer]).toEqual([server.certificate, 'MD5', 'SHA-1'])
    expect(outcomeOf(() => verifySignedData(signed))).toBe('ALGORITHM: The algorithm MD5 is not supported')
    const forged = { ...signed, content: Buffer.from('another') }
    expect(outcomeOf(() => verifySignedData(forged, allowed))).toMatch(/^SIGNATURE/)
  },
)

test('a signature by MD5 over attributes by SHA-256 stays refused', async () => {
  const signed = named(await signedByOpenssl('-md', 'sha256'), md5WithRsa)
  expect(outcomeOf(() => verifySignedData(signed, allowed))).toMatch(/^ALGORITHM: .*MD5 with RSA/)
})

test('scep case 29: a request by MD5 and DES is read where they are allowed, and answered by SHA-1 and DES', async () => {
  const request = byMd5({ content: await makePkcs10('id:one'), cipher: 'DES-CBC' }, device, server)
  expect(refusalOf(() => readScepRequest(request)).failInfo).toBe('badAlg')
  const read = readScepRequest(request, allowed)
  expect(read).toMatchObject({ digest: 'SHA-1', messageDigest: 'MD5', contentCipher: 'DES-CBC' })
  const { content: plaintext } = openEnvelopedData(read.envelopeBytes, [server], allowed)
  expect(readRequestContent(read, plaintext)).toMatchObject({ kind: 'ENROLMENT', challengePassword: 'id:one' })
  const bag = certificatesOnly([device.certificate])
  const signed = readWholeBer(await reply(prepareSuccess(read, bag), server), readSignedData)
  expect(verifySignedData(signed).digest.name).toBe('SHA-1')
  expect(openEnvelopedData(signed.content ?? Buffer.alloc(0), [device], allowed)).toEqual({
    content: bag,
    contentCipher: 'DES-CBC',
  })
})

test('a reply by DES is read by a client that allows it, and by no other', async () => {
  const draft = {
    messageType: 'PKCSReq',
    transactionId: 'old',
    content: await makePkcs10('id:one'),
    recipients: [server.certificate],
  } as const
  const sent = await writeScepRequest(draft, device, { cipher: 'DES-CBC', digest: 'SHA-1' })
  const bag = certificatesOnly([device.certificate])
  const answered = await reply(prepareSuccess(readScepRequest(sent.der, allowed), bag), server)
  const expected = { request: sent, client: device, signers: [server.certificate] }
  expect(readCertRep(answered, { ...expected, ...allowed })).toMatchObject({
    status: 'SUCCESS',
    digest: 'SHA-1',
    contentCipher: 'DES-CBC',
    bag: { certificates: [device.certificate] },
  })
  expect(outcomeOf(() => readCertRep(answered, expected))).toBe('ALGORITHM: The algorithm DES-CBC is not supported')
})
