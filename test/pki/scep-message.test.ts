// SCEP messages by both sides of ours, in every pair of algorithms; replies as openssl sees them.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readWholeBer } from '../../pki/asn1/ber.ts'
import { printableString } from '../../pki/asn1/der.ts'
import { type ContentCipherName, contentCiphers, type DigestName, digests } from '../../pki/cms/algorithms.ts'
import { CmsError } from '../../pki/cms/cms-error.ts'
import { certificatesOnly, crlOnly } from '../../pki/cms/degenerate.ts'
import type { KeyTransport } from '../../pki/cms/key-transport.ts'
import { attributeValues, readSignedData } from '../../pki/cms/signed-data.ts'
import type { SignatureScheme } from '../../pki/cms/signing.ts'
import { prepareFailure, preparePending, prepareSuccess, type UnsignedCertRep } from '../../pki/scep/cert-rep.ts'
import {
  issuerAndSerialNumber,
  issuerAndSubject,
  type RequestAlgorithms,
  type RequestDraft,
  type SentRequest,
  writeScepRequest,
} from '../../pki/scep/client.ts'
import { readCertRep } from '../../pki/scep/reply.ts'
import { readScepRequest, type ScepRequest } from '../../pki/scep/request.ts'
import { attributeOids } from '../../pki/scep/signed-attributes.ts'
import { failInfos, type FailInfo } from '../../pki/scep/vocabulary.ts'
import { indefinite, longLengths } from './encodings.ts'
import { openssl, Workbench } from './openssl.ts'
import { receive, reply } from './scep-exchange.ts'
import { filesOf, makeParty, makePkcs10, type TestParty } from './scep-parties.ts'

const bench = new Workbench()
let server: TestParty
let device: TestParty
let pkcs10: Buffer
const plain: RequestAlgorithms = { digest: 'SHA-256', cipher: 'AES-128-CBC' }

beforeAll(async () => {
  ;[server, device] = await Promise.all([
    makeParty({ commonName: 'scep' }),
    makeParty({ commonName: 'device', serialNumber: '81' }),
  ])
  pkcs10 = await makePkcs10('id:one:two')
})
afterAll(() => bench.clear())

const write = (draft: Partial<RequestDraft> = {}, algorithms = plain): Promise<SentRequest> =>
  writeScepRequest(
    {
      messageType: 'PKCSReq',
      transactionId: 'AB12 ?',
      content: pkcs10,
      recipients: [server.certificate],
      ...draft,
    },
    device,
    algorithms,
  )

const read = (der: Buffer, request: SentRequest) =>
  readCertRep(der, { request, client: device, signers: [server.certificate] })

const transports: readonly KeyTransport[] = ['PKCS1', { oaep: 'SHA-1' }, { oaep: 'SHA-256' }, { oaep: 'SHA-512' }]
const schemes: readonly SignatureScheme[] = ['PKCS1', 'PSS']
const matrix = (Object.keys(contentCiphers) as ContentCipherName[]).flatMap(cipher =>
  (Object.keys(digests) as DigestName[]).flatMap(digest =>
    schemes.flatMap(scheme => transports.map(transport => ({ cipher, digest, scheme, transport }))),
  ),
)

const forms: Readonly<Record<string, (der: Buffer) => Buffer>> = {
  DER: der => der,
  'BER of indefinite length in pieces': indefinite,
  'lengths of four octets': longLengths,
}

const encode = (form: string, der: Buffer): Buffer => forms[form]?.(der) ?? der

// The encodings meet every cipher and digest, not every key transport and signature scheme as well.
const rows = Object.keys(forms).flatMap(form =>
  matrix
    .filter(({ scheme, transport }) => form === 'DER' || (scheme === 'PSS' && transport === 'PKCS1'))
    .map(row => ({ form, ...row })),
)

test.each(rows)('scep case 30, 31: $cipher, $digest, $scheme, $transport, $form', async ({ form, ...algorithms }) => {
  const sent = await write({}, algorithms)
  const { request, content } = receive(encode(form, sent.der), server)
  expect(request).toMatchObject({
    messageType: 'PKCSReq',
    digest: algorithms.digest,
    contentCipher: algorithms.cipher,
    senderNonce: sent.senderNonce,
    transactionId: { der: printableString('AB12 ?'), text: 'AB12 ?' },
  })
  expect(request.signer.der).toEqual(device.certificate)
  expect(content).toMatchObject({ kind: 'ENROLMENT', challengePassword: 'id:one:two' })
  const bag = certificatesOnly([device.certificate, server.certificate])
  const answer = await reply(prepareSuccess(request, bag), server)
  const expected = { status: 'SUCCESS', digest: algorithms.digest, contentCipher: algorithms.cipher }
  expect(read(encode(form, answer), sent)).toMatchObject(expected)
  expect(read(answer, sent).bag?.certificates).toEqual([device.certificate, server.certificate])
})

test('scep case 30: the keys of replies are transported by PKCS#1 v1.5 whatever the request used', async () => {
  const sent = await write({}, { ...plain, transport: { oaep: 'SHA-256' } })
  const { envelope } = envelopeOf(await reply(prepareSuccess(readScepRequest(sent.der), certificatesOnly([])), server))
  expect(envelope.includes(Buffer.from('06092a864886f70d0101010500', 'hex'))).toBe(true)
})

const envelopeOf = (der: Buffer) => {
  const { content, signerInfos } = readWholeBer(der, readSignedData)
  const [info] = signerInfos
  if (!content || !info) throw new Error('no reply')
  return { envelope: content, info }
}

test('openssl verifies a SUCCESS, opens it and finds the leaf first', async () => {
  const sent = await write({ messageType: 'RenewalReq' }, { digest: 'SHA-512', cipher: 'DES-EDE3-CBC' })
  const request = readScepRequest(sent.der)
  const bag = certificatesOnly([device.certificate, server.certificate])
  const answer = await bench.file(await reply(prepareSuccess(request, bag), server))
  const { certificateFile } = await filesOf(bench, server)
  const { certificateFile: recip, keyFile } = await filesOf(bench, device)
  const [envelope, certificates] = [await bench.newPath(), await bench.newPath()]
  const trust = ['-CAfile', certificateFile, '-purpose', 'any', '-partial_chain']
  await openssl('cms', '-verify', '-binary', '-inform', 'DER', '-in', answer, ...trust, '-out', envelope)
  const open = ['-inkey', keyFile, '-recip', recip, '-out', certificates]
  await openssl('cms', '-decrypt', '-binary', '-inform', 'DER', '-in', envelope, ...open)
  expect(await readFile(certificates)).toEqual(bag)
  const { text } = await openssl('pkcs7', '-inform', 'DER', '-in', certificates, '-print_certs', '-noout')
  expect([...text.matchAll(/subject=.*CN = (\w+)/g)].map(([, name]) => name)).toEqual(['device', 'scep'])
})

const unsigned: readonly (readonly [string, (request: ScepRequest) => UnsignedCertRep, object])[] = [
  ['PENDING', preparePending, { status: 'PENDING', failInfo: null, failInfoText: null, bag: null }],
  ...(Object.keys(failInfos) as FailInfo[]).map(
    failInfo =>
      [
        `FAILURE ${failInfo}`,
        (request: ScepRequest) => prepareFailure(request, failInfo, 'Ask the helpdesk'),
        { status: 'FAILURE', failInfo, failInfoText: 'Ask the helpdesk', bag: null },
      ] as const,
  ),
]

test.each(unsigned)('%s has content of no octets, and openssl verifies it', async (_, prepare, expected) => {
  const sent = await write()
  const answer = await reply(prepare(readScepRequest(sent.der)), server)
  expect(read(answer, sent)).toMatchObject(expected)
  expect(envelopeOf(answer).envelope).toHaveLength(0)
  const trust = ['-CAfile', (await filesOf(bench, server)).certificateFile, '-purpose', 'any', '-partial_chain']
  const { output } = await openssl('cms', '-verify', '-inform', 'DER', '-in', await bench.file(answer), ...trust)
  expect(output).toHaveLength(0)
})

test('a reply has a fresh senderNonce, the nonce and the transaction id of its request, and the plain digest', async () => {
  const sent = await write({}, { ...plain, digest: 'SHA-384' })
  const request = readScepRequest(sent.der)
  const replies = await Promise.all([1, 2].map(() => reply(preparePending(request), server)))
  const infos = replies.map(answer => envelopeOf(answer).info)
  const values = (name: keyof typeof attributeOids) =>
    infos.map(info => attributeValues(info, attributeOids[name]).map(({ raw, content }) => ({ raw, content })))
  expect(
    values('recipientNonce')
      .flat()
      .map(({ content }) => content),
  ).toEqual([sent.senderNonce, sent.senderNonce])
  expect(
    values('transactionId')
      .flat()
      .map(({ raw }) => raw),
  ).toEqual(Array(2).fill(printableString('AB12 ?')))
  const nonces = values('senderNonce')
    .flat()
    .map(({ content }) => content.toString('hex'))
  expect(new Set([...nonces, sent.senderNonce.toString('hex')]).size).toBe(3)
  expect(nonces.every(nonce => nonce.length === 32)).toBe(true)
  expect(infos[0]?.digestAlgorithm.raw).toEqual(digests['SHA-384'].identifier)
  expect(infos[0]?.signatureAlgorithm.raw.toString('hex')).toBe('300d06092a864886f70d0101010500')
})

test('CertPoll, GetCert and GetCRL say what they ask for', async () => {
  const poll = await write({ messageType: 'CertPoll', content: issuerAndSubject(server.nameDer, device.nameDer) })
  expect(receive(poll.der, server).content).toEqual({
    kind: 'POLL',
    issuer: server.nameDer,
    subject: device.nameDer,
  })
  for (const messageType of ['GetCert', 'GetCRL'] as const)
    for (const serialNumber of ['81', '7a01', '1', 'ff00000000000000000000000000000001']) {
      const lookup = await write({ messageType, content: issuerAndSerialNumber(server.nameDer, serialNumber) })
      expect(receive(lookup.der, server).content).toEqual({ kind: 'LOOKUP', issuer: server.nameDer, serialNumber })
    }
})

test('a CRL of 3 MB reaches the client untouched', async () => {
  const crl = Buffer.concat([Buffer.from('30832dc6c0', 'hex'), randomBytes(3_000_000)])
  const sent = await write({ messageType: 'GetCRL', content: issuerAndSerialNumber(server.nameDer, '81') })
  const answer = await reply(prepareSuccess(readScepRequest(sent.der), crlOnly(crl)), server)
  expect(read(answer, sent).bag).toEqual({ certificates: [], crls: [crl] })
})

test('the chain of the signer is handed on, in its order', async () => {
  const sent = await write({ chain: [server.certificate] })
  expect(readScepRequest(sent.der).certificates).toEqual([device.certificate, server.certificate])
})

const faultOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (error instanceof CmsError) return `${error.fault}: ${error.message}`
    throw error
  }
  throw new Error('The call succeeded')
}

test('a client refuses a reply of another server, to another request, and what is no reply', async () => {
  const [sent, another] = [await write(), await write()]
  const renamed = { ...sent, transactionId: 'another' }
  const answer = await reply(preparePending(readScepRequest(sent.der)), server)
  const forged = await reply(preparePending(readScepRequest(sent.der)), device)
  expect(faultOf(() => read(forged, sent))).toBe('SIGNATURE: The certificate of the signer is missing')
  expect(faultOf(() => read(answer, another))).toBe('MALFORMED: The reply is to another request')
  expect(faultOf(() => read(answer, renamed))).toBe('MALFORMED: The reply is to another request')
  const own = { request: sent, client: device, signers: [device.certificate] }
  expect(faultOf(() => readCertRep(sent.der, own))).toBe('MALFORMED: The message is no CertRep')
  expect(faultOf(() => read(Buffer.from('<html>'), sent))).toMatch(/^MALFORMED/)
})
