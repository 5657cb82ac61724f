// The key that a process of the flawed Debian made: RSA as OpenSSL 0.9.8 looked for primes, EC by its first fitting scalar.
import { checkPrimeSync, createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { primesUpTo } from '../../pki/keys/big-number.ts'
import { DebianRandom, type Process } from './random.ts'

/** The kinds of keys, by the names of the algorithm table. */
export const kinds = ['RSA-2048', 'RSA-3072', 'RSA-4096', 'P-256', 'P-384', 'P-521'] as const

/** A kind of key. */
export type Kind = (typeof kinds)[number]

/** A private key, and the number that it is known by: the modulus, or the x-coordinate of the point. */
export interface DebianKey {
  readonly number: bigint
  readonly privateKey: () => KeyObject
}

const exponent = 65_537n

// The odd ones among the first 2048.
const sievePrimes = primesUpTo(17_863).slice(1).map(Number)

const bigOf = (octets: Uint8Array): bigint => BigInt(`0x${Buffer.from(octets).toString('hex')}`)

/** The first number from an odd one on that neither leaves 0 nor 1 at a division by the small primes. */
const sieved = (start: bigint): bigint => {
  const rests = sievePrimes.map(prime => Number(start % BigInt(prime)))
  let delta = 0
  while (rests.some((rest, place) => (rest + delta) % (sievePrimes[place] ?? 1) <= 1)) delta += 2
  return start + BigInt(delta)
}

// Rounds of Miller and Rabin (BN_prime_checks_for_size), of which each draws a witness.
const roundsFor = (bits: number): number => (bits >= 1300 ? 2 : 3)

const drawWitness = (random: DebianRandom, candidate: bigint): void => {
  const octets = candidate.toString(16).length / 2
  while (bigOf(random.draw(octets)) >= candidate - 1n);
}

const drawPrime = (random: DebianRandom, bits: number): bigint => {
  for (;;) {
    const start = bigOf(random.draw(bits / 8)) | (3n << BigInt(bits - 2)) | 1n
    const candidate = sieved(start)
    drawWitness(random, candidate)
    if (!checkPrimeSync(candidate)) continue
    for (let round = 1; round < roundsFor(bits); round++) drawWitness(random, candidate)
    if (candidate % exponent !== 1n) return candidate
  }
}

const inverse = (value: bigint, modulus: bigint): bigint => {
  let [rest, next, factor, nextFactor] = [modulus, value % modulus, 0n, 1n]
  while (next !== 0n) {
    const quotient = rest / next
    ;[rest, next] = [next, rest - quotient * next]
    ;[factor, nextFactor] = [nextFactor, factor - quotient * nextFactor]
  }
  return ((factor % modulus) + modulus) % modulus
}

const base64url = (value: bigint, octets?: number): string => {
  const digits = value.toString(16)
  const width = octets === undefined ? digits.length + (digits.length % 2) : 2 * octets
  return Buffer.from(digits.padStart(width, '0'), 'hex').toString('base64url')
}

const rsaKey = (p: bigint, q: bigint): KeyObject => {
  const d = inverse(exponent, (p - 1n) * (q - 1n))
  const members = { n: p * q, e: exponent, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const written = Object.entries(members).map(([name, value]) => [name, base64url(value)])
  return createPrivateKey({ key: { kty: 'RSA', ...Object.fromEntries(written) }, format: 'jwk' })
}

const makeRsa = (random: DebianRandom, bits: number): DebianKey => {
  const p = drawPrime(random, bits / 2)
  const q = drawPrime(random, bits / 2)
  return { number: p * q, privateKey: () => rsaKey(p, q) }
}

const curves = {
  'P-256': { order: p256.Point.Fn.ORDER, bits: 256, curve: 'prime256v1' },
  'P-384': { order: p384.Point.Fn.ORDER, bits: 384, curve: 'secp384r1' },
  'P-521': { order: p521.Point.Fn.ORDER, bits: 521, curve: 'secp521r1' },
} as const

const makeEc = (random: DebianRandom, crv: keyof typeof curves): DebianKey => {
  const { order, bits, curve } = curves[crv]
  const octets = Math.ceil(bits / 8)
  const draw = () => bigOf(random.draw(octets)) % 2n ** BigInt(bits)
  let scalar = draw()
  while (scalar >= order) scalar = draw()
  const pair = createECDH(curve)
  pair.setPrivateKey(Buffer.from(base64url(scalar, octets), 'base64url'))
  const [x, y] = [pair.getPublicKey().subarray(1, 1 + octets), pair.getPublicKey().subarray(1 + octets)]
  const members = {
    kty: 'EC',
    crv,
    x: x.toString('base64url'),
    y: y.toString('base64url'),
    d: base64url(scalar, octets),
  }
  return { number: bigOf(x), privateKey: () => createPrivateKey({ key: members, format: 'jwk' }) }
}

/** The key of a kind that a process made. */
export const makeDebianKey = (kind: Kind, process: Process): DebianKey => {
  const random = new DebianRandom(process)
  return kind === 'P-256' || kind === 'P-384' || kind === 'P-521'
    ? makeEc(random, kind)
    : makeRsa(random, Number(kind.slice(4)))
}
