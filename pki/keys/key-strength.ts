// Weak public keys (contract 5.4 step 6): patterns by which a key has been broken without its owner's mistake showing.
import { Failure } from '../../domain/failure.ts'
import { fromOctets, modulo, power, primesUpTo, squareRoot } from './big-number.ts'
import type { PublicKeyParts, RsaNumbers } from './public-key.ts'
import { describePublicKey, readingPublicKey, readPublicKeyParts, readRsaNumbers } from './public-key.ts'
import { readDer } from '../asn1/der-reader.ts'

interface Weakness<T> {
  readonly finding: string
  readonly found: (key: T) => boolean
}

const smallPrimes = primesUpTo(751)

const hasSmallFactor = ({ modulus }: RsaNumbers) => smallPrimes.some(prime => modulus % prime === 0n)

// "The Return of Coppersmith's Attack" (Nemec et al., 2017): such moduli lie in the subgroup that 65537 generates,
// modulo every small prime.
const powersOf65537 = (prime: bigint) => {
  const powers = new Set<bigint>()
  for (let value = 1n; !powers.has(value); value = (value * 65_537n) % prime) powers.add(value)
  return powers
}
const rocaGroups = primesUpTo(167)
  .slice(1)
  .map(prime => ({ prime, powers: powersOf65537(prime) }))

const hasRocaFingerprint = ({ modulus }: RsaNumbers) =>
  rocaGroups.every(({ prime, powers }) => powers.has(modulus % prime))

const squaresModulo256 = new Set(Array.from({ length: 256 }, (_, root) => BigInt((root * root) % 256)))

const isSquare = (value: bigint) => squaresModulo256.has(value & 255n) && squareRoot(value) ** 2n === value

const fermatRounds = 100

// Fermat: primes that lie close together are found in the first rounds (CVE-2022-26320).
const hasClosePrimes = ({ modulus }: RsaNumbers): boolean => {
  let root = squareRoot(modulus)
  if (root * root < modulus) root++
  for (let round = 0; round < fermatRounds; round++, root++) if (isSquare(root * root - modulus)) return true
  return false
}

/** The weaknesses of RSA keys, the cheap tests first. */
const rsaWeaknesses: readonly Weakness<RsaNumbers>[] = [
  { finding: 'the RSA exponent is even', found: ({ exponent }) => exponent % 2n === 0n },
  { finding: 'the RSA exponent is below 65537', found: ({ exponent }) => exponent < 65_537n },
  { finding: 'the RSA exponent is not below the modulus', found: ({ exponent, modulus }) => exponent >= modulus },
  { finding: 'the RSA modulus has a small factor', found: hasSmallFactor },
  { finding: 'the RSA modulus has the ROCA fingerprint', found: hasRocaFingerprint },
  { finding: 'the RSA primes lie close together', found: hasClosePrimes },
]

interface WeierstrassCurve {
  readonly octets: number
  readonly p: bigint
  readonly b: bigint
}

// y² = x³ - 3x + b (SP 800-186 3.2.1).
const weierstrassCurves: Readonly<Record<string, WeierstrassCurve>> = {
  SECP256R1: {
    octets: 32,
    p: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
    b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
  },
  SECP384R1: {
    octets: 48,
    p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
    b: BigInt('0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef'),
  },
  SECP521R1: {
    octets: 66,
    p: 2n ** 521n - 1n,
    b: BigInt(
      '0x51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00',
    ),
  },
}

const isOnWeierstrassCurve = (key: Buffer, { octets, p, b }: WeierstrassCurve): boolean => {
  const x = fromOctets(key.subarray(1, 1 + octets))
  const y = fromOctets(key.subarray(1 + octets))
  return x < p && y < p && modulo(y * y - (x * x * x - 3n * x + b), p) === 0n
}

interface EdwardsCurve {
  readonly p: bigint
  readonly a: bigint
  readonly d: bigint
}

// a·x² + y² = 1 + d·x²·y² (RFC 8032 5.1, 5.2).
const edwardsCurves: Readonly<Record<string, EdwardsCurve>> = {
  ED25519: {
    p: 2n ** 255n - 19n,
    a: -1n,
    d: 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n,
  },
  ED448: { p: 2n ** 448n - 2n ** 224n - 1n, a: 1n, d: -39_081n },
}

// The sign of x is the highest bit; a point of small order has x = 0, y = 0, or (order 8) y² = a·x².
const isGoodEdwardsPoint = (key: Buffer, { p, a, d }: EdwardsCurve): boolean => {
  const littleEndian = Buffer.from(key.toReversed())
  littleEndian[0] = (littleEndian[0] ?? 0) & 0x7f
  const y = fromOctets(littleEndian)
  const ySquared = (y * y) % p
  const xSquared = modulo((ySquared - 1n) * power(modulo(d * ySquared - a, p), p - 2n, p), p)
  const isOnCurve = y < p && power(xSquared, (p - 1n) / 2n, p) === 1n
  return isOnCurve && y !== 0n && ySquared !== modulo(a * xSquared, p)
}

const isGoodPoint = (key: Buffer, namedCurve: string): boolean => {
  const weierstrass = weierstrassCurves[namedCurve]
  if (weierstrass) return isOnWeierstrassCurve(key, weierstrass)
  const edwards = edwardsCurves[namedCurve]
  return edwards === undefined || isGoodEdwardsPoint(key, edwards)
}

const findWeakness = (parts: PublicKeyParts, namedCurve: string | null): string | undefined => {
  if (namedCurve) return isGoodPoint(parts.key, namedCurve) ? undefined : 'the point is not on the curve'
  const numbers = readRsaNumbers(parts.key)
  return rsaWeaknesses.find(({ found }) => found(numbers))?.finding
}

/**
 * Refuses weak keys, given as DER SubjectPublicKeyInfo: Failure WEAK_KEY; INVALID_PUBLIC_KEY and
 * CRYPTO_RESTRICTION_VIOLATION as describePublicKey. Curves outside the algorithm table are not judged.
 */
export const checkKeyStrength = (spki: Buffer): void => {
  const { namedCurve } = describePublicKey(spki)
  const weakness = readingPublicKey(() => findWeakness(readPublicKeyParts(readDer(spki)), namedCurve))
  if (weakness) throw new Failure('WEAK_KEY', `The key is weak: ${weakness}`)
}
