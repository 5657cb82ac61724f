// What is wrong with an OCSP message, in kinds that callers decide by.
import { DerError } from '../asn1/der-reader.ts'

/**
 * MALFORMED: not the structure, or what must not be ignored in it is unknown; STATUS: the responder refused to answer;
 * SIGNATURE: it is wrong, or the signer may not answer for the CA; MISMATCH: about another certificate, or to another
 * request; TIME: too old or not of the present.
 */
export type OcspFault = 'MALFORMED' | 'STATUS' | 'SIGNATURE' | 'MISMATCH' | 'TIME'

/** The message cannot be taken; `fault` says why, the text is a sentence without a word of the message. */
export class OcspError extends Error {
  override readonly name = 'OcspError'
  readonly fault: OcspFault

  constructor(fault: OcspFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** The result of a reader of OCSP; its DerError becomes OcspError MALFORMED. */
export const readingOcsp = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof DerError) throw new OcspError('MALFORMED', error.message)
    throw error
  }
}
