// What an ML-DSA public key says of itself (FIPS 204 7.2 pkEncode): 32 octets of rho, then t1, ten bits a coefficient.

const seedOctets = 32

/** The coefficients of t1, of the octets of a public key (RFC 9881 4); each stands for its product with 2^13. */
const highParts = function* (key: Buffer): Generator<number> {
  for (let at = seedOctets; at + 5 <= key.length; at += 5) {
    const word = key.readUIntLE(at, 5)
    for (let place = 0; place < 4; place++) yield Math.floor(word / 2 ** (10 * place)) % 1024
  }
}

// 1023 · 2^13 is -1 modulo 8380417, the q of FIPS 204.
const isShort = (high: number): boolean => high === 0 || high === 1023

/**
 * Whether most of t is short. Verification takes c·t from A·z, which tells a key apart only where t is long: under t = 0
 * everybody's z is a signature. Of an honest key one coefficient in 512 is short, by chance.
 */
export const hasShortVector = (key: Buffer): boolean => {
  let balance = 0
  for (const high of highParts(key)) balance += isShort(high) ? 1 : -1
  return balance >= 0
}
