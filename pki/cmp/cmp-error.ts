// What is wrong with a part of a CMP message.
import { DerError } from '../asn1/der-reader.ts'

/** The octets are not what they should be; the text is a sentence without a word of the message. */
export class CmpError extends Error {
  override readonly name = 'CmpError'
}

/** The result of a reader of CMP; its DerError becomes CmpError. */
export const readingCmp = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof DerError) throw new CmpError(error.message)
    throw error
  }
}
