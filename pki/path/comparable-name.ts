// Names in the form in which they are compared (RFC 5280 7.1): without case, white space collapsed, in any string type.
import { tags } from '../asn1/der.ts'
import { type DerValue, readDer } from '../asn1/der-reader.ts'
import { encodeName, type NameAttribute, readName } from '../names/name.ts'
import { parseNameText } from '../names/name-text.ts'

// The string types whose texts mean the same characters. TeletexString has no one character set: its octets are compared.
const textTags: readonly (number | undefined)[] = [
  tags.utf8String,
  tags.printableString,
  tags.ia5String,
  tags.bmpString,
]

const fold = (text: string): string => text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()

const attributeText = ({ oid, text, der }: NameAttribute): string =>
  JSON.stringify(text !== null && textTags.includes(der[0]) ? [oid, fold(text)] : [oid, 'der', der.toString('hex')])

/** One relative name: its attributes are a set. JSON holds no line break, so that none can pass for two. */
const relativeText = (attributes: readonly NameAttribute[]): string =>
  `${attributes.map(attributeText).toSorted().join()}\n`

/**
 * A DER Name as text that is equal for equal names, and begins with that of each name above it. Throws a DerError.
 */
export const comparableName = (name: DerValue): string => readName(name).map(relativeText).join('')

/** RFC 4514 text of a name in the same form; VALIDATION_FAILED when it is none. */
export const comparableNameText = (text: string): string => comparableName(readDer(encodeName(parseNameText(text))))

/** A RelativeDistinguishedName (the content of its SET) below a name. */
export const below = (name: string, attributes: readonly NameAttribute[]): string => name + relativeText(attributes)
