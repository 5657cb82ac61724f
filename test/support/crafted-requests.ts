// PKCS#10 requests that no tool makes: rightly signed, whatever stands in them.
import { createPublicKey, type KeyObject } from 'node:crypto'
import { context, integer, octetString, oid, sequence, setOf, tlv, utf8String } from '../../pki/asn1/der.ts'
import { signDer } from '../../pki/certificate/signed.ts'

/** What stands in a request beside its key. */
export interface Crafted {
  /** Attributes of the subject: the last arc below 2.5.4 or a whole OID, and the finished value. */
  readonly subject?: readonly (readonly [number | string, Buffer])[]
  readonly attributes?: readonly Buffer[]
}

const attributeType = (type: number | string) => oid(typeof type === 'number' ? `2.5.4.${type}` : type)

/** A DER request, signed by its key. */
export const craftRequest = (key: KeyObject, { subject = [], attributes = [] }: Crafted): Promise<Buffer> => {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const name = sequence(...subject.map(([type, value]) => setOf(sequence(attributeType(type), value))))
  return signDer(sequence(integer(0), name, spki, context(0, ...attributes)), key)
}

/** The extensionRequest of PKCS#9, and the attribute that Microsoft has for the same. */
export const extensionRequest = '1.2.840.113549.1.9.14'
export const microsoftRequest = '1.3.6.1.4.1.311.2.1.14'

/** An attribute with the values of its set. */
export const attribute = (type: string, ...values: Buffer[]): Buffer => sequence(oid(type), setOf(...values))

/** A subject alternative name extension with DNS names. */
export const sanExtension = (...names: string[]): Buffer =>
  sequence(oid('2.5.29.17'), octetString(sequence(...names.map(name => tlv(0x82, Buffer.from(name))))))

/** Text as UniversalString, which has four octets a character. */
export const universalString = (text: string): Buffer =>
  tlv(0x1c, Buffer.concat(Array.from(text, character => Buffer.from([0, 0, 0, character.charCodeAt(0)]))))

/** Text as GeneralString. */
export const generalString = (text: string): Buffer => tlv(0x1b, Buffer.from(text))

/** Text as UTF8String, which is read. */
export { utf8String }
