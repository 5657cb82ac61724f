// The number theory that the checks of keys need.
import { hash } from 'node:crypto'

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

/** SHA-256 over a positive number in as few octets as hold it, the highest first. */
export const numberHash = (number: bigint): Buffer => {
  const digits = number.toString(16)
  return hash('sha256', Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex'), 'buffer')
}
