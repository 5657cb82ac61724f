// The entries of certificate revocation lists (RFC 5280 5.3): walked through, at once or in steps, never all in memory as values.
import type { RevocationReason } from '../domain/enums.ts'
import { reasonCodes } from '../domain/revocation-rules.ts'
import { tags } from './asn1/der.ts'
import { DerError, DerValue, readDer, readInteger, readSequence, readTime } from './asn1/der-reader.ts'
import type { Extension } from './certificate/tbs-certificate.ts'
import {
  crlOids,
  type Finding,
  hasUnknown,
  type ListedEntry,
  type ReadCrl,
  readExtensions,
  valueOf,
} from './crl-reader.ts'
import { comparableName } from './path/comparable-name.ts'
import { serialText } from './path/path-certificate.ts'

/** Of whom a list is asked: the serial number as PathCertificate has it, and the issuer as a comparable name. */
export interface AskedEntry {
  readonly serialNumber: string
  readonly issuer: string
}

const reasonsByCode = new Map(
  Object.entries(reasonCodes).map(([reason, code]) => [code, reason as RevocationReason] as const),
)

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
  const value = valueOf(extensions, crlOids.reasonCode)
  if (!value) return 'UNSPECIFIED'
  const { content } = readDer(value, tags.enumerated)
  const reason = content.length === 1 ? reasonsByCode.get(content[0] ?? -1) : undefined
  if (!reason) throw new DerError('The reason of the revocation is none')
  return reason === 'REMOVE_FROM_CRL' ? null : reason
}

const issuerNamed = (extensions: readonly Extension[]): string | null => {
  const value = valueOf(extensions, crlOids.certificateIssuer)
  const name = value ? readSequence(readDer(value)).find(({ tag }) => tag === 0xa4)?.children[0] : undefined
  if (value && !name) throw new DerError('The issuer of an entry has no directory name')
  return name ? comparableName(name) : null
}

type Found = Map<string, ListedEntry>
type Search = Generator<void, Found>

/** Reading so many entries takes less than a millisecond. */
const entriesAtOnce = 512

const keyOf = ({ serialNumber, issuer }: AskedEntry): string => `${serialNumber} ${issuer}`

/** Looks through all entries for those of some certificates, and pauses after some. */
function* search(crl: ReadCrl, asked: readonly AskedEntry[]): Search {
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
const finish = (steps: Search): Found => {
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

const finishInSteps = async (steps: Search, next: () => Promise<void>): Promise<Found> => {
  for (;;) {
    await next()
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** A list that is malformed tells no status, which is an answer as well. */
const orMalformed = (error: unknown): DerError => {
  if (error instanceof DerError) return error
  throw error
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
  const result = await finishInSteps(search(crl, open), next).catch(orMalformed)
  const findingOf = (key: string): Finding => (result instanceof DerError ? result : (result.get(key) ?? null))
  return {
    ...crl,
    found: new Map([...(crl.found ?? []), ...open.map(keyOf).map(key => [key, findingOf(key)] as const)]),
  }
}
