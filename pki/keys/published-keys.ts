// Keys whose private halves stand in books, standards and test suites: SHA-256 over the DER SubjectPublicKeyInfo, in hex.
// Beside them stands what anybody guesses first: the smallest and the largest scalars of each curve.
import { hash } from 'node:crypto'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { bitString, oid, sequence } from '../asn1/der.ts'
import { curvesByOid, keyOids } from './algorithms.ts'

/** Published keys by their hash, with the place where the private half is printed. */
export const publishedKeys: Readonly<Record<string, string>> = {
  '9a9e5b0f404f4e2d4386e38b04ac91e535946dc2a7f8d84a31404b476e5c35e1': 'RFC 9500 testRSA1024',
  '8fb6bad671cfe698393c453357da61b56d757ab8c0f3fb9c87f2849e63131878': 'RFC 9500 testRSA2048',
  '96465ea5dc9bb2da7b351d808a7196e5761f2412a5040131c68d719aaba28fb9': 'RFC 9500 testRSA4096',
  b2b04340cfaee616ec9c2c62d261b208e54bb197498df52e8cadede23ac0ba5e: 'RFC 9500 testECCP256',
  c4c10105a0be0ed4dd3354428dc38a9bfee64da141ce16e75c94eda272f9dd3a: 'RFC 9500 testECCP384',
  acb1b8327fef995e2458fdf5e3c33b2dc0749feabd6a894cb9bda9d70ac06c24: 'RFC 9500 testECCP521',
  '5a7a78cca4a0f420d9bc62bb669c3c2759e39f723d3ae10dcbe0f0815a07ecd4': 'RFC 6979 A.2.5, P-256',
  '2f95601fa82060b909bfc6b979dbd303d34d34e0afb27ea496beac362f242a4b': 'RFC 6979 A.2.6, P-384',
  '2fb6d46385242ea4ad431f7175e7014eb74a5fc60f65b50ca54cc23c5b08de38': 'RFC 6979 A.2.7, P-521',
  '06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9': 'RFC 8032 7.1, test 1; RFC 8037 A.1',
  deb2ded39dc26fce0e6085b6fc34bf6b5941913bbfe2ea614113cff9e004c170: 'RFC 8032 7.1, test 2',
  '8d39ba50abe50f77b6bb8ae7b6927aff7ffbeba35ad2837c0e51e82bcbcc60d5': 'RFC 8032 7.1, test 3',
  e4f982b51ad0bdd87be820b259fe80337ef636e72b9fa7a8867a6949eb610fd6: 'RFC 8032 7.1, test 1024',
  e77db4a9572e9f6552c22bc751d5499ad218a73bdf7e15dc6ea0fc69246a44de: 'RFC 8032 7.1, test SHA(abc)',
  '2391990aa611e5e333a6a37af8921d263faab93b55ea293bc124a7bbab5ebc61': 'RFC 8032 7.4, blank',
  '339e2ff917630507b6a423b5ce084e285d1fa65d93b3e27a6195d3bbebc9ae23': 'Ed25519, a seed of zeros',
  '8d5eb75dbb64464ac9369d2416a026c99aad4ebf9cdb7c73adda86dd17815b0f': 'Ed25519, a seed of ones',
  a050837d85070582ccf7394b0988847cc312cb88259b894899f6f239cf1791a5: 'Ed25519, the seed 00 01 02 …',
  f36f42c7757042c3e8822a4ed5a64b583921b54ce06415bc27b83a1b35b6557c: 'Ed448, a seed of zeros',
  a1e9156054e04fac899ae9f275132cdc07a5dbc4ea2c2ad3a1ffc6e0d253681f: 'RFC 8410 10.3',
  cd543d56f646059af4890457776dfdce49314088cd092b1274f62b5d4a595736: 'RFC 8946 A',
  ad32320cf6c596d884b05381ba573aba8ddd5749b4de8f4a23a79f9a89ddaeb2: 'RFC 7517 A.1, RSA',
  '51b944cdfa544d4c3273aa6bf350625a7dd53bbb6a71723274f538b19a207760': 'RFC 7517 A.1, EC',
  '2bd1bb0c44a897c30a7aa0991cde38d8062fe441de50da0f46825344f602e827': 'RFC 7515 A.3, EC',
  '837832708c5236d951581f1fddf2b79991b3424a0486d16da1ddad0fd69701be': 'RFC 9881 C, ML-DSA-44, the seed 00 01 02 …',
  b8b62131bfbe84433efb2273d7f5b87f7a22854a2cfd366fc2aead86d837c52d: 'RFC 9881 C, ML-DSA-65, the seed 00 01 02 …',
  '07e57c4f14dbad1267f621ec3777b4e2e6c4fbc4c22fbb87510ff8e0b3c6a642': 'RFC 9881 C, ML-DSA-87, the seed 00 01 02 …',
  '7de1bacd9f9f9a3688803d8b12af4e3536fe21768190db594b0d96c99383c548': 'ML-DSA-44, a seed of zeros',
  '74a967da48075517e7e93c468a90724f4e96ce11ff30c3288c4b708583d711e0': 'ML-DSA-65, a seed of zeros',
  aec8ffe33b0b73ede7acfd64d760272d3160f61f40cb80dbf023db6f06236cf3: 'ML-DSA-87, a seed of zeros',
  b3349e0b6b96475790812ed49af6e156889cbb5ce76a429ae4034866499dc689: 'ML-DSA-44, a seed of ones',
  '8fdd1f927c1328a090f5fda7afc64db6eae994937ce91d932302c5ce9dccf7fb': 'ML-DSA-65, a seed of ones',
  '47a68759e3b4419db7697d92370595b3da1e5efbf6a958ee2aefeee60bd4c6f4': 'ML-DSA-87, a seed of ones',
  '7d5779c8508f8ac746da2ccd1e79632acf672803c6c159343e50313372c13f2b': 'the first primes after round numbers, RSA-2048',
}

const smallest = 64

const curves = { SECP256R1: p256.Point, SECP384R1: p384.Point, SECP521R1: p521.Point } as const

/** The points of the smallest scalars, and of the largest, which are their negatives. */
const multiplesOf = (name: keyof typeof curves): Uint8Array[] => {
  const { BASE } = curves[name]
  let point = BASE
  return Array.from({ length: smallest }, () => {
    const both = [point.toBytes(false), point.negate().toBytes(false)]
    point = point.add(BASE)
    return both
  }).flat()
}

/** The hashes of the keys with the smallest and the largest private scalars, of every named curve. */
export const outermostScalarKeys = (): string[] =>
  Object.entries(curvesByOid).flatMap(([curve, named]) =>
    named
      ? multiplesOf(named.name).map(point =>
          hash('sha256', sequence(sequence(oid(keyOids.ecPublicKey), oid(curve)), bitString(point)), 'hex'),
        )
      : [],
  )
