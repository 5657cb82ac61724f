// How a PKI operation ends (RFC 8894 3.3.2).
import type { FailInfo } from '../pki/scep/vocabulary.ts'

/** What the records call it, for the log. */
export interface Traces {
  readonly certRequestId?: string
  readonly certificateId?: string
}

/** The end of an operation: the bag of certificates or the CRL with SUCCESS. */
export type Outcome = ({ readonly status: 'SUCCESS'; readonly bag: Buffer } | { readonly status: 'PENDING' }) & Traces

/** FAILURE: `text` is told to the device, `reason` to the log alone. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly failInfo: FailInfo
  readonly text: string

  constructor(failInfo: FailInfo, text: string, reason: string = text) {
    super(reason)
    this.failInfo = failInfo
    this.text = text
  }
}

/** Whoever may not: one answer, whatever the reason is (contract 12.3). */
export const notAuthorised = (reason: string): Refused =>
  new Refused('badRequest', 'The request is not authorised.', reason)
