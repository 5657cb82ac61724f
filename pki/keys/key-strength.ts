// Weak public keys (contract 5.4 step 6): patterns by which a key has been broken without its owner's mistake showing.
import { ed25519 } from '@noble/curves/ed25519.js'
import { ed448 } from '@noble/curves/ed448.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { Failure } from '../../domain/failure.ts'
import { greatestDivisor, powerOfTwo, primesUpTo, squareRoot } from './big-number.ts'
import { isKnownKey } from './known-keys.ts'
import { hasShortVector } from './ml-dsa-key.ts'
import type { RsaNumbers } from './public-key.ts'
import { describePublicKey, readPublicKeyParts, readRsaNumbers } from './public-key.ts'
import { readDer } from '../asn1/der-reader.ts'

const known = 'its private half is published'

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
  // FIPS 186-5 5.4: a longer one goes with a private exponent that is short enough to be found.
  { finding: 'the RSA exponent has more than 256 bits', found: ({ exponent }) => exponent >= 2n ** 256n },
  { finding: 'the RSA exponent is not below the modulus', found: ({ exponent, modulus }) => exponent >= modulus },
  { finding: 'the RSA modulus has a small factor', found: hasSmallFactor },
  { finding: 'the RSA modulus has the ROCA fingerprint', found: hasRocaFingerprint },
  { finding: 'the RSA primes lie close together', found: hasClosePrimes },
]

interface PointReader {
  readonly fromBytes: (key: Uint8Array) => { readonly isSmallOrder: () => boolean }
}

// A point that is read is reduced and on its curve (SP 800-186 D.1.1, RFC 8032 5.1.3 and 5.2.3), else an error.
const curvePoints: Readonly<Record<string, PointReader | undefined>> = {
  SECP256R1: p256.Point,
  SECP384R1: p384.Point,
  SECP521R1: p521.Point,
  ED25519: ed25519.Point,
  ED448: ed448.Point,
}

const isGoodPoint = (key: Buffer, namedCurve: string): boolean => {
  const points = curvePoints[namedCurve]
  if (!points) return true
  try {
    return !points.fromBytes(key).isSmallOrder()
  } catch {
    return false
  }
}

// By Fermat p divides 2^(n - 1) - 1 where n is p or a power of it, and next to never where another prime stands beside it. The
// library's own test takes seconds for a prime, which everybody else would wait for.
const hasOnePrime = async (modulus: bigint): Promise<boolean> => {
  const power = await powerOfTwo(modulus - 1n, modulus)
  return greatestDivisor(modulus, power - 1n) !== 1n
}

/** A key that is judged: its SubjectPublicKeyInfo, and its name in the table of algorithms where it is in it. */
interface Judged {
  readonly spki: Buffer
  readonly kind: string | null
}

const rsaWeakness = async (numbers: RsaNumbers, { spki, kind }: Judged): Promise<string | undefined> => {
  const found = rsaWeaknesses.find(({ found: isFound }) => isFound(numbers))?.finding
  if (found) return found
  if (isKnownKey({ spki, kind, number: numbers.modulus })) return known
  return kind !== null && (await hasOnePrime(numbers.modulus))
    ? 'the RSA modulus is a prime or a power of one'
    : undefined
}

// The x-coordinate of an uncompressed point (SEC 1 2.3.3), which a private scalar shares with its negative. Edwards keys
// are known by their octets alone.
const xOf = (point: Buffer, kind: string | null): bigint | null =>
  kind?.startsWith('P-') ? BigInt(`0x${point.toString('hex', 1, (1 + point.length) / 2)}`) : null

const pointWeakness = (key: Buffer, namedCurve: string, { spki, kind }: Judged): string | undefined => {
  if (!isGoodPoint(key, namedCurve)) return 'the point is not on the curve'
  return isKnownKey({ spki, kind, number: xOf(key, kind) }) ? known : undefined
}

const latticeWeakness = (key: Buffer, { spki, kind }: Judged): string | undefined => {
  if (hasShortVector(key)) return 'anybody can sign under it, for its vector is short'
  return isKnownKey({ spki, kind, number: null }) ? known : undefined
}

/** The longest modulus that is judged: no policy lets in more, and the time for any length has no bound. */
const longestModulus = 8192

const findWeakness = async (spki: Buffer): Promise<string | undefined> => {
  const { cryptoAlgorithm, namedCurve, keySize, algorithm } = describePublicKey(spki)
  const { key } = readPublicKeyParts(readDer(spki))
  const judged = { spki, kind: algorithm?.name ?? null }
  if (cryptoAlgorithm === 'ML_DSA') return latticeWeakness(key, judged)
  if (namedCurve) return pointWeakness(key, namedCurve, judged)
  if (keySize === null || keySize > longestModulus) return undefined
  return rsaWeakness(readRsaNumbers(key), judged)
}

/**
 * Refuses weak keys, given as DER SubjectPublicKeyInfo: Failure WEAK_KEY; INVALID_PUBLIC_KEY and
 * CRYPTO_RESTRICTION_VIOLATION as describePublicKey. Curves outside the algorithm table are not judged, nor are moduli
 * beyond any that a policy lets in.
 */
export const checkKeyStrength = async (spki: Buffer): Promise<void> => {
  const weakness = await findWeakness(spki)
  if (weakness) throw new Failure('WEAK_KEY', `The key is weak: ${weakness}`)
}
