// Path validation (RFC 5280 6, building as in RFC 4158): whether a certificate has a path through the certificates at hand up
// to a trusted one. Pure, without network; the work for one call is bounded, whatever is given (docs/decisions/0029).
import { DerError } from '../asn1/der-reader.ts'
import type { ReadCrl } from '../crl-reader.ts'
import { Allowance, Flaw } from '../path/flaw.ts'
import { mustHold } from '../path/judgement.ts'
import { mayUse, mustIssue, mustStand, signatureFlaw, timeText } from '../path/link.ts'
import { NameConstraints } from '../path/name-constraints.ts'
import { isSameEntity, isSelfIssued, type PathCertificate } from '../path/path-certificate.ts'
import { standingByLists, type Standing } from '../path/revocation.ts'

/** What a certificate is judged by. */
export interface Known {
  /** Those that may stand above it, the anchors among them; in the order in which they are tried, all else being equal. */
  readonly candidates: readonly PathCertificate[]
  /** The fingerprints of those that are trusted. */
  readonly anchors: ReadonlySet<string>
  readonly now: Date
  /** How a certificate stands by the records of its issuer, which go before lists. */
  readonly standingOf: (certificate: PathCertificate, issuer: PathCertificate | null) => Standing
  readonly crls: readonly ReadCrl[]
  /** Whether a certificate whose status is not known makes a path invalid. */
  readonly needsStatus: boolean
}

/** The path, the certificate itself first and an anchor last; or why there is none, with the path that came furthest. */
export type PathVerdict =
  | { readonly valid: true; readonly path: readonly PathCertificate[] }
  | { readonly valid: false; readonly path: readonly PathCertificate[]; readonly reason: string }

type Path = readonly PathCertificate[]

/** The most certificates of a path. */
const longest = 12

/** What all searches of one call share: what was found out once holds in every path. */
class Search {
  readonly known: Known
  readonly allowance = new Allowance()
  readonly constraints = new NameConstraints(this.allowance)
  readonly byName: ReadonlyMap<string, readonly PathCertificate[]>
  readonly #links = new Map<string, Flaw | null>()
  readonly #signers = new Map<string, boolean>()

  constructor(known: Known) {
    this.known = known
    this.byName = Map.groupBy(known.candidates, ({ subject }) => subject)
  }

  /** What is wrong with an issuer as the next certificate of a path; null when nothing is. */
  flawOf(certificate: PathCertificate, issuer: PathCertificate): Flaw | null {
    const key = `${certificate.fingerprint}/${issuer.fingerprint}`
    const found = this.#links.get(key)
    if (found !== undefined) return found
    const flaw = flawIn(() => this.#mustLink(certificate, issuer))
    this.#links.set(key, flaw)
    return flaw
  }

  #mustLink(certificate: PathCertificate, issuer: PathCertificate): void {
    mustStand(issuer, this.known.now)
    mustIssue(issuer)
    const wrong = signatureFlaw(certificate.signed, issuer, this.allowance)
    if (wrong) throw new Flaw(`The signature of ${certificate.subjectDn} by ${issuer.subjectDn} is ${wrong}.`)
  }

  /** Whether a list is signed by the issuer of a certificate, or by one of the list's name with a path to the same anchor. */
  isSigned(crl: ReadCrl, issuer: PathCertificate, anchor: PathCertificate): boolean {
    const others = this.byName.get(crl.issuer) ?? []
    const own = issuer.subject === crl.issuer ? [issuer] : []
    return [...new Set([...own, ...others])].some(
      signer =>
        mayUse(signer, 'cRLSign') &&
        signatureFlaw(crl.signed, signer, this.allowance) === null &&
        (signer === issuer || this.#hasPath(signer, anchor)),
    )
  }

  /** A signer whose own status depends on what it signs has none. */
  #hasPath(signer: PathCertificate, anchor: PathCertificate): boolean {
    const key = `${signer.fingerprint}/${anchor.fingerprint}`
    const found = this.#signers.get(key)
    if (found !== undefined) return found
    this.#signers.set(key, false)
    const verdict = new Climb(this).validate(signer)
    const isRight = verdict.valid && verdict.path.at(-1) === anchor
    this.#signers.set(key, isRight)
    return isRight
  }

  standingOf(certificate: PathCertificate, issuer: PathCertificate, anchor: PathCertificate): Standing {
    const recorded = this.known.standingOf(certificate, issuer)
    if (recorded.status !== 'UNKNOWN') return recorded
    const isSigned = (crl: ReadCrl) => this.isSigned(crl, issuer, anchor)
    return standingByLists({ certificate, issuer }, { crls: this.known.crls, now: this.known.now, isSigned })
  }
}

const flawIn = (check: () => void): Flaw | null => {
  try {
    check()
    return null
  } catch (error) {
    if (error instanceof Flaw) return error
    if (error instanceof DerError) return new Flaw(`An extension is malformed: ${error.message}.`)
    throw error
  }
}

/** A whole path that does not hold tells more than one that was not finished. */
const finished = 100

/** One search for a path: depth first, and up to the root where there is one beyond a trusted CA. */
class Climb {
  readonly #search: Search
  #furthest: { rank: number; path: Path; flaw: Flaw } | null = null
  readonly #revoked = new Set<PathCertificate>()

  constructor(search: Search) {
    this.#search = search
  }

  validate(target: PathCertificate): PathVerdict {
    const flaw = flawIn(() => mustStand(target, this.#search.known.now))
    if (flaw) return { valid: false, path: [target], reason: flaw.message }
    const path = this.#climb([target])
    if (path) return { valid: true, path }
    const { path: tried, flaw: why } = this.#furthest ?? { path: [target], flaw: new Flaw('There are too many paths.') }
    return { valid: false, path: tried, reason: why.message }
  }

  #note(path: Path, flaw: Flaw, rank = path.length): null {
    if (flaw.revoked) this.#revoked.add(flaw.revoked)
    if (rank > (this.#furthest?.rank ?? 0)) this.#furthest = { rank, path, flaw }
    return null
  }

  #climb(path: Path): Path | null {
    const last = path.at(-1)
    if (!last || !this.#search.allowance.spend('steps')) return null
    const isAnchor = this.#search.known.anchors.has(last.fingerprint)
    if (isAnchor && isSelfIssued(last)) return this.#judge(path)
    for (const issuer of this.#issuersOf(path, last, isAnchor)) {
      const found = this.#climb([...path, issuer])
      if (found) return found
    }
    // What is known to be revoked is so, trusted or not.
    return isAnchor && !this.#revoked.has(last) ? this.#judge(path) : null
  }

  /** The issuers that may come next, the likeliest first; each is looked at when those before it led nowhere. */
  *#issuersOf(path: Path, last: PathCertificate, isAnchor: boolean): Generator<PathCertificate> {
    const { byName, known } = this.#search
    // A name and its key stand in a path once: so no path has a loop.
    const all = byName.get(last.issuer) ?? []
    const named = all.filter(candidate => path.every(one => !isSameEntity(one, candidate)))
    if (named.length === 0 && !isAnchor)
      this.#note(path, new Flaw(all.length > 0 ? inCircle(last) : unknownIssuer(last)))
    if (path.length >= longest && named.length > 0 && !isAnchor) this.#note(path, new Flaw(tooLong(path)))
    if (path.length >= longest) return
    const rank = (candidate: PathCertificate): number =>
      Number(known.anchors.has(candidate.fingerprint)) + 2 * Number(fitOf(last, candidate))
    for (const candidate of named.toSorted((one, other) => rank(other) - rank(one))) {
      const flaw = this.#search.flawOf(last, candidate)
      if (flaw) this.#note([...path, candidate], flaw)
      else yield candidate
    }
  }

  #judge(path: Path): Path | null {
    if (!this.#search.allowance.spend('paths')) return null
    const flaw = flawIn(() => {
      mustHold(path.toReversed(), this.#search.constraints, this.#search.allowance)
      this.#mustNotBeRevoked(path)
    })
    return flaw ? this.#note(path, flaw, finished + path.length) : path
  }

  /** From the anchor down, so that nothing is asked of a revoked CA. */
  #mustNotBeRevoked(path: Path): void {
    const { known } = this.#search
    const anchor = path.at(-1)
    if (!anchor) return
    for (const [place, certificate] of [...path.entries()].toReversed()) {
      const issuer = path[place + 1]
      const standing = issuer
        ? this.#search.standingOf(certificate, issuer, anchor)
        : known.standingOf(certificate, null)
      if (standing.status === 'REVOKED') throw new Flaw(revocationText(certificate, standing), certificate)
      if (standing.status === 'UNKNOWN' && known.needsStatus && issuer)
        throw new Flaw(`It is not known whether the certificate of ${certificate.subjectDn} is revoked.`)
    }
  }
}

const revocationText = (
  { subjectDn }: PathCertificate,
  { reason, date }: Extract<Standing, { readonly status: 'REVOKED' }>,
): string => {
  const since = timeText(date)
  return reason === 'CERTIFICATE_HOLD'
    ? `The certificate of ${subjectDn} is on hold since ${since}.`
    : `The certificate of ${subjectDn} was revoked at ${since} (${reason}).`
}

const unknownIssuer = (certificate: PathCertificate): string =>
  isSelfIssued(certificate)
    ? `The self-issued certificate of ${certificate.subjectDn} is not trusted.`
    : `The issuer of ${certificate.subjectDn}, ${certificate.issuerDn}, is not known.`

const inCircle = (certificate: PathCertificate): string =>
  isSelfIssued(certificate)
    ? unknownIssuer(certificate)
    : `The issuer of ${certificate.subjectDn}, ${certificate.issuerDn}, stands below it: a circle is not trusted.`

const tooLong = ([target]: Path): string =>
  `The path of ${target?.subjectDn} has more than the ${longest} certificates that are looked at.`

const fitOf = ({ aki }: PathCertificate, { ski }: PathCertificate): boolean => Boolean(aki && ski?.equals(aki))

/**
 * Judges a certificate (RFC 5280 6.1, with the lists of 6.3): any policy is acceptable, none is required but by the
 * certificates themselves. Signatures by SHA-1 are not accepted. Nothing is thrown for what certificates hold.
 */
export const validatePath = (target: PathCertificate, known: Known): PathVerdict =>
  new Climb(new Search(known)).validate(target)
