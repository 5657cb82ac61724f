// Certificate revocation lists of anybody (RFC 5280 5) taken apart, all but their entries (crl-entries.ts); whether a list may be
// believed is the question of path/revocation.ts.
import type { RevocationReason } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { tags } from './asn1/der.ts'
import {
  DerError,
  DerValue,
  expectTag,
  readBitString,
  readDer,
  readInteger,
  readOid,
  readSequence,
  readTime,
} from './asn1/der-reader.ts'
import { readAuthorityKeyIdentifier } from './certificate/extension-reader.ts'
import type { Signed } from './certificate/signed.ts'
import { type Extension, readExtension } from './certificate/tbs-certificate.ts'
import { comparableName } from './path/comparable-name.ts'
import { type IssuingPoint, readIssuingPoint } from './path/distribution-point.ts'

/** The octets that a list may have. */
export const longestCrl = 64 * 1024 * 1024

/** Object identifiers of the extensions of lists and entries that are read. */
export const crlOids = {
  crlNumber: '2.5.29.20',
  reasonCode: '2.5.29.21',
  invalidityDate: '2.5.29.24',
  deltaCrlIndicator: '2.5.29.27',
  issuingDistributionPoint: '2.5.29.28',
  certificateIssuer: '2.5.29.29',
  authorityKeyIdentifier: '2.5.29.35',
} as const

const known: ReadonlySet<string> = new Set(Object.values(crlOids))

/** A list taken apart; nothing in it is verified. */
export interface ReadCrl {
  readonly signed: Signed
  /** A comparable name. */
  readonly issuer: string
  readonly thisUpdate: Date
  readonly nextUpdate: Date | null
  readonly number: bigint | null
  /** The number of the list that a delta list adds to. */
  readonly baseNumber: bigint | null
  readonly point: IssuingPoint
  /** Of the key that it names as its own. */
  readonly keyIdentifier: Buffer | null
  /** Whether it has a critical extension that is unknown. */
  readonly isUnknown: boolean
  /** The revokedCertificates. */
  readonly entries: DerValue | null
  /** What `findEntries` found already. */
  readonly found?: ReadonlyMap<string, Finding>
}

/** What a list says of one certificate. */
export interface ListedEntry {
  /** Null takes it off the list that a delta list adds to. */
  readonly reason: RevocationReason | null
  readonly date: Date
}

/** What the list says, or that it tells no status. */
export type Finding = ListedEntry | DerError | null

/** The value of an extension; undefined where it is not there. */
export const valueOf = (extensions: readonly Extension[], oid: string): Buffer | undefined =>
  extensions.find(extension => extension.oid === oid)?.value

const numberOf = (extensions: readonly Extension[], oid: string): bigint | null => {
  const value = valueOf(extensions, oid)
  if (!value) return null
  const content = readInteger(readDer(value))
  if ((content[0] ?? 0x80) >= 0x80 || content.length > 21) throw new DerError('The number of the list is none')
  return BigInt(`0x${content.toString('hex')}`)
}

/** Whether one is critical and unknown. */
export const hasUnknown = (extensions: readonly Extension[]): boolean =>
  extensions.some(({ oid, critical }) => critical && !known.has(oid))

/** Reads DER Extensions, of which each stands once; throws a DerError. */
export const readExtensions = (list: DerValue | undefined): Extension[] => {
  const extensions = list ? readSequence(list).map(readExtension) : []
  if (new Set(extensions.map(({ oid }) => oid)).size < extensions.length)
    throw new DerError('An extension stands twice')
  return extensions
}

const isTime = (value: DerValue | undefined): boolean =>
  value?.tag === tags.utcTime || value?.tag === tags.generalizedTime

const readTbs = (tbs: DerValue): Omit<ReadCrl, 'signed'> & { readonly signature: DerValue } => {
  const members = readSequence(tbs)
  if (members[0]?.tag === tags.integer) members.shift()
  const [signature, issuer, thisUpdate, ...optional] = members
  const nextUpdate = isTime(optional[0]) ? optional.shift() : undefined
  const entries = optional[0]?.tag === tags.sequence ? optional.shift() : undefined
  const wrapped = optional.shift()
  if (optional.length > 0) throw new DerError('The list has additional members')
  const extensions = readExtensions(wrapped && expectTag(wrapped, 0xa0).children[0])
  const name = comparableName(expectTag(issuer, tags.sequence))
  return {
    signature: expectTag(signature, tags.sequence),
    issuer: name,
    thisUpdate: readTime(thisUpdate),
    nextUpdate: nextUpdate ? readTime(nextUpdate) : null,
    number: numberOf(extensions, crlOids.crlNumber),
    baseNumber: numberOf(extensions, crlOids.deltaCrlIndicator),
    point: readIssuingPoint(valueOf(extensions, crlOids.issuingDistributionPoint), name),
    keyIdentifier: readAuthorityKeyIdentifier(extensions),
    isUnknown: hasUnknown(extensions),
    entries: entries ?? null,
  }
}

const take = (der: Buffer): ReadCrl => {
  const [contents, algorithmIdentifier, signature, ...rest] = readSequence(readDer(der, undefined, longestCrl))
  if (!contents || !algorithmIdentifier || rest.length > 0) throw new DerError('Not a signed value')
  const { signature: stated, ...fields } = readTbs(contents)
  if (!stated.raw.equals(algorithmIdentifier.raw)) throw new DerError('Two signature algorithms')
  const algorithmOid = readOid(readSequence(algorithmIdentifier)[0])
  return { signed: { contents, algorithmIdentifier, algorithmOid, signature: readBitString(signature) }, ...fields }
}

/** Takes a DER CertificateList of at most 64 MiB apart; Failure VALIDATION_FAILED when it is unreadable. */
export const readCrl = (der: Buffer): ReadCrl => {
  try {
    return take(der)
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    throw new Failure('VALIDATION_FAILED', `The revocation list is unreadable: ${error.message}`)
  }
}
