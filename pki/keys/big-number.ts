// The number theory that the checks of RSA keys need.
import { setImmediate } from 'node:timers/promises'

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

/** A power of two modulo a number, bit by bit of the exponent; yields to the event loop after every few. */
export const powerOfTwo = async (exponent: bigint, modulus: bigint): Promise<bigint> => {
  let power = 1n
  for (const [index, bit] of Array.from(exponent.toString(2)).entries()) {
    if (index % stepsAtOnce === stepsAtOnce - 1) await setImmediate()
    power = (power * power * (bit === '1' ? 2n : 1n)) % modulus
  }
  return power
}
