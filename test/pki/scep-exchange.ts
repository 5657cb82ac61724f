// A device and a SCEP server that talk by our codec; and requests of which each part can be wrong.
import { randomBytes } from 'node:crypto'
import { octetString, oid, printableString, sequence, setOf, tlv } from '../../pki/asn1/der.ts'
import { readDer, readOid, readSequence, readSet } from '../../pki/asn1/der-reader.ts'
import type { DigestName } from '../../pki/cms/algorithms.ts'
import { contentInfo, contentTypes, readContentInfo } from '../../pki/cms/content-info.ts'
import { openEnvelopedData } from '../../pki/cms/opening.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { assembleSignedData, attribute, signedAttributes } from '../../pki/cms/signed-data-writer.ts'
import { signAttributes } from '../../pki/cms/signing.ts'
import { finishCertRep, type UnsignedCertRep } from '../../pki/scep/cert-rep.ts'
import { ScepRefusal } from '../../pki/scep/refusal.ts'
import { readScepRequest, type ScepRequest } from '../../pki/scep/request.ts'
import { readRequestContent, type RequestContent } from '../../pki/scep/request-content.ts'
import { attributeOids, isScepSignedAttributes } from '../../pki/scep/signed-attributes.ts'
import type { TestParty } from './scep-parties.ts'

/** What the service and the gateway do with a request together. */
export const receive = (der: Buffer, server: TestParty): { request: ScepRequest; content: RequestContent } => {
  const request = readScepRequest(der)
  const { content } = openEnvelopedData(request.envelopeBytes, [server])
  return { request, content: readRequestContent(request, content) }
}

/** Signs a reply as the service does, and puts it together. */
export const reply = async (unsigned: UnsignedCertRep, server: TestParty): Promise<Buffer> => {
  const { toSign, digest } = unsigned
  if (!isScepSignedAttributes(toSign, digest)) throw new Error('The service would not sign it')
  const { signature } = await signAttributes(toSign, server.key, { digest, scheme: 'PKCS1' })
  return finishCertRep(unsigned, { signature, signer: server.certificate })
}

/** How a call is refused: failInfo, whether a CertRep can answer, and the reason. */
export const refusalOf = (call: () => unknown): ScepRefusal => {
  try {
    call()
  } catch (error) {
    if (error instanceof ScepRefusal) return error
    throw error
  }
  throw new Error('The call succeeded')
}

/** The attributes of SCEP that a request has, each a list of values. */
export const goodAttributes = () => ({
  messageType: [printableString('19')],
  transactionId: [printableString('transaction 1')],
  senderNonce: [octetString(randomBytes(16))],
})

/** A request of which each part can be wrong. */
export interface Crafted {
  readonly attributes?: Partial<Record<keyof typeof attributeOids, readonly Buffer[]>>
  readonly more?: readonly Buffer[]
  /** The OID of an attribute of CMS that is left out. */
  readonly without?: string
  readonly envelope?: Buffer
  readonly digest?: DigestName
  readonly certificates?: readonly Buffer[]
}

const seal = (content: Buffer, server: TestParty): Buffer =>
  sealEnvelopedData(content, { recipients: [server.certificate], cipher: 'AES-128-CBC' })

/** Puts a request together and signs it. */
export const craftRequest = async (parts: Crafted, client: TestParty, server: TestParty): Promise<Buffer> => {
  const { digest = 'SHA-256', envelope = seal(Buffer.alloc(0), server), more = [] } = parts
  const values = { ...goodAttributes(), ...parts.attributes }
  const attributes = Object.entries(values).flatMap(([name, all]) =>
    all.length > 0 ? [sequence(oid(attributeOids[name as keyof typeof attributeOids]), setOf(...all))] : [],
  )
  const all = readSet(readDer(signedAttributes(envelope, digest, [...attributes, ...more])))
  const kept = all.filter(({ children: [type] }) => readOid(type) !== parts.without)
  const signed = setOf(...kept.map(({ raw }) => raw))
  const signature = await signAttributes(signed, client.key, { digest, scheme: 'PKCS1' })
  const certificates = parts.certificates ?? [client.certificate]
  const signer = client.certificate
  return assembleSignedData({ content: envelope, digest, signedAttributes: signed, ...signature, signer, certificates })
}

/** A second attribute of the name beside the one that is there. */
export const again = (name: keyof typeof attributeOids, value: Buffer): Buffer => attribute(attributeOids[name], value)

/** The message with other SignerInfos, each DER. */
export const withSignerInfos = (der: Buffer, change: (infos: readonly Buffer[]) => readonly Buffer[]): Buffer => {
  const members = readContentInfo(readDer(der), contentTypes.signedData)
  const infos = readSet(members.at(-1)).map(({ raw }) => raw)
  const others = members.slice(0, -1).map(({ raw }) => raw)
  return contentInfo(contentTypes.signedData, sequence(...others, tlv(0x31, ...change(infos))))
}

/** A SignerInfo without its signed attributes. */
export const withoutAttributes = (info: Buffer): Buffer =>
  sequence(...readSequence(readDer(info)).flatMap(({ tag, raw }) => (tag === 0xa0 ? [] : [raw])))
