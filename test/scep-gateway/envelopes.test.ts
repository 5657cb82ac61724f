// Envelopes that strangers make: recipients that cannot be read, and more octets than the service takes.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { octetString, printableString } from '../../pki/asn1/der.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { craftRequest } from '../pki/scep-exchange.ts'
import { closing } from '../support/closing.ts'
import { connect, lookupContent, postMessage, type Connection } from '../support/scep-device.ts'
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

/** Sends a GetCert of the own certificate in an envelope and reads the reply. */
const ask = async (envelope: Buffer) => {
  const [senderNonce, transactionId] = [randomBytes(16), 'transaction 1']
  const attributes = {
    messageType: [printableString('21')],
    senderNonce: [octetString(senderNonce)],
    transactionId: [printableString(transactionId)],
  }
  const party = partyOf(owner.device)
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
