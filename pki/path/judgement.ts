// Whether one whole path holds, from its anchor down (RFC 5280 6.1.2 to 6.1.5). What each certificate must be by itself, and
// under the key of its issuer, was looked at when the path was built.
import { type Allowance, Flaw } from './flaw.ts'
import type { NameConstraints } from './name-constraints.ts'
import { isSelfIssued, type PathCertificate } from './path-certificate.ts'
import { forNext, initialPolicies, mustHavePolicies, withPolicies } from './policies.ts'

/** Certificates from the anchor down to the one that is judged. */
type Downward = readonly PathCertificate[]

/** The length that is left for the CAs below each CA (RFC 5280 6.1.4 l, m); self-issued ones take nothing of it. */
const mustBeShort = (cas: Downward): void => {
  let left = Infinity
  for (const [place, ca] of cas.entries()) {
    if (place > 0 && !isSelfIssued(ca)) left--
    if (left < 0) throw new Flaw(`The path is longer than a CA above ${ca.subjectDn} allows (path length).`)
    left = Math.min(left, ca.pathLength ?? Infinity)
  }
}

/** Self-issued CAs are as free as their issuer, the last certificate never (RFC 5280 6.1.3 b, c). */
const mustBeNamedWell = (path: Downward, constraints: NameConstraints): void => {
  for (const [place, certificate] of path.entries()) {
    if (place < path.length - 1 && isSelfIssued(certificate)) continue
    for (const ca of path.slice(0, place)) constraints.check(certificate, ca)
  }
}

const mustFollowPolicies = (below: Downward, allowance: Allowance): void => {
  let state = initialPolicies(below.length, allowance)
  for (const [place, certificate] of below.entries()) {
    const isLast = place === below.length - 1
    state = withPolicies(state, certificate, isLast)
    if (isLast) mustHavePolicies(state, certificate)
    else state = forNext(state, certificate)
  }
}

/**
 * Throws a Flaw when a path from an anchor down does not hold, a DerError for a malformed extension. Length and names of an anchor bind as those of other CAs do
 * (RFC 5937); its policies do not.
 */
export const mustHold = (path: Downward, constraints: NameConstraints, allowance: Allowance): void => {
  mustBeShort(path.slice(0, -1))
  mustBeNamedWell(path, constraints)
  mustFollowPolicies(path.slice(1), allowance)
}
