// Tokens whose signature was found right a moment ago. A caller sends the same one for minutes: under the same key its signature
// stays right, so only what time changes is looked at again, and whether the issuer still has that key.
import { hash } from 'node:crypto'
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyResult, ResolvedKey } from 'jose'

/** So many are kept; each takes some hundred octets. */
const mostTokens = 5000

/** A token that was checked with all its claims, and with which key. */
export type CheckedToken = Pick<JWTVerifyResult & ResolvedKey, 'payload' | 'protectedHeader' | 'key'>

/** What a key is looked for by is in the header; the token itself is not kept. */
const noToken = { payload: '', signature: '' }

/** The tokens of one set of rules, those that were used last. */
export class KnownTokens {
  readonly #checked = new Map<string, CheckedToken>()
  readonly #toleranceSeconds: number
  readonly #most: number

  constructor(toleranceSeconds: number, most = mostTokens) {
    this.#toleranceSeconds = toleranceSeconds
    this.#most = most
  }

  /** The claims of a token that was checked under the key that the issuer has now, and whose time is not over. */
  async claimsOf(token: string, keys: JWTVerifyGetKey): Promise<JWTPayload | undefined> {
    const name = hash('sha256', token, 'base64')
    const known = this.#checked.get(name)
    if (!known) return undefined
    this.#checked.delete(name)
    // A set that was read again has keys of its own, the withdrawn ones no longer among them.
    if (!this.#isTimely(known.payload) || (await keys(known.protectedHeader, noToken)) !== known.key) return undefined
    this.#checked.set(name, known)
    return known.payload
  }

  /** Keeps a token that was just checked. */
  keep(token: string, { payload, protectedHeader, key }: CheckedToken): void {
    this.#checked.set(hash('sha256', token, 'base64'), { payload, protectedHeader, key })
    const [oldest] = this.#checked.size > this.#most ? this.#checked.keys() : []
    if (oldest !== undefined) this.#checked.delete(oldest)
  }

  #isTimely({ exp = 0, nbf = 0 }: JWTPayload): boolean {
    const now = Math.floor(Date.now() / 1000)
    return exp > now - this.#toleranceSeconds && nbf <= now + this.#toleranceSeconds
  }
}
