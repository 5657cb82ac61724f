// Envelopes that strangers make: recipients that cannot be read, and more octets than the service takes.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  bitString,
  context,
  integer,
  octetString,
  oid,
  printableString,
  sequence,
  setOf,
  utf8String,
} from '../../pki/asn1/der.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { createPkcs10 } from '../../pki/pkcs10.ts'
import { craftRequest } from '../pki/scep-exchange.ts'
import { closing } from '../support/closing.ts'
import { connect, lookupContent, newDevice, postMessage, type Connection, type Device } from '../support/scep-device.ts'
import { startGateway } from '../support/scep-gateway.ts'
import { enrolAt, partyOf, refusal, startScep, type Owner, type ScepSetting } from '../support/scep-setting.ts'

const kept = closing(afterAll)
let setting: ScepSetting
let owner: Owner
let connection: Connection

beforeAll(async () => {
  setting = kept(await startScep())
  owner = await enrolAt(setting.gateway.scepUrl, setting.scene)
  connection = await connect(setting.gateway.scepUrl, owner.device)
})

/** Sends an envelope in a message of a device and reads the reply: unless said, a GetCert of the one that is enrolled. */
const ask = async (envelope: Buffer, device: Device = owner.device, type = '21') => {
  const [senderNonce, transactionId] = [randomBytes(16), 'transaction 1']
  const attributes = {
    messageType: [printableString(type)],
    senderNonce: [octetString(senderNonce)],
    transactionId: [printableString(transactionId)],
  }
  const party = partyOf(device)
  const der = await craftRequest({ envelope, attributes }, party, party)
  const response = await postMessage(setting.gateway.scepUrl, der)
  expect(response.status).toBe(200)
  return connection.read(Buffer.from(await response.arrayBuffer()), { der, senderNonce, transactionId })
}

// The length of a relative name in it says that its own length takes 32 octets (a0), or 2 (82): readers of BER differ.
test.each([0xa0, 0x82])('a recipient whose issuer has the length %i within is badMessageCheck', async length => {
  const recipient = connection.signers[0] as Buffer
  const envelope = sealEnvelopedData(lookupContent(owner.certificate), {
    recipients: [recipient],
    cipher: 'AES-128-CBC',
  })
  expect((await ask(envelope)).status).toBe('SUCCESS')
  const issuer = envelope.indexOf(parseCertificate(recipient).issuerNameDer)
  expect([issuer > 0, envelope[issuer + 2]]).toEqual([true, 0x31])
  envelope[issuer + 3] = length
  const text = 'The message cannot be verified or decrypted.'
  expect(refusal(await ask(envelope))).toEqual(['FAILURE', 'badMessageCheck', text])
})

test('an envelope of more octets than the service takes is refused by a signed reply, whatever a body may be', async () => {
  const properties = { 'scep.max-body-bytes': '1048576' }
  const roomy = kept(await startGateway(setting.service, setting.scene, { properties }))
  const wide = await connect(roomy.scepUrl, owner.device)
  // As long as it may be, nearly.
  const fitting = await wide.ask({ messageType: 'GetCert', content: randomBytes(134_000) })
  expect(refusal(fitting).slice(0, 2)).toEqual(['FAILURE', 'badMessageCheck'])
  for (const octets of [135_000, 900_000]) {
    const reply = await wide.ask({ messageType: 'GetCert', content: randomBytes(octets) })
    expect(refusal(reply)).toEqual(['FAILURE', 'badRequest', 'The envelope is longer than 135000 octets.'])
  }
})

const sealed = (content: Buffer): Buffer =>
  sealEnvelopedData(content, { recipients: [connection.signers[0] as Buffer], cipher: 'AES-128-CBC' })

const shortIssuer = sequence(setOf(sequence(oid('1.2'), utf8String('a'))))

/** What the envelope of another may decrypt to once a stranger has changed it: he must not be told which it is. */
const readings: readonly (readonly [string, (pkcs10: Buffer) => Buffer])[] = [
  ['noise', () => randomBytes(400)],
  ['names', () => sequence(sequence(), sequence(octetString(randomBytes(32))))],
  ['a serial number', () => sequence(sequence(), integer(7))],
  ['a serial number in the second block', () => sequence(shortIssuer, integer('7f'.repeat(14)))],
  [
    'a request whose signature is wrong',
    pkcs10 => Buffer.concat([pkcs10.subarray(0, -1), Buffer.of((pkcs10.at(-1) ?? 0) ^ 1)]),
  ],
  [
    'a request whose key is of no kind',
    () =>
      sequence(
        sequence(integer(0), sequence(), sequence(sequence(oid('1.2.3')), bitString(Buffer.alloc(9))), context(0)),
        sequence(oid('1.2.3')),
        bitString(Buffer.alloc(9)),
      ),
  ],
]

const answersTo = async (device: Device, type: string) => {
  const { keys } = await newDevice('another.example.org')
  const secret = await createPkcs10({
    subject: { commonName: 'another.example.org' },
    sans: [],
    keys,
    challengePassword: `${randomUUID()}:secret`,
  })
  const replies: ReturnType<typeof refusal>[] = []
  for (const [, reading] of readings) replies.push(refusal(await ask(sealed(reading(secret)), device, type)))
  return replies
}

test.each([
  ['PKCSReq', '19', 'badMessageCheck'],
  ['RenewalReq', '17', 'badMessageCheck'],
  ['CertPoll', '20', 'badCertId'],
  ['GetCert', '21', 'badRequest'],
  ['GetCRL', '22', 'badRequest'],
])(
  'a stranger who sends the envelope of another in a %s of his own learns nothing of it',
  async (_, type, failInfo) => {
    const stranger = await newDevice('stranger.example.org')
    const replies = await answersTo(stranger, type)
    expect(replies[0]?.slice(0, 2)).toEqual(['FAILURE', failInfo])
    expect(replies).toEqual(Array.from(readings, () => replies[0]))
  },
)

test.each([
  ['PKCSReq', '19', 'badMessageCheck'],
  ['RenewalReq', '17', 'badMessageCheck'],
  ['CertPoll', '20', 'badCertId'],
  ['GetCert', '21', 'badMessageCheck'],
  ['GetCRL', '22', 'badMessageCheck'],
])('nor does the holder of a certificate in a %s', async (_, type, failInfo) => {
  const replies = await answersTo(owner.device, type)
  expect(replies[0]?.slice(0, 2)).toEqual(['FAILURE', failInfo])
  expect(replies).toEqual(Array.from(readings, () => replies[0]))
})
