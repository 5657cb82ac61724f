// How a certificate of a path stands by the revocation lists at hand (RFC 5280 6.3): complete ones, each with the newest
// delta that fits, of whoever may issue them. A list that cannot be believed, or used, is passed over.
import type { RevocationReason } from '../../domain/enums.ts'
import { DerError } from '../asn1/der-reader.ts'
import { findEntry } from '../crl-entries.ts'
import type { ListedEntry, ReadCrl } from '../crl-reader.ts'
import {
  allReasons,
  coveredReasons,
  type DistributionPoint,
  distributionPoints,
  type IssuingPoint,
} from './distribution-point.ts'
import type { PathCertificate } from './path-certificate.ts'

/** How a certificate stands. */
export type Standing =
  | { readonly status: 'GOOD' | 'UNKNOWN' }
  | { readonly status: 'REVOKED'; readonly reason: RevocationReason; readonly date: Date }

/** What the lists are asked with. */
export interface Lists {
  readonly crls: readonly ReadCrl[]
  readonly now: Date
  /** Whether a list is signed by one who may, for a certificate of this issuer. */
  readonly isSigned: (crl: ReadCrl, issuer: PathCertificate) => boolean
}

interface Asked {
  readonly certificate: PathCertificate
  readonly issuer: PathCertificate
}

const unknown: Standing = { status: 'UNKNOWN' }
const good: Standing = { status: 'GOOD' }

const isCurrent = ({ thisUpdate, nextUpdate }: ReadCrl, now: Date): boolean =>
  thisUpdate <= now && (nextUpdate === null || now <= nextUpdate)

const isUsable = (crl: ReadCrl, { issuer }: Asked, { now, isSigned }: Lists): boolean =>
  !crl.isUnknown && isCurrent(crl, now) && isSigned(crl, issuer)

const sameNames = (one: IssuingPoint['names'], other: IssuingPoint['names']): boolean =>
  one === null || other === null ? one === other : one.symmetricDifference(other).size === 0

const sameKey = (one: Buffer | null, other: Buffer | null): boolean =>
  one === null || other === null ? one === other : one.equals(other)

/** RFC 5280 5.2.4, 6.3.3 c: of the same scope and key, and made for this complete list or one before it. */
const addsTo = (delta: ReadCrl, complete: ReadCrl): boolean =>
  delta.baseNumber !== null &&
  delta.number !== null &&
  complete.number !== null &&
  delta.issuer === complete.issuer &&
  sameKey(delta.keyIdentifier, complete.keyIdentifier) &&
  delta.baseNumber <= complete.number &&
  delta.number > complete.number &&
  sameNames(delta.point.names, complete.point.names) &&
  delta.point.onlyCaCerts === complete.point.onlyCaCerts &&
  delta.point.onlyUserCerts === complete.point.onlyUserCerts &&
  delta.point.isIndirect === complete.point.isIndirect &&
  delta.point.reasons.symmetricDifference(complete.point.reasons).size === 0

const newestFirst = (one: ReadCrl, other: ReadCrl): number => Number((other.number ?? 0n) - (one.number ?? 0n))

/** What a complete list and its newest delta say; the delta where it says anything. */
const entryIn = (complete: ReadCrl, asked: Asked, lists: Lists): ListedEntry | null => {
  const deltas = lists.crls.filter(delta => addsTo(delta, complete)).toSorted(newestFirst)
  const delta = deltas.find(list => isUsable(list, asked, lists))
  return (delta && findEntry(delta, asked.certificate)) ?? findEntry(complete, asked.certificate)
}

const standingIn = (complete: ReadCrl, asked: Asked, lists: Lists): Standing => {
  try {
    const { reason = null, date = null } = entryIn(complete, asked, lists) ?? {}
    return reason && date ? { status: 'REVOKED', reason, date } : good
  } catch (error) {
    if (error instanceof DerError) return unknown
    throw error
  }
}

const latestFirst = (one: ReadCrl, other: ReadCrl): number => other.thisUpdate.getTime() - one.thisUpdate.getTime()

/** Every list with the point at which it covers the certificate, in the order of the points; the latest list counts. */
const covering = (points: readonly DistributionPoint[], { certificate }: Asked, { crls }: Lists) =>
  points.flatMap(point =>
    crls
      .filter(({ baseNumber }) => baseNumber === null)
      .toSorted(latestFirst)
      .map(crl => ({ crl, reasons: coveredReasons(certificate, point, crl) }))
      .filter(({ reasons }) => reasons.size > 0),
  )

/** How a certificate of an issuer stands: known only once lists for all reasons were found (RFC 5280 6.3.3). */
export const standingByLists = (asked: Asked, lists: Lists): Standing => {
  let left = allReasons
  for (const { crl, reasons } of covering(distributionPoints(asked.certificate), asked, lists)) {
    if (left.intersection(reasons).size === 0 || !isUsable(crl, asked, lists)) continue
    const standing = standingIn(crl, asked, lists)
    if (standing.status === 'REVOKED') return standing
    if (standing.status === 'GOOD') left = left.difference(reasons)
  }
  return left.size === 0 ? good : unknown
}
