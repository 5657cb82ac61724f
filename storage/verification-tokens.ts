// The tokens that prove an e-mail address (contract 4.1): made, found by their hash, replaced and used up.
import { createHash, randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { insertRows } from './insert-rows.ts'
import { VerificationToken } from './rows/verification-token.ts'

const tokenLength = 32
const hourMs = 3_600_000

/** A request and the address that has to be proven for it. */
export interface Addressed {
  readonly certRequestId: string
  readonly email: string
}

/** A token, which only the mail gets to see. */
export interface NewToken extends Addressed {
  readonly token: string
  readonly expiresDate: Date
}

/** SHA-256 over a token, hex: what is kept of it, and what messages name it by. */
export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/**
 * Makes a token (256 random bits, base64url) for each request, in their order, and stores their hashes; earlier tokens of
 * these requests that nobody has used are gone.
 */
export const makeTokens = async (
  em: EntityManager,
  addressed: readonly Addressed[],
  { now, lifetimeHours }: { readonly now: Date; readonly lifetimeHours: number },
): Promise<readonly NewToken[]> => {
  const certRequestId = { $in: addressed.map(one => one.certRequestId) }
  await em.nativeDelete(VerificationToken, { certRequestId, usedDate: null })
  const expiresDate = new Date(now.getTime() + lifetimeHours * hourMs)
  const made = addressed.map(one => ({ ...one, expiresDate, token: randomBytes(tokenLength).toString('base64url') }))
  const rows = made.map(({ token, ...one }) => ({ hash: hashOfToken(token), ...one }))
  await insertRows(em, VerificationToken, rows)
  return made
}
