// Why a SCEP request is refused, and what is known of it to answer by.
import type { DigestName } from '../cms/algorithms.ts'
import type { FailInfo } from './vocabulary.ts'

/** What every reply takes from its request (RFC 8894 3.2.1). */
export interface ReplyContext {
  /** `der` is the client's own value, tag and all; `text` is for logs. */
  readonly transactionId: { readonly der: Buffer; readonly text: string }
  /** Null when the request has none that can be repeated. */
  readonly senderNonce: Buffer | null
  /** That of the request, SHA-1 for MD5, SHA-256 for what is unknown, and for both where SHA-1 is switched off. */
  readonly digest: DigestName
}

/**
 * The request is refused: by a CertRep with failInfo where `reply` is there, else by HTTP 400. The message tells why and is
 * for logs; it never holds a part of the request.
 */
export class ScepRefusal extends Error {
  override readonly name = 'ScepRefusal'
  readonly failInfo: FailInfo
  readonly reply: ReplyContext | null

  constructor(failInfo: FailInfo, message: string, reply: ReplyContext | null) {
    super(message)
    this.failInfo = failInfo
    this.reply = reply
  }
}

/** The challengePassword is there and no secret: who refuses it tells no more than of a wrong one. */
export class MalformedChallenge extends ScepRefusal {
  constructor(reply: ReplyContext) {
    super('badRequest', 'The challengePassword is not one text', reply)
  }
}

/** Whatever keeps the gateway from the content of an envelope: one refusal for all of it (RFC 3218). */
export const undecipherable = (reply: ReplyContext): ScepRefusal =>
  new ScepRefusal('badMessageCheck', 'The envelope cannot be decrypted', reply)
