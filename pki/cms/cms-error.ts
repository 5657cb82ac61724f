// What is wrong with a CMS message, in four kinds that callers decide by.
import { DerError } from '../asn1/der-reader.ts'

/**
 * MALFORMED: not the structure; ALGORITHM: one that is recognised or unknown, and not supported; SIGNATURE: it, a digest or
 * its certificate is wrong or missing; DECRYPTION: whatever else is in the way of the content, always with one text.
 */
export type CmsFault = 'MALFORMED' | 'ALGORITHM' | 'SIGNATURE' | 'DECRYPTION'

/** The message cannot be taken; `fault` says why, the text is for logs. */
export class CmsError extends Error {
  override readonly name = 'CmsError'
  readonly fault: CmsFault

  constructor(fault: CmsFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** The result of a reader of CMS; its DerError becomes CmsError MALFORMED. */
export const readingCms = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof DerError) throw new CmsError('MALFORMED', error.message)
    throw error
  }
}
