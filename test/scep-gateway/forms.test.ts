// The forms in which one and the same SCEP message may come; ../shared/reference/scep.md section 7, case 31.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { implicit, integer, printableString, sequence, setOf, tlv } from '../../pki/asn1/der.ts'
import { readDer, readSequence, readSet } from '../../pki/asn1/der-reader.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { contentInfo, contentTypes, readContentInfo } from '../../pki/cms/content-info.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { signAttributes } from '../../pki/cms/signing.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { indefinite, longLengths } from '../pki/encodings.ts'
import { craftRequest, withSignerInfos } from '../pki/scep-exchange.ts'
import { certificatesIn, connect, csrOf, lookupContent, rsaKeys } from '../support/scep-device.ts'
import type { Connection } from '../support/scep-device.ts'
import { enrolAt, partyOf, startScep, type Owner, type ScepSetting } from '../support/scep-setting.ts'

let setting: ScepSetting
let owner: Owner
let connection: Connection

beforeAll(async () => {
  setting = await startScep()
  owner = await enrolAt(setting.gateway.scepUrl, setting.scene)
  connection = await connect(setting.gateway.scepUrl, owner.device)
})
afterAll(() => setting.stop())

const recipient = () => connection.signers[0] as Buffer
const skiOf = (certificate: Buffer): Buffer => {
  const { ski } = parseCertificate(certificate)
  if (!ski) throw new Error('The certificate has no subjectKeyIdentifier.')
  return ski
}

test.each([
  ['of indefinite length in pieces', indefinite],
  ['of lengths of four octets', longLengths],
])('scep case 31: BER %s is read', async (_, encode) => {
  const content = lookupContent(owner.certificate)
  const request = await connection.write({ messageType: 'GetCert', content })
  expect((await connection.send({ ...request, der: encode(request.der) })).status).toBe('SUCCESS')
  const inside = await connection.write({ messageType: 'GetCert', content: encode(content) })
  expect((await connection.send(inside)).status).toBe('SUCCESS')
})

/** The envelope, each of whose recipients is named by this key identifier. */
const namedBy = (envelope: Buffer, ski: Buffer): Buffer => {
  const [, recipients, encrypted] = readContentInfo(readDer(envelope), contentTypes.envelopedData)
  const infos = readSet(recipients).map(info => {
    const [, , transport, key] = readSequence(info).map(({ raw }) => raw)
    return sequence(integer(2), implicit(0, ski), transport ?? Buffer.alloc(0), key ?? Buffer.alloc(0))
  })
  const members = [integer(2), setOf(...infos), encrypted?.raw ?? Buffer.alloc(0)]
  return contentInfo(contentTypes.envelopedData, sequence(...members))
}

type Part = 'version' | 'id' | 'digest' | 'attributes' | 'algorithm' | 'signature'

/** The message with parts of its SignerInfo replaced. */
const withParts = (der: Buffer, change: (parts: Record<Part, Buffer>) => Partial<Record<Part, Buffer>>): Buffer =>
  withSignerInfos(der, infos =>
    infos.map(info => {
      const [version, id, digest, attributes, algorithm, signature] = readSequence(readDer(info)).map(one => one.raw)
      const parts = { version, id, digest, attributes, algorithm, signature } as Record<Part, Buffer>
      return sequence(...Object.values({ ...parts, ...change(parts) }))
    }),
  )

const reversed = (attributes: Buffer): Buffer[] =>
  readDer(attributes, 0xa0)
    .children.map(({ raw }) => raw)
    .toReversed()

/** A renewal with a key of its own, and what may be otherwise in its envelope and its SignerInfo. */
const renewal = async (
  envelopeOf: (sealed: Buffer) => Buffer = sealed => sealed,
  messageOf: (der: Buffer) => Buffer | Promise<Buffer> = der => der,
) => {
  const keys = await rsaKeys()
  const content = await csrOf(owner.name, keys)
  const sealed = sealEnvelopedData(content, { recipients: [recipient()], cipher: 'AES-256-CBC' })
  const party = partyOf(owner.device)
  const senderNonce = Buffer.alloc(16, 3)
  const attributes = { messageType: [printableString('17')], senderNonce: [tlv(0x04, senderNonce)] }
  const der = await messageOf(await craftRequest({ envelope: envelopeOf(sealed), attributes }, party, party))
  const reply = await connection.send({ der, transactionId: 'transaction 1', senderNonce })
  return { reply, keys }
}

const expectRenewed = async (...forms: Parameters<typeof renewal>): Promise<void> => {
  const { reply, keys } = await renewal(...forms)
  const [leaf] = certificatesIn(reply)
  expect(parseCertificate(leaf as Buffer).publicKeySpki).toEqual(keys.publicKeySpki)
  const row = await setting.service.em().findOneOrFail(Certificate, { der: leaf as Buffer })
  expect(row.endEntityId).toBe(owner.endEntityId)
}

test('scep case 31: a recipient that is named by its subjectKeyIdentifier opens the envelope', () =>
  expectRenewed(sealed => namedBy(sealed, skiOf(recipient()))))

test('scep case 31: a subjectKeyIdentifier of somebody else is badRequest', async () => {
  const { reply } = await renewal(sealed => namedBy(sealed, skiOf(owner.certificate)))
  expect([reply.status, reply.failInfo]).toEqual(['FAILURE', 'badRequest'])
})

test('scep case 31: a signer that is named by its subjectKeyIdentifier renews', () =>
  expectRenewed(undefined, der =>
    withParts(der, () => ({ version: integer(3), id: implicit(0, skiOf(owner.certificate)) })),
  ))

test('scep case 31: attributes out of order are read, signed in their order', () =>
  expectRenewed(undefined, async der => {
    let attributes = Buffer.alloc(0)
    withParts(der, parts => {
      attributes = Buffer.concat(reversed(parts.attributes))
      return {}
    })
    const toSign = tlv(0x31, attributes)
    const { signature } = await signAttributes(toSign, owner.device.key, { digest: 'SHA-256', scheme: 'PKCS1' })
    return withParts(der, () => ({ attributes: tlv(0xa0, attributes), signature: tlv(0x04, signature) }))
  }))

test('scep case 31: attributes out of order are read, signed in sorted order', () =>
  expectRenewed(undefined, der => withParts(der, parts => ({ attributes: tlv(0xa0, ...reversed(parts.attributes)) }))))

test('scep case 31: attributes out of order, signed in neither order, are badMessageCheck', async () => {
  const { reply } = await renewal(undefined, async der => {
    let attributes: Buffer[] = []
    withParts(der, parts => {
      attributes = reversed(parts.attributes)
      return {}
    })
    const [first = Buffer.alloc(0), ...rest] = attributes
    const third = tlv(0x31, ...rest, first)
    const { signature } = await signAttributes(third, owner.device.key, { digest: 'SHA-256', scheme: 'PKCS1' })
    return withParts(der, () => ({ attributes: tlv(0xa0, ...attributes), signature: tlv(0x04, signature) }))
  })
  expect([reply.status, reply.failInfo]).toEqual(['FAILURE', 'badMessageCheck'])
})
