// The number theory that the checks of RSA keys need.

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
