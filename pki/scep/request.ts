// A PKIOperation request (RFC 8894 3.2, 3.3) without what is in its envelope: read, verified, held to the attribute rules.
import { longestMessage, readBer } from '../asn1/ber.ts'
import { printableString, tags } from '../asn1/der.ts'
import { DerError, type DerValue } from '../asn1/der-reader.ts'
import { type AlgorithmRules, type ContentCipherName, type Digest, type DigestName } from '../cms/algorithms.ts'
import { getDigest, readAlgorithm } from '../cms/algorithms.ts'
import { CmsError } from '../cms/cms-error.ts'
import { type EnvelopedData, readEnvelopedData } from '../cms/enveloped-data.ts'
import type { Party } from '../cms/parties.ts'
import { type Verified, verifySignedData } from '../cms/signature.ts'
import { attributeValues, readSignedData, type SignedData, type SignerInfo } from '../cms/signed-data.ts'
import { type ReplyContext, ScepRefusal } from './refusal.ts'
import { attributeOids, stringTags } from './signed-attributes.ts'
import { findAnyText } from './text.ts'
import { nameOf, nonceOctets, type RequestType, requestTypes } from './vocabulary.ts'

/** A request whose signature is right; what it asks for is still encrypted. */
export interface ScepRequest extends ReplyContext {
  readonly messageType: RequestType
  readonly senderNonce: Buffer
  /** Who signed: a certificate with an RSA key, of any issuer; `der` and `spki` are DER. */
  readonly signer: Party
  /** All certificates of the message, raw DER in their order. */
  readonly certificates: readonly Buffer[]
  /** The ContentInfo with EnvelopedData as it came. */
  readonly envelopeBytes: Buffer
  readonly envelope: EnvelopedData
  readonly contentCipher: ContentCipherName
  /** What the message is signed by; `digest` is that of the reply, and may be another one. */
  readonly messageDigest: Digest['name']
}

/** How strictly a request is read. */
export interface RequestRules extends AlgorithmRules {
  /** The most octets of a message; 1 MiB unless another number is said. */
  readonly most?: number
  /** Takes senderNonces of 1 to 64 octets, not of 16 alone. */
  readonly anyNonceLength?: boolean
  /** Whether a reply may be signed by SHA-1; it may unless that is said. The message may be by SHA-1 all the same. */
  readonly legacyReplies?: boolean
}

const longestNonce = 64
const longestTransactionId = 256
const longestLogged = 100

const textOf = (value: DerValue): string | null => {
  try {
    return findAnyText(value)
  } catch (error) {
    if (error instanceof DerError) return null
    throw error
  }
}

// oxlint-disable-next-line no-control-regex
const forLog = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?').slice(0, longestLogged)

const isTransactionId = ({ tag, content }: DerValue): boolean =>
  stringTags.includes(tag) && content.length > 0 && content.length <= longestTransactionId

const transactionIdOf = (info: SignerInfo): ReplyContext['transactionId'] | null => {
  const [value] = attributeValues(info, attributeOids.transactionId)
  if (!value || !isTransactionId(value)) return null
  return { der: value.raw, text: forLog(textOf(value) ?? value.content.toString('latin1')) }
}

const replyDigest = ({ digestAlgorithm }: SignerInfo, { legacyReplies = true }: RequestRules): DigestName => {
  const { dotted } = readAlgorithm(digestAlgorithm)
  try {
    const { answer } = getDigest(dotted, { insecureAlgorithms: true })
    return answer === 'SHA-1' && !legacyReplies ? 'SHA-256' : answer
  } catch (error) {
    if (error instanceof CmsError) return 'SHA-256'
    throw error
  }
}

const isRepeatable = ({ tag, content }: DerValue): boolean =>
  tag === tags.octetString && content.length > 0 && content.length <= longestNonce

// A client that names no transaction still learns that its message is wrong, when that message is its own.
const nameless = { der: printableString(''), text: '' }

/** A message as far as it could be read before its signature is judged. */
interface Outer {
  readonly signedData: SignedData
  readonly info: SignerInfo
  readonly transactionId: ReplyContext['transactionId'] | null
  readonly reply: ReplyContext
  readonly hasTrailer: boolean
}

const unreadable = (reason: string): ScepRefusal => new ScepRefusal('badMessageCheck', reason, null)

// Some clients fill the last block of what they send, or end it with a line break.
const isBlank = (rest: Buffer): boolean => rest.every(octet => [0x00, 0x09, 0x0a, 0x0d, 0x20].includes(octet))

const readOuter = (value: DerValue, rest: Buffer, rules: RequestRules): Outer => {
  const signedData = readSignedData(value)
  const [info] = signedData.signerInfos
  if (!info) throw unreadable('There is no signature')
  const transactionId = transactionIdOf(info)
  const senderNonce = attributeValues(info, attributeOids.senderNonce).find(isRepeatable)?.content ?? null
  const reply = { transactionId: transactionId ?? nameless, senderNonce, digest: replyDigest(info, rules) }
  return { signedData, info, transactionId, reply, hasTrailer: !isBlank(rest) }
}

const readingOuter = (bytes: Buffer, rules: RequestRules): Outer => {
  try {
    return readBer(bytes, (value, rest) => readOuter(value, rest, rules), rules.most ?? longestMessage)
  } catch (error) {
    if (error instanceof DerError) throw unreadable(`It is no CMS message: ${error.message}`)
    throw error
  }
}

/** The result of a step; its CmsError becomes the refusal that goes with it. */
const refusing = <T>(reply: ReplyContext | null, step: () => T): T => {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof CmsError)) throw error
    throw new ScepRefusal(error.fault === 'ALGORITHM' ? 'badAlg' : 'badMessageCheck', error.message, reply)
  }
}

const verify = ({ signedData, transactionId, reply, hasTrailer }: Outer, rules: AlgorithmRules): Verified =>
  refusing(transactionId && reply, () => {
    if (hasTrailer) throw new CmsError('MALFORMED', 'Octets follow the message')
    return verifySignedData(signedData, rules)
  })

const getOnly = ({ info, reply }: Outer, name: 'messageType' | 'senderNonce' | 'transactionId'): DerValue => {
  const [value, ...more] = attributeValues(info, attributeOids[name])
  if (!value || more.length > 0) throw new ScepRefusal('badRequest', `There is not exactly one ${name}`, reply)
  return value
}

const getMessageType = (outer: Outer): RequestType => {
  const type = nameOf(requestTypes, textOf(getOnly(outer, 'messageType')) ?? '')
  if (!type) throw new ScepRefusal('badRequest', 'The messageType is none that clients send', outer.reply)
  return type
}

const getNonce = (outer: Outer, anyLength: boolean): Buffer => {
  const value = getOnly(outer, 'senderNonce')
  if (isRepeatable(value) && (anyLength || value.content.length === nonceOctets)) return value.content
  throw new ScepRefusal('badRequest', `The senderNonce is no string of ${nonceOctets} octets`, outer.reply)
}

const checkTransactionId = (outer: Outer): void => {
  if (isTransactionId(getOnly(outer, 'transactionId'))) return
  throw new ScepRefusal('badRequest', 'The transactionID is no text of 1 to 256 octets', outer.reply)
}

/**
 * Reads a PKIOperation request, DER or BER, and verifies its signature; blanks and zeros may follow it. Throws nothing but
 * ScepRefusal: badMessageCheck when it is unreadable or the signature is wrong, badAlg for algorithms that are not supported
 * and signer keys that are not RSA, badRequest for attributes that are missing, doubled or wrong (RFC 8894 3.2.1).
 */
export const readScepRequest = (bytes: Buffer, rules: RequestRules = {}): ScepRequest => {
  const { insecureAlgorithms = false } = rules
  const outer = readingOuter(bytes, rules)
  const { signer, digest } = verify(outer, rules)
  checkTransactionId(outer)
  const messageType = getMessageType(outer)
  const senderNonce = getNonce(outer, rules.anyNonceLength ?? false)
  const envelopeBytes = outer.signedData.content ?? Buffer.alloc(0)
  const envelope = refusing(outer.reply, () => readEnvelopedData(envelopeBytes, { insecureAlgorithms }))
  const { certificates } = outer.signedData
  return {
    ...outer.reply,
    messageType,
    senderNonce,
    signer,
    certificates,
    envelopeBytes,
    envelope,
    contentCipher: envelope.cipher.name,
    messageDigest: digest.name,
  }
}
