// Why a certification path does not hold, and how much work the search for one may be.
import type { PathCertificate } from './path-certificate.ts'

/** Something that makes a path invalid; its message is told to callers. */
export class Flaw extends Error {
  override readonly name = 'Flaw'
  /** The certificate that was found revoked, where that is the flaw. */
  readonly revoked: PathCertificate | null

  constructor(message: string, revoked: PathCertificate | null = null) {
    super(message)
    this.revoked = revoked
  }
}

/** What a search spends, and the most of each: far more than paths need that somebody meant to be found. */
const most = {
  /** Certificates that the search stands at. */
  steps: 300,
  /** Whole paths that are judged. */
  paths: 32,
  signatures: 48,
  /** Names compared with constraints of names, and policies. */
  comparisons: 50_000,
} as const

/** The work that is left to one call. */
export class Allowance {
  readonly #left: Record<keyof typeof most, number> = { ...most }

  /** Takes from what is left; false when it is not enough. */
  spend(kind: keyof typeof most, count = 1): boolean {
    this.#left[kind] -= count
    return this.#left[kind] >= 0
  }
}
