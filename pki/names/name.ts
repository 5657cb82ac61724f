// Distinguished names: DER (RFC 5280 4.1.2.4) to attributes and back, subject data, common name. Text: name-text.ts.
import { ia5String, oid, printableString, sequence, setOf, utf8String } from '../asn1/der.ts'
import { DerError, type DerValue, findText, readDer, readOid, readSequence, readSet } from '../asn1/der-reader.ts'

/** One attribute: dotted OID, DER of its value, and its text (null when the value is no string). */
export interface NameAttribute {
  readonly oid: string
  readonly text: string | null
  readonly der: Buffer
}

/** A name in encoding order; each relative name holds usually one attribute. */
export type Name = readonly (readonly NameAttribute[])[]

/** The part of the subject data that enters a subject name (contract 5.6). */
export interface SubjectNameData {
  readonly commonName?: string | null | undefined
  readonly organization?: string | null | undefined
  readonly organizationalUnit?: string | null | undefined
  readonly country?: string | null | undefined
}

interface AttributeType {
  readonly oid: string
  readonly encode: (text: string) => Buffer
  readonly maxLength: number
}

const attribute = (oid: string, maxLength: number, encode = utf8String): AttributeType => ({ oid, encode, maxLength })

/** Attribute types by their short names (RFC 4514 3, RFC 4519), with string type and upper bound (RFC 5280 A.1). */
export const attributeTypes = {
  CN: attribute('2.5.4.3', 64),
  OU: attribute('2.5.4.11', 64),
  O: attribute('2.5.4.10', 64),
  C: attribute('2.5.4.6', 2, printableString),
  L: attribute('2.5.4.7', 128),
  ST: attribute('2.5.4.8', 128),
  STREET: attribute('2.5.4.9', 128),
  DC: attribute('0.9.2342.19200300.100.1.25', 63, ia5String),
  UID: attribute('0.9.2342.19200300.100.1.1', 256),
  emailAddress: attribute('1.2.840.113549.1.9.1', 255, ia5String),
  serialNumber: attribute('2.5.4.5', 64, printableString),
  SN: attribute('2.5.4.4', 64),
  GN: attribute('2.5.4.42', 64),
  title: attribute('2.5.4.12', 64),
} as const satisfies Record<string, AttributeType>

/** A short name of the table. */
export type AttributeName = keyof typeof attributeTypes

/** Short names by OID. */
export const attributeNames: ReadonlyMap<string, AttributeName> = new Map(
  Object.entries(attributeTypes).map(([name, type]) => [type.oid, name as AttributeName]),
)

/** The attributes that hold an e-mail address: that of PKCS#9, and `mail` of directories (RFC 4524 2.16). */
export const emailOids: readonly string[] = [attributeTypes.emailAddress.oid, '0.9.2342.19200300.100.1.3']

/** An attribute with a text in the string type of its kind. */
export const textAttribute = (name: AttributeName, text: string): NameAttribute => {
  const type = attributeTypes[name]
  return { oid: type.oid, text, der: type.encode(text) }
}

/** DER Name (RDNSequence). */
export const encodeName = (name: Name): Buffer =>
  sequence(...name.map(rdn => setOf(...rdn.map(({ oid: type, der }) => sequence(oid(type), der)))))

const subjectOrder = [
  ['C', 'country'],
  ['O', 'organization'],
  ['OU', 'organizationalUnit'],
  ['CN', 'commonName'],
] as const

/** The subject name of the subject data: C, O, OU, CN in this encoding order, those that are present (contract 5.6). */
export const subjectName = (subject: SubjectNameData): Name =>
  subjectOrder.flatMap(([type, field]) => {
    const text = subject[field]
    return text ? [[textAttribute(type, text)]] : []
  })

const readAttribute = (value: DerValue): NameAttribute => {
  const [type, content, ...rest] = readSequence(value)
  if (!content || rest.length > 0) throw new DerError('The attribute is malformed')
  return { oid: readOid(type), text: findText(content), der: content.raw }
}

/** The attributes of a DER Name; throws a DerError. */
export const readName = (value: DerValue): Name =>
  readSequence(value).map(rdn => {
    const attributes = readSet(rdn).map(readAttribute)
    if (attributes.length === 0) throw new DerError('A relative name is empty')
    return attributes
  })

/** The attributes of the octets of a DER Name; throws a DerError. */
export const parseName = (der: Buffer): Name => readName(readDer(der))

/** The texts of all attributes of one type, in encoding order. */
export const attributeTexts = (name: Name, type: AttributeName): string[] =>
  name.flat().flatMap(entry => (entry.oid === attributeTypes[type].oid && entry.text !== null ? [entry.text] : []))

/** The common name, the most specific (last encoded) where there are several, or null. */
export const commonNameOf = (name: Name): string | null => attributeTexts(name, 'CN').at(-1) ?? null
