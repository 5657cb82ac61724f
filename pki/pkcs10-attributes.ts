// The attributes of a PKCS#10 request (RFC 2985 5.4, RFC 2986 4.1): read, and what of them cannot be understood.
import type { SubjectAlternativeName } from '../domain/address.ts'
import { DerError, type DerValue, expectTag, findText, readOid, readSequence, readSet } from './asn1/der-reader.ts'
import { readSubjectAlternativeNames } from './certificate/extension-reader.ts'
import { extensionOids } from './certificate/extensions.ts'
import { type Extension, readExtension } from './certificate/tbs-certificate.ts'
import { attributeNames, attributeTypes, emailOids, type Name } from './names/name.ts'

/** Object identifiers of the attributes that are read or written. */
export const attributeOids = {
  challengePassword: '1.2.840.113549.1.9.7',
  extensionRequest: '1.2.840.113549.1.9.14',
  microsoftExtensionRequest: '1.3.6.1.4.1.311.2.1.14',
} as const

/** One attribute with the values of its set. */
export interface Attribute {
  readonly oid: string
  readonly values: readonly DerValue[]
}

const readAttribute = (value: DerValue): Attribute => {
  const [type, values, ...rest] = readSequence(value)
  if (rest.length > 0) throw new DerError('An attribute is malformed')
  return { oid: readOid(type), values: readSet(values) }
}

/**
 * The attributes at the end of a CertificationRequestInfo; throws a DerError. Some programs leave them out although
 * RFC 2986 4.1 wants at least the empty set.
 */
export const readAttributes = (optional: readonly DerValue[]): Attribute[] => {
  const [attributes, ...rest] = optional
  if (rest.length > 0) throw new DerError('The request has additional members')
  return attributes ? expectTag(attributes, 0xa0).children.map(readAttribute) : []
}

/** The challenge password, or null without one that is text. */
export const readChallengePassword = (attributes: readonly Attribute[]): string | null => {
  const [value] = attributes.find(({ oid }) => oid === attributeOids.challengePassword)?.values ?? []
  return value ? findText(value) : null
}

const extensionRequests: readonly string[] = [attributeOids.extensionRequest, attributeOids.microsoftExtensionRequest]

const requestsIn = (attributes: readonly Attribute[]): readonly DerValue[] =>
  attributes.filter(({ oid }) => extensionRequests.includes(oid)).flatMap(({ values }) => values)

/** The extensions that a request asks for, of all its extension requests one after the other; throws a DerError. */
export const readRequestedExtensions = (attributes: readonly Attribute[]): Extension[] =>
  requestsIn(attributes).flatMap(value => readSequence(value).map(readExtension))

/** The alternative names that a request asks for, of all its extension requests; throws a DerError. */
export const readRequestedNames = (extensions: readonly Extension[]): SubjectAlternativeName[] =>
  extensions
    .filter(({ oid }) => oid === extensionOids.subjectAlternativeName)
    .flatMap(extension => readSubjectAlternativeNames([extension]))

const repeated = (texts: readonly string[]): string[] => {
  const [seen, again] = [new Set<string>(), new Set<string>()]
  for (const text of texts) (seen.has(text) ? again : seen).add(text)
  return [...again]
}

const singleValued: readonly string[] = Object.values(attributeOids)

// The attributes that an end entity has as well; of others nothing is compared.
const { CN, O, OU, C } = attributeTypes
const comparedOids: readonly string[] = [...[CN, O, OU, C].map(({ oid }) => oid), ...emailOids]

/** A request as its names are looked at. */
export interface NamedRequest {
  readonly name: Name
  readonly attributes: readonly Attribute[]
  readonly extensions: readonly Extension[]
}

/** What might hold a name that is not seen, one sentence each (contract 5.4 step 9). */
export const unreadNames = ({ name, attributes, extensions }: NamedRequest): string[] => [
  ...repeated(attributes.map(({ oid }) => oid)).map(oid => `The attribute ${oid} stands twice`),
  ...attributes
    .filter(({ oid, values }) => singleValued.includes(oid) && values.length !== 1)
    .map(({ oid, values }) => `The attribute ${oid} has ${values.length} values instead of one`),
  ...(attributes.filter(({ oid }) => extensionRequests.includes(oid)).length > 1
    ? ['There is more than one extension request']
    : []),
  ...attributes
    .filter(({ oid }) => oid === extensionOids.subjectAlternativeName)
    .map(() => 'The alternative names are an attribute and no requested extension'),
  ...repeated(extensions.map(({ oid }) => oid)).map(oid => `The extension ${oid} is requested twice`),
  ...name
    .flat()
    .filter(({ oid, text }) => text === null && comparedOids.includes(oid))
    .map(
      ({ oid }) => `An attribute ${attributeNames.get(oid) ?? oid} of the subject is of a string type that is not read`,
    ),
]
