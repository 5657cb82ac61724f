// Distinguished names as text (RFC 4514): the last encoded relative name comes first.
import { Failure } from '../../domain/failure.ts'
import { DerError, findText, readDer } from '../asn1/der-reader.ts'
import {
  type AttributeName,
  attributeNames,
  attributeTypes,
  type Name,
  type NameAttribute,
  textAttribute,
} from './name.ts'

const hexPair = (character: string) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`

// RFC 4514 2.4; control characters are escaped as well, so that a name never breaks a line.
const escapeValue = (text: string) =>
  text
    .replace(/["+,;<>\\]/g, '\\$&')
    .replace(/(?<=.) $/s, '\\ ')
    .replace(/^[ #]/, '\\$&')
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u001f\u007f]/g, hexPair)

const formatAttribute = ({ oid, text, der }: NameAttribute): string => {
  const name = attributeNames.get(oid)
  return name && text !== null ? `${name}=${escapeValue(text)}` : `${oid}=#${der.toString('hex')}`
}

/** RFC 4514 text of a name, `CN=…,OU=…,O=…,C=…`. */
export const formatName = (name: Name): string =>
  name
    .toReversed()
    .map(rdn => rdn.map(formatAttribute).join('+'))
    .join(',')

const refuse = (reason: string): never => {
  throw new Failure('VALIDATION_FAILED', `The distinguished name is not RFC 4514 text: ${reason}`)
}

type Token = string

const tokenForm = /\\[0-9A-Fa-f]{2}|\\[ "#+,;<=>\\]|[^\\]/gsu

const tokenize = (text: string): Token[] => {
  const tokens = text.match(tokenForm) ?? []
  if (tokens.join('') !== text) refuse('a backslash escapes nothing')
  return tokens
}

const split = (tokens: readonly Token[], separator: string): Token[][] => {
  const parts: Token[][] = [[]]
  for (const token of tokens) {
    if (token === separator) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts
}

const trim = (tokens: readonly Token[]): Token[] => {
  const first = tokens.findIndex(token => token !== ' ')
  const last = tokens.findLastIndex(token => token !== ' ')
  return first < 0 ? [] : tokens.slice(first, last + 1)
}

const tokenOctets = (token: Token): Buffer => {
  if (token.length === 3 && token.startsWith('\\')) return Buffer.from(token.slice(1), 'hex')
  if (token.length === 2 && token.startsWith('\\')) return Buffer.from(token.slice(1))
  if ('"+;<>'.includes(token)) return refuse(`${token} is not escaped`)
  return Buffer.from(token)
}

const valueText = (tokens: readonly Token[]): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(tokens.map(tokenOctets)))
  } catch (error) {
    if (error instanceof Failure) throw error
    return refuse('a value is not UTF-8')
  }
}

const hexAttribute = (oid: string, hex: string): NameAttribute => {
  const der = Buffer.from(hex, 'hex')
  try {
    const value = readDer(der)
    if (der.length * 2 === hex.length) return { oid, text: findText(value), der }
  } catch (error) {
    if (!(error instanceof DerError)) throw error
  }
  return refuse('a value after # is not hexadecimal DER')
}

const namesByUpperCase = new Map(Object.keys(attributeTypes).map(name => [name.toUpperCase(), name as AttributeName]))

// Below 0 and 1 there are 40 arcs: a larger one would be written as one below 2 (X.660 7.6, X.690 8.19.4).
const dottedForm = /^([01]\.[1-3]?\d|2\.(0|[1-9]\d*))(\.(0|[1-9]\d*))*$/
const longestArc = 18

const isDotted = (text: string): boolean =>
  dottedForm.test(text) && text.split('.').every(arc => arc.length <= longestArc)

const asciiTypes: readonly AttributeName[] = ['C', 'DC', 'emailAddress', 'serialNumber']

const knownAttribute = (name: AttributeName, text: string): NameAttribute => {
  if (text === '') return refuse(`${name} is empty`)
  if (Array.from(text).length > attributeTypes[name].maxLength) return refuse(`${name} is too long`)
  // oxlint-disable-next-line no-control-regex
  if (asciiTypes.includes(name) && /[^\u0000-\u007f]/.test(text)) return refuse(`${name} takes ASCII only`)
  return textAttribute(name, text)
}

const parseAttribute = (tokens: readonly Token[]): NameAttribute => {
  const equals = tokens.indexOf('=')
  if (equals < 0) return refuse('a part has no equals sign')
  const type = tokens.slice(0, equals).join('').trim()
  const value = trim(tokens.slice(equals + 1))
  const name = namesByUpperCase.get(type.toUpperCase()) ?? attributeNames.get(type)
  const oid = name ? attributeTypes[name].oid : type
  if (!isDotted(oid)) return refuse('an attribute type is unknown')
  if (value[0] === '#') return hexAttribute(oid, value.slice(1).join(''))
  return name ? knownAttribute(name, valueText(value)) : refuse('a dotted type needs a value after #')
}

/** The name of RFC 4514 text, in encoding order; else Failure VALIDATION_FAILED. */
export const parseNameText = (text: string): Name => {
  const tokens = trim(tokenize(text))
  if (tokens.length === 0) return []
  return split(tokens, ',')
    .map(rdn => split(rdn, '+').map(parseAttribute))
    .toReversed()
}

/** A name whose last common name is another one; null where it has none. Both are RFC 4514 text. */
export const withCommonName = (text: string, change: (commonName: string) => string): string | null => {
  const name = parseNameText(text)
  const place = name.findLastIndex(rdn => rdn.some(({ oid }) => oid === attributeTypes.CN.oid))
  if (place < 0) return null
  const changed = (entry: NameAttribute): NameAttribute =>
    entry.oid === attributeTypes.CN.oid && entry.text !== null ? textAttribute('CN', change(entry.text)) : entry
  return formatName(name.map((rdn, index) => (index === place ? rdn.map(changed) : rdn)))
}
