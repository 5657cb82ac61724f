// Certificate revocation lists of anybody (RFC 5280 5) taken apart: their entries are walked through, never all in memory as
// values; whether a list may be believed is the question of path/revocation.ts.
import type { RevocationReason } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { reasonCodes } from '../domain/revocation-rules.ts'
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
import { serialText } from './path/path-certificate.ts'

/** The octets that a list may have. */
export const longestCrl = 64 * 1024 * 1024

/** Object identifiers of the extensions of lists and entries that are read. */
const oids = {
  crlNumber: '2.5.29.20',
  reasonCode: '2.5.29.21',
  invalidityDate: '2.5.29.24',
  deltaCrlIndicator: '2.5.29.27',
  issuingDistributionPoint: '2.5.29.28',
  certificateIssuer: '2.5.29.29',
  authorityKeyIdentifier: '2.5.29.35',
} as const

const known: ReadonlySet<string> = new Set(Object.values(oids))

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

/** Of whom a list is asked: the serial number as PathCertificate has it, and the issuer as a comparable name. */
export interface AskedEntry {
  readonly serialNumber: string
  readonly issuer: string
}

/** What a list says of one certificate. */
export interface ListedEntry {
  /** Null takes it off the list that a delta list adds to. */
  readonly reason: RevocationReason | null
  readonly date: Date
}

/** What the list says, or that it tells no status. */
type Finding = ListedEntry | DerError | null

const reasonsByCode = new Map(
  Object.entries(reasonCodes).map(([reason, code]) => [code, reason as RevocationReason] as const),
)

const valueOf = (extensions: readonly Extension[], oid: string): Buffer | undefined =>
  extensions.find(extension => extension.oid === oid)?.value

const numberOf = (extensions: readonly Extension[], oid: string): bigint | null => {
  const value = valueOf(extensions, oid)
  if (!value) return null
  const content = readInteger(readDer(value))
  if ((content[0] ?? 0x80) >= 0x80 || content.length > 21) throw new DerError('The number of the list is none')
  return BigInt(`0x${content.toString('hex')}`)
}

const hasUnknown = (extensions: readonly Extension[]): boolean =>
  extensions.some(({ oid, critical }) => critical && !known.has(oid))

const readExtensions = (list: DerValue | undefined): Extension[] => {
  const extensions = list ? readSequence(list).map(readExtension) : []
  if (new Set(extensions.map(({ oid }) => oid)).size < extensions.length)
    throw new DerError('An extension stands twice')
  return extensions
}

/** The values of a list of any length, one after the other. */
function* walk(list: DerValue): Generator<DerValue> {
  const { content } = list
  let offset = 0
  while (offset < content.length) {
    const value = new DerValue(content, offset, content.length)
    yield value
    offset = value.end
  }
}

interface EntryParts {
  readonly serial: Buffer
  readonly date: DerValue | undefined
  readonly extensions: readonly Extension[]
}

const readEntry = (value: DerValue): EntryParts => {
  const [serial, date, extensions, ...rest] = readSequence(value)
  if (rest.length > 0) throw new DerError('An entry has additional members')
  return { serial: readInteger(serial), date, extensions: readExtensions(extensions) }
}

const reasonOf = (extensions: readonly Extension[]): RevocationReason | null => {
  const value = valueOf(extensions, oids.reasonCode)
  if (!value) return 'UNSPECIFIED'
  const { content } = readDer(value, tags.enumerated)
  const reason = content.length === 1 ? reasonsByCode.get(content[0] ?? -1) : undefined
  if (!reason) throw new DerError('The reason of the revocation is none')
  return reason === 'REMOVE_FROM_CRL' ? null : reason
}

const issuerNamed = (extensions: readonly Extension[]): string | null => {
  const value = valueOf(extensions, oids.certificateIssuer)
  const name = value ? readSequence(readDer(value)).find(({ tag }) => tag === 0xa4)?.children[0] : undefined
  if (value && !name) throw new DerError('The issuer of an entry has no directory name')
  return name ? comparableName(name) : null
}

/** Reading so many entries takes less than a millisecond. */
const entriesAtOnce = 512

const keyOf = ({ serialNumber, issuer }: AskedEntry): string => `${serialNumber} ${issuer}`

/** Looks through all entries for those of some certificates, and pauses after some. */
function* search(crl: ReadCrl, asked: readonly AskedEntry[]): Generator<void, Map<string, ListedEntry>> {
  const serials = new Set(asked.map(({ serialNumber }) => serialNumber))
  const found = new Map<string, ListedEntry>()
  let issuer = crl.issuer
  let count = 0
  for (const value of crl.entries ? walk(crl.entries) : []) {
    const { serial, date, extensions } = readEntry(value)
    if (hasUnknown(extensions)) throw new DerError('An entry has a critical extension that is unknown')
    issuer = issuerNamed(extensions) ?? issuer
    const serialNumber = serialText(serial)
    if (serials.has(serialNumber))
      found.set(keyOf({ serialNumber, issuer }), { reason: reasonOf(extensions), date: readTime(date) })
    if (++count % entriesAtOnce === 0) yield
  }
  return found
}

/** Ends a search at once. */
const finish = (steps: ReturnType<typeof search>): Map<string, ListedEntry> => {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/**
 * The last entry of a certificate: that of its issuer, which in an indirect list the entries themselves name. DerError where
 * any entry is malformed or has a critical extension that is unknown: such a list tells no status (RFC 5280 5.3).
 */
export const findEntry = (crl: ReadCrl, asked: AskedEntry): ListedEntry | null => {
  const key = keyOf(asked)
  const found = crl.found?.get(key)
  if (found instanceof DerError) throw found
  return found === undefined ? (finish(search(crl, [asked])).get(key) ?? null) : found
}

const searchInSteps = async (steps: ReturnType<typeof search>, next: () => Promise<void>) => {
  try {
    for (;;) {
      await next()
      const { done, value } = steps.next()
      if (done) return value
    }
  } catch (error) {
    if (error instanceof DerError) return error
    throw error
  }
}

/**
 * The list, of which `findEntry` answers at once for these certificates: a list of many megabytes is looked through once, in
 * steps, and `next` is awaited before each.
 */
export const findEntries = async (
  crl: ReadCrl,
  asked: readonly AskedEntry[],
  next: () => Promise<void>,
): Promise<ReadCrl> => {
  const open = asked.filter(one => !crl.found?.has(keyOf(one)))
  if (open.length === 0) return crl
  const result = await searchInSteps(search(crl, open), next)
  const findingOf = (key: string): Finding => (result instanceof DerError ? result : (result.get(key) ?? null))
  return {
    ...crl,
    found: new Map([...(crl.found ?? []), ...open.map(keyOf).map(key => [key, findingOf(key)] as const)]),
  }
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
    number: numberOf(extensions, oids.crlNumber),
    baseNumber: numberOf(extensions, oids.deltaCrlIndicator),
    point: readIssuingPoint(valueOf(extensions, oids.issuingDistributionPoint), name),
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
