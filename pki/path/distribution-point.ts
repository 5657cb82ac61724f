// Distribution points: which certificates and reasons a revocation list covers (RFC 5280 4.2.1.13, 5.2.5).
import { DerError, type DerValue, readBoolean, readDer, readNamedBits, readSequence } from '../asn1/der-reader.ts'
import { tags, tlv } from '../asn1/der.ts'
import { extensionOids } from '../certificate/extensions.ts'
import { generalNameTags } from '../names/general-name.ts'
import { readName } from '../names/name.ts'
import { below, comparableName } from './comparable-name.ts'
import type { PathCertificate } from './path-certificate.ts'

/** The bits of ReasonFlags that stand for reasons. */
export const allReasons: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7, 8])

/** What a list covers. */
export interface IssuingPoint {
  /** Null covers whatever its issuer issued. */
  readonly names: ReadonlySet<string> | null
  readonly onlyUserCerts: boolean
  readonly onlyCaCerts: boolean
  readonly onlyAttributeCerts: boolean
  readonly isIndirect: boolean
  readonly reasons: ReadonlySet<number>
}

/** Where a certificate says that its status is found. */
export interface DistributionPoint {
  readonly names: readonly string[] | null
  readonly reasons: ReadonlySet<number>
  /** The comparable names of those who issue its list. */
  readonly issuers: readonly string[]
  /** Whether somebody else than the issuer of the certificate issues its list. */
  readonly isIndirect: boolean
}

const nameText = (name: DerValue): string => {
  const [directory] = name.tag === generalNameTags.directory ? name.children : []
  return directory ? comparableName(directory) : name.raw.toString('hex')
}

/** DistributionPointName; a relative name is one below the issuer of the list. */
const namesOf = (wrapped: DerValue | undefined, issuers: readonly string[]): string[] | null => {
  const [name] = wrapped?.children ?? []
  if (!name) return null
  if (name.tag === 0xa0) return name.children.map(nameText)
  if (name.tag !== 0xa1) throw new DerError('A distribution point has no known name')
  const relative = readName(readDer(tlv(tags.sequence, tlv(tags.set, name.content))))[0] ?? []
  return issuers.map(issuer => below(issuer, relative))
}

const tagged = (members: readonly DerValue[], tag: number) => members.find(member => member.tag === tag)

/** IMPLICIT values are read under the tag of their type. */
const retagged = (value: DerValue, tag: number): DerValue => readDer(tlv(tag, value.content))

const reasonsOf = (value: DerValue | undefined): ReadonlySet<number> =>
  value ? new Set(readNamedBits(retagged(value, tags.bitString)).filter(bit => allReasons.has(bit))) : allReasons

const flagOf = (value: DerValue | undefined): boolean =>
  value !== undefined && readBoolean(retagged(value, tags.boolean))

/** The issuing distribution point of a list; without the extension it covers everything. Throws a DerError. */
export const readIssuingPoint = (extension: Buffer | undefined, issuer: string): IssuingPoint => {
  const members = extension ? readSequence(readDer(extension)) : []
  const names = namesOf(tagged(members, 0xa0), [issuer])
  return {
    names: names && new Set(names),
    onlyUserCerts: flagOf(tagged(members, 0x81)),
    onlyCaCerts: flagOf(tagged(members, 0x82)),
    reasons: reasonsOf(tagged(members, 0x83)),
    isIndirect: flagOf(tagged(members, 0x84)),
    onlyAttributeCerts: flagOf(tagged(members, 0x85)),
  }
}

const readPoint = (point: DerValue, issuer: string): DistributionPoint => {
  const members = readSequence(point)
  const other = tagged(members, 0xa2)
  const issuers = other ? other.children.filter(({ tag }) => tag === generalNameTags.directory).map(nameText) : [issuer]
  return {
    names: namesOf(tagged(members, 0xa0), issuers),
    reasons: reasonsOf(tagged(members, 0x81)),
    issuers,
    isIndirect: other !== undefined,
  }
}

/** The distribution points of a certificate, and behind them that of its issuer's own lists (RFC 5280 6.3.3). */
export const distributionPoints = ({ extensions, issuer }: PathCertificate): DistributionPoint[] => {
  const value = extensions.find(({ oid }) => oid === extensionOids.crlDistributionPoints)?.value
  const stated = value ? readSequence(readDer(value)).map(point => readPoint(point, issuer)) : []
  return [...stated, { names: [issuer], reasons: allReasons, issuers: [issuer], isIndirect: false }]
}

const isNamed = ({ names, issuers }: DistributionPoint, covered: ReadonlySet<string> | null): boolean =>
  covered === null || (names ?? issuers).some(name => covered.has(name))

const isOfKind = (
  { onlyUserCerts, onlyCaCerts, onlyAttributeCerts }: IssuingPoint,
  { isCa }: PathCertificate,
): boolean => !onlyAttributeCerts && !(onlyUserCerts && isCa) && !(onlyCaCerts && !isCa)

/** The reasons for which a list covers a certificate at one of its points (RFC 5280 6.3.3 b, e); empty where it does not. */
export const coveredReasons = (
  certificate: PathCertificate,
  point: DistributionPoint,
  list: { readonly issuer: string; readonly point: IssuingPoint },
): ReadonlySet<number> => {
  const isIssuer = point.issuers.includes(list.issuer) && (!point.isIndirect || list.point.isIndirect)
  if (!isIssuer || !isNamed(point, list.point.names) || !isOfKind(list.point, certificate)) return new Set()
  return point.reasons.intersection(list.point.reasons)
}
