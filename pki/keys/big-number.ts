// The number theory that the checks of keys need.
import { constants, createPublicKey, hash, publicEncrypt } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import pLimit from 'p-limit'

/** The largest whole number whose square is not above the value (Newton's method). */
export const squareRoot = (value: bigint): bigint => {
  if (value < 2n) return value
  let root = 1n << BigInt((value.toString(16).length * 4 + 1) >> 1)
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

/** All primes up to a limit. */
export const primesUpTo = (limit: number): bigint[] => {
  const primes: number[] = []
  for (let candidate = 2; candidate <= limit; candidate++)
    if (!primes.some(prime => candidate % prime === 0)) primes.push(candidate)
  return primes.map(BigInt)
}

/** The greatest common divisor of a positive number and another (Euclid). */
export const greatestDivisor = (one: bigint, other: bigint): bigint => {
  let [a, b] = [one, other < 0n ? -other : other]
  while (b !== 0n) [a, b] = [b, a % b]
  return a
}

/** Some milliseconds of squarings of 4096 bits. */
const stepsAtOnce = 256

/** However many powers are computed, the event loop is kept by one slice of one of them at a time; they take turns. */
const oneAtATime = pLimit(1)

const squared = (power: bigint, bits: string, modulus: bigint): bigint => {
  let result = power
  for (const bit of bits) result = (result * result * (bit === '1' ? 2n : 1n)) % modulus
  return result
}

const octetsOf = (number: bigint, length: number): Buffer =>
  Buffer.from(number.toString(16).padStart(2 * length, '0'), 'hex')

/** Beyond this OpenSSL takes none but short exponents (OPENSSL_RSA_SMALL_MODULUS_BITS). */
const longestNative = 2n ** 3072n

/** The raw RSA operation on two is the same power, by OpenSSL: some milliseconds, a fifth of the time. */
const nativePowerOfTwo = (exponent: bigint, modulus: bigint): bigint => {
  const length = Math.ceil(modulus.toString(16).length / 2)
  const part = (number: bigint): string => octetsOf(number, length).toString('base64url')
  const key = createPublicKey({ key: { kty: 'RSA', n: part(modulus), e: part(exponent) }, format: 'jwk' })
  const power = publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, octetsOf(2n, length))
  return BigInt(`0x${power.toString('hex')}`)
}

/**
 * A power of two modulo an odd number above 2^511, the exponent being below it: by OpenSSL as far as that goes, beyond it bit
 * by bit of the exponent, yielding to the event loop after every few.
 */
export const powerOfTwo = async (exponent: bigint, modulus: bigint): Promise<bigint> => {
  if (modulus < longestNative) return nativePowerOfTwo(exponent, modulus)
  const bits = exponent.toString(2)
  let power = 1n
  for (let start = 0; start < bits.length; start += stepsAtOnce)
    await oneAtATime(async () => {
      power = squared(power, bits.slice(start, start + stepsAtOnce), modulus)
      await setImmediate()
    })
  return power
}

/** SHA-256 over a positive number in as few octets as hold it, the highest first. */
export const numberHash = (number: bigint): Buffer => {
  const digits = number.toString(16)
  return hash('sha256', Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex'), 'buffer')
}
