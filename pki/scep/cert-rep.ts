// CertRep written (RFC 8894 3.3.2): made ready, signed elsewhere by the service's key, put together.
import { randomBytes } from 'node:crypto'
import { octetString, printableString, utf8String } from '../asn1/der.ts'
import type { DigestName } from '../cms/algorithms.ts'
import { sealEnvelopedData } from '../cms/sealing.ts'
import { assembleSignedData, attribute, signedAttributes } from '../cms/signed-data-writer.ts'
import type { ReplyContext } from './refusal.ts'
import type { ScepRequest } from './request.ts'
import { attributeOids } from './signed-attributes.ts'
import { certRepType, type FailInfo, failInfos, nonceOctets, pkiStatuses } from './vocabulary.ts'

/** A reply that lacks its signature: `toSign` is the DER SET OF Attribute to sign with the digest (isScepSignedAttributes). */
export interface UnsignedCertRep {
  readonly toSign: Buffer
  readonly digest: DigestName
  readonly content: Buffer
}

/** A signature over `toSign` with RSASSA-PKCS1-v1_5, and the signer's DER certificate. */
export interface ReplySignature {
  readonly signature: Buffer
  readonly signer: Buffer
}

// The content is there even when it is empty: certmonger takes a reply without it for none (RFC 8894 3.3.2.2).
const empty = Buffer.alloc(0)

const prepare = (context: ReplyContext, content: Buffer, attributes: readonly Buffer[]): UnsignedCertRep => {
  const { transactionId, senderNonce, digest } = context
  const toSign = signedAttributes(content, digest, [
    attribute(attributeOids.messageType, printableString(certRepType)),
    attribute(attributeOids.transactionId, transactionId.der),
    attribute(attributeOids.senderNonce, octetString(randomBytes(nonceOctets))),
    ...(senderNonce ? [attribute(attributeOids.recipientNonce, octetString(senderNonce))] : []),
    ...attributes,
  ])
  return { toSign, digest, content }
}

const status = (name: keyof typeof pkiStatuses): Buffer =>
  attribute(attributeOids.pkiStatus, printableString(pkiStatuses[name]))

/**
 * SUCCESS with a bag of certificates (the new one first) or a CRL, as `certificatesOnly` and `crlOnly` make it: encrypted to
 * the signer of the request by the cipher of the request, always with RSAES-PKCS1-v1_5. CmsError when its key cannot encrypt.
 */
export const prepareSuccess = (request: ScepRequest, bag: Buffer): UnsignedCertRep => {
  const envelope = sealEnvelopedData(bag, { recipients: [request.signer.der], cipher: request.contentCipher })
  return prepare(request, envelope, [status('SUCCESS')])
}

/** FAILURE with its reason; the text is one short sentence for the people at the device. */
export const prepareFailure = (context: ReplyContext, failInfo: FailInfo, text: string): UnsignedCertRep =>
  prepare(context, empty, [
    status('FAILURE'),
    attribute(attributeOids.failInfo, printableString(failInfos[failInfo])),
    attribute(attributeOids.failInfoText, utf8String(text)),
  ])

/** PENDING: the client asks again by CertPoll. */
export const preparePending = (context: ReplyContext): UnsignedCertRep => prepare(context, empty, [status('PENDING')])

/** The DER CertRep (application/x-pki-message). */
export const finishCertRep = (unsigned: UnsignedCertRep, { signature, signer }: ReplySignature): Buffer =>
  assembleSignedData({
    content: unsigned.content,
    digest: unsigned.digest,
    signedAttributes: unsigned.toSign,
    signature,
    signer,
    certificates: [signer],
  })
