// How the embedded identity provider keeps passwords and client secrets.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, Buffer>(scrypt)
const hashBytes = 32

/** The scrypt hash of a password or client secret, with its salt: `scrypt$<salt>$<hash>`, both base64url. */
export const hashSecret = async (secret: string): Promise<string> => {
  const salt = randomBytes(16)
  const hash = await derive(secret, salt, hashBytes)
  return `scrypt$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

/** True when the secret is the one that was hashed; takes the same time when there is no hash at all. */
export const secretMatches = async (secret: string, stored: string | undefined): Promise<boolean> => {
  const [, salt = '', hash = ''] = (stored ?? '').split('$')
  const expected = Buffer.from(hash, 'base64url')
  const derived = await derive(secret, Buffer.from(salt, 'base64url'), hashBytes)
  return expected.length === hashBytes && timingSafeEqual(derived, expected)
}
