// What certificate extensions say (RFC 5280 4.2), read from their DER; every error is a DerError.
import type { SubjectAlternativeName } from '../../domain/address.ts'
import {
  DerError,
  type DerValue,
  readBoolean,
  readDer,
  readInteger,
  readNamedBits,
  readOctetString,
  readOid,
  readSequence,
} from '../asn1/der-reader.ts'
import { accessMethods, extensionOids } from './extensions.ts'
import { generalNameTags, readGeneralNames } from '../names/general-name.ts'
import type { Extension } from './tbs-certificate.ts'
import { extendedKeyUsageName, type KeyUsage, keyUsageNames } from './usages.ts'

/** The name of an extension in the table of object identifiers. */
export type ExtensionName = keyof typeof extensionOids

/** The extension of the name, or undefined. */
export const findExtension = (extensions: readonly Extension[], name: ExtensionName): Extension | undefined =>
  extensions.find(({ oid }) => oid === extensionOids[name])

const read = <T>(extensions: readonly Extension[], name: ExtensionName, parse: (value: Buffer) => T): T | null => {
  const found = findExtension(extensions, name)
  return found ? parse(found.value) : null
}

/** The key usages, or null without the extension. */
export const readKeyUsages = (extensions: readonly Extension[]): KeyUsage[] | null =>
  read(extensions, 'keyUsage', value =>
    readNamedBits(readDer(value)).flatMap(bit => {
      const name = keyUsageNames[bit]
      return name ? [name] : []
    }),
  )

/** The extended key usages by name, OIDs where they have none. */
export const readExtendedKeyUsages = (extensions: readonly Extension[]): string[] =>
  read(extensions, 'extendedKeyUsage', value =>
    readSequence(readDer(value)).map(usage => extendedKeyUsageName(readOid(usage))),
  ) ?? []

/** Whether the certificate is a CA's, and how many further CAs may stand below. */
export interface BasicConstraints {
  readonly isCa: boolean
  readonly pathLength: number | null
}

const pathLengthOf = (value: DerValue): number => {
  const content = readInteger(value)
  if ((content[0] ?? 0x80) >= 0x80 || content.length > 4) throw new DerError('The path length is no small number')
  return content.readUIntBE(0, content.length)
}

const parseBasicConstraints = (value: Buffer): BasicConstraints => {
  const members = readSequence(readDer(value))
  const flag = members[0]?.tag === 0x01 ? members[0] : undefined
  const [pathLength, ...rest] = members.slice(flag ? 1 : 0)
  if (rest.length > 0) throw new DerError('The basic constraints are malformed')
  return {
    isCa: flag !== undefined && readBoolean(flag),
    pathLength: pathLength ? pathLengthOf(pathLength) : null,
  }
}

/** The basic constraints; no CA without the extension. */
export const readBasicConstraints = (extensions: readonly Extension[]): BasicConstraints =>
  read(extensions, 'basicConstraints', parseBasicConstraints) ?? { isCa: false, pathLength: null }

/** The subject key identifier, or null. */
export const readSubjectKeyIdentifier = (extensions: readonly Extension[]): Buffer | null =>
  read(extensions, 'subjectKeyIdentifier', value => readOctetString(readDer(value)))

/** The key identifier of the authority key identifier, or null. */
export const readAuthorityKeyIdentifier = (extensions: readonly Extension[]): Buffer | null =>
  read(extensions, 'authorityKeyIdentifier', value => {
    const [first] = readSequence(readDer(value))
    return first?.tag === 0x80 ? first.content : null
  })

/** The alternative names, in their order. */
export const readSubjectAlternativeNames = (extensions: readonly Extension[]): SubjectAlternativeName[] =>
  read(extensions, 'subjectAlternativeName', readGeneralNames) ?? []

const uris = (values: readonly DerValue[]) =>
  values.flatMap(({ tag, content }) => (tag === generalNameTags.uri ? [content.toString('latin1')] : []))

const pointUris = (point: DerValue): string[] => {
  const name = readSequence(point).find(({ tag }) => tag === 0xa0)
  const fullName = name?.children.find(({ tag }) => tag === 0xa0)
  return fullName ? uris(fullName.children) : []
}

/** The URLs of the CRL distribution points. */
export const readCrlDistributionPoints = (extensions: readonly Extension[]): string[] =>
  read(extensions, 'crlDistributionPoints', value => readSequence(readDer(value)).flatMap(pointUris)) ?? []

/** The URLs of delta CRLs. */
export const readFreshestCrl = (extensions: readonly Extension[]): string[] =>
  read(extensions, 'freshestCrl', value => readSequence(readDer(value)).flatMap(pointUris)) ?? []

/** The URLs of one access method of the authority information access. */
export const readAccessUrls = (extensions: readonly Extension[], method: keyof typeof accessMethods): string[] =>
  read(extensions, 'authorityInformationAccess', value =>
    readSequence(readDer(value)).flatMap(description => {
      const [type, ...location] = readSequence(description)
      return readOid(type) === accessMethods[method] ? uris(location) : []
    }),
  ) ?? []
