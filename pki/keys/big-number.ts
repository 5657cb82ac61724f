// The few pieces of number theory that the checks of key strength need.

/** The remainder that is never negative. */
export const modulo = (value: bigint, modulus: bigint): bigint => {
  const remainder = value % modulus
  return remainder < 0n ? remainder + modulus : remainder
}

/** base to the exponent, modulo a number. */
export const power = (base: bigint, exponent: bigint, modulus: bigint): bigint => {
  let result = 1n
  let square = modulo(base, modulus)
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

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

/** The number of big-endian octets. */
export const fromOctets = (octets: Uint8Array): bigint => BigInt(`0x${Buffer.from(octets).toString('hex') || '0'}`)
