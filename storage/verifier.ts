// What judges a password without knowing it: scrypt (RFC 7914), its parameters beside its salt in one text.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/**
 * Passwords are made here, of 78 random bits at least (domain/password-rules.ts): nobody tries them all, whatever one try
 * costs. So 2 MiB and about 8 ms of a core do, since every enrolment with a password pays them. N = 2^11, r = 8, p = 1.
 */
const usual = { cost: 2 ** 11, blockSize: 8, parallelization: 1 }
const saltLength = 16
const hashLength = 32

type Parameters = typeof usual

interface Verifier {
  readonly parameters: Parameters
  readonly salt: Buffer
  readonly hash: Buffer
}

const derive = (password: string, { parameters, salt }: Omit<Verifier, 'hash'>): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password, salt, hashLength, parameters, (error, hash) => (error ? reject(error) : resolve(hash)))
  })

const textOf = ({ parameters, salt, hash }: Verifier): string =>
  ['scrypt', ...Object.values(parameters), salt.toString('base64'), hash.toString('base64')].join('$')

const parse = (text: string): Verifier => {
  const [, cost, blockSize, parallelization, salt = '', hash = ''] = text.split('$')
  return {
    parameters: { cost: Number(cost), blockSize: Number(blockSize), parallelization: Number(parallelization) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}

/** Judges like any other, and no password fits it. */
const nobodys = textOf({ parameters: usual, salt: Buffer.alloc(saltLength), hash: Buffer.alloc(hashLength) })

/** The verifier of a password, with a salt of its own. */
export const makeVerifier = async (password: string): Promise<string> => {
  const made = { parameters: usual, salt: randomBytes(saltLength) }
  return textOf({ ...made, hash: await derive(password, made) })
}

/** Whether a password is that of a verifier; where there is none it is not, and finding out takes as long. */
export const fitsVerifier = async (password: string, verifier: string | undefined): Promise<boolean> => {
  const known = parse(verifier ?? nobodys)
  const fits = timingSafeEqual(await derive(password, known), known.hash)
  return fits && verifier !== undefined
}
