// The client's side of SCEP (RFC 8894 3.3): requests made, replies read.
import { type KeyObject, randomBytes } from 'node:crypto'
import { integer, octetString, printableString, sequence } from '../asn1/der.ts'
import type { ContentCipherName, DigestName } from '../cms/algorithms.ts'
import type { KeyTransport } from '../cms/key-transport.ts'
import { sealEnvelopedData } from '../cms/sealing.ts'
import { assembleSignedData, attribute, signedAttributes } from '../cms/signed-data-writer.ts'
import { type SignatureScheme, signAttributes } from '../cms/signing.ts'
import { attributeOids } from './signed-attributes.ts'
import { nonceOctets, type RequestType, requestTypes } from './vocabulary.ts'

/** Who sends a request: DER certificate (self-signed, or the one to renew) and private RSA key. */
export interface ScepClient {
  readonly certificate: Buffer
  readonly key: KeyObject
}

/** By which algorithms a request is made. */
export interface RequestAlgorithms {
  readonly digest: DigestName
  readonly cipher: ContentCipherName
  readonly scheme?: SignatureScheme
  readonly transport?: KeyTransport
}

/** A request before it is encrypted and signed. */
export interface RequestDraft {
  readonly messageType: RequestType
  /** Of the alphabet of PrintableString. */
  readonly transactionId: string
  /** DER: PKCS#10, IssuerAndSubject or IssuerAndSerialNumber. */
  readonly content: Buffer
  /** The DER certificates that can open it: that of the SCEP server. */
  readonly recipients: readonly Buffer[]
  /** DER certificates besides the client's own. */
  readonly chain?: readonly Buffer[]
}

/** A request, DER, and the nonce that its reply repeats. */
export interface SentRequest {
  readonly der: Buffer
  readonly transactionId: string
  readonly senderNonce: Buffer
}

/** Encrypts and signs a request. */
export const writeScepRequest = async (
  draft: RequestDraft,
  client: ScepClient,
  algorithms: RequestAlgorithms,
): Promise<SentRequest> => {
  const { digest, cipher, scheme = 'PKCS1', transport = 'PKCS1' } = algorithms
  const { messageType, transactionId, recipients, chain = [] } = draft
  const senderNonce = randomBytes(nonceOctets)
  const content = sealEnvelopedData(draft.content, { recipients, cipher, transport })
  const signed = signedAttributes(content, digest, [
    attribute(attributeOids.messageType, printableString(requestTypes[messageType])),
    attribute(attributeOids.transactionId, printableString(transactionId)),
    attribute(attributeOids.senderNonce, octetString(senderNonce)),
  ])
  const signature = await signAttributes(signed, client.key, { digest, scheme })
  const certificates = [client.certificate, ...chain]
  const parts = { content, digest, signedAttributes: signed, ...signature, signer: client.certificate, certificates }
  return { der: assembleSignedData(parts), transactionId, senderNonce }
}

/** The content of CertPoll: DER IssuerAndSubject from DER names. */
export const issuerAndSubject = (issuer: Buffer, subject: Buffer): Buffer => sequence(issuer, subject)

/** The content of GetCert and GetCRL: DER IssuerAndSerialNumber from a DER name and hexadecimal. */
export const issuerAndSerialNumber = (issuer: Buffer, serialNumber: string): Buffer =>
  sequence(issuer, integer(serialNumber))
