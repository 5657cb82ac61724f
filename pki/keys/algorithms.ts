// THE table of algorithms: keys, curves, signatures, their object identifiers and digests (contract 10.2; RFC 3279,
// RFC 4055, RFC 5480, RFC 5758, RFC 8410, RFC 9688, RFC 9881).
import type { KeyObject } from 'node:crypto'
import type { CmpSignatureAlgorithm, ECNamedCurve, MlDsaParameterSet, RsaKeySize } from '../../domain/enums.ts'
import { keyDetail, type KeySpec } from '../../domain/key-rules.ts'
import { derNull, oid, sequence } from '../asn1/der.ts'

/**
 * A signature algorithm: public name, OID, DER AlgorithmIdentifier, node:crypto digest (null for pure EdDSA and ML-DSA) and the
 * algorithm of the keys that make it.
 */
export interface SignatureAlgorithm {
  readonly name: string
  readonly oid: string
  readonly identifier: Buffer
  readonly digest: string | null
  readonly keyOid: string
}

/** A row of the table: the key kind, its name, node:crypto curve or type (null for RSA) and natural signature algorithm. */
export interface KeyAlgorithm {
  readonly name: string
  readonly spec: KeySpec
  readonly curve: string | null
  readonly signature: SignatureAlgorithm
}

const nistSignatures = '2.16.840.1.101.3.4.3'

/** The object identifiers of SubjectPublicKeyInfo algorithms; EdDSA and ML-DSA name curve and set by the algorithm. */
export const keyOids = {
  rsaEncryption: '1.2.840.113549.1.1.1',
  ecPublicKey: '1.2.840.10045.2.1',
  ed25519: '1.3.101.112',
  ed448: '1.3.101.113',
  mlDsa44: `${nistSignatures}.17`,
  mlDsa65: `${nistSignatures}.18`,
  mlDsa87: `${nistSignatures}.19`,
} as const

/** The named curves by the object identifier of RFC 5480 2.1.1.1, with the octets of one coordinate. */
export const curvesByOid: Readonly<Record<string, { name: ECNamedCurve; octets: number } | undefined>> = {
  '1.2.840.10045.3.1.7': { name: 'SECP256R1', octets: 32 },
  '1.3.132.0.34': { name: 'SECP384R1', octets: 48 },
  '1.3.132.0.35': { name: 'SECP521R1', octets: 66 },
}

const withRsa = (name: string, dotted: string, digest: string): SignatureAlgorithm => {
  const identifier = sequence(oid(dotted), derNull)
  return { name, oid: dotted, identifier, digest, keyOid: keyOids.rsaEncryption }
}

const withEcdsa = (name: string, dotted: string, digest: string): SignatureAlgorithm => {
  const identifier = sequence(oid(dotted))
  return { name, oid: dotted, identifier, digest, keyOid: keyOids.ecPublicKey }
}

// The OID of the signature is that of the key, without parameters (RFC 8410 3 and 6, RFC 9881 2 and 4).
const pure = (name: string, dotted: string): SignatureAlgorithm => {
  const identifier = sequence(oid(dotted))
  return { name, oid: dotted, identifier, digest: null, keyOid: dotted }
}

const pkcs1 = '1.2.840.113549.1.1'
const ecdsaWithSha = '1.2.840.10045.4'

/** The signature algorithms that certificates and messages are signed with. */
export const signatureAlgorithms = {
  SHA256_WITH_RSA: withRsa('SHA256_WITH_RSA', `${pkcs1}.11`, 'sha256'),
  SHA384_WITH_RSA: withRsa('SHA384_WITH_RSA', `${pkcs1}.12`, 'sha384'),
  SHA512_WITH_RSA: withRsa('SHA512_WITH_RSA', `${pkcs1}.13`, 'sha512'),
  SHA256_WITH_ECDSA: withEcdsa('SHA256_WITH_ECDSA', `${ecdsaWithSha}.3.2`, 'sha256'),
  SHA384_WITH_ECDSA: withEcdsa('SHA384_WITH_ECDSA', `${ecdsaWithSha}.3.3`, 'sha384'),
  SHA512_WITH_ECDSA: withEcdsa('SHA512_WITH_ECDSA', `${ecdsaWithSha}.3.4`, 'sha512'),
  ED25519: pure('ED25519', keyOids.ed25519),
  ED448: pure('ED448', keyOids.ed448),
  ML_DSA_44: pure('ML_DSA_44', keyOids.mlDsa44),
  ML_DSA_65: pure('ML_DSA_65', keyOids.mlDsa65),
  ML_DSA_87: pure('ML_DSA_87', keyOids.mlDsa87),
} as const satisfies Record<CmpSignatureAlgorithm | MlDsaParameterSet, SignatureAlgorithm>

// Only read, in requests and certificates of others.
const readOnlySignatureAlgorithms = [
  withRsa('SHA1_WITH_RSA', `${pkcs1}.5`, 'sha1'),
  withRsa('SHA224_WITH_RSA', `${pkcs1}.14`, 'sha224'),
  withRsa('SHA512_224_WITH_RSA', `${pkcs1}.15`, 'sha512-224'),
  withRsa('SHA512_256_WITH_RSA', `${pkcs1}.16`, 'sha512-256'),
  withEcdsa('SHA1_WITH_ECDSA', `${ecdsaWithSha}.1`, 'sha1'),
  withEcdsa('SHA224_WITH_ECDSA', `${ecdsaWithSha}.3.1`, 'sha224'),
  ...[224, 256, 384, 512].flatMap((bits, place) => [
    withEcdsa(`SHA3_${bits}_WITH_ECDSA`, `${nistSignatures}.${9 + place}`, `sha3-${bits}`),
    withRsa(`SHA3_${bits}_WITH_RSA`, `${nistSignatures}.${13 + place}`, `sha3-${bits}`),
  ]),
]

const signaturesByOid = new Map(
  [...Object.values(signatureAlgorithms), ...readOnlySignatureAlgorithms].map(algorithm => [algorithm.oid, algorithm]),
)

/** The signature algorithm of an OID, or null when it is none that can be checked here. */
export const findSignatureAlgorithm = (dotted: string): SignatureAlgorithm | null => signaturesByOid.get(dotted) ?? null

const row = (spec: KeySpec, names: readonly [string, string | null], signature: SignatureAlgorithm): KeyAlgorithm => ({
  name: names[0],
  spec,
  curve: names[1],
  signature,
})

const { SHA256_WITH_RSA, SHA256_WITH_ECDSA, SHA384_WITH_ECDSA, SHA512_WITH_ECDSA, ED25519, ED448 } = signatureAlgorithms
const { ML_DSA_44, ML_DSA_65, ML_DSA_87 } = signatureAlgorithms

/** Every kind of key, in the order of contract 2. */
export const keyAlgorithms: readonly KeyAlgorithm[] = [
  row({ cryptoAlgorithm: 'RSA', keySize: 2048 }, ['RSA-2048', null], SHA256_WITH_RSA),
  row({ cryptoAlgorithm: 'RSA', keySize: 3072 }, ['RSA-3072', null], SHA256_WITH_RSA),
  row({ cryptoAlgorithm: 'RSA', keySize: 4096 }, ['RSA-4096', null], SHA256_WITH_RSA),
  row({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' }, ['P-256', 'prime256v1'], SHA256_WITH_ECDSA),
  row({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP384R1' }, ['P-384', 'secp384r1'], SHA384_WITH_ECDSA),
  row({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP521R1' }, ['P-521', 'secp521r1'], SHA512_WITH_ECDSA),
  row({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED25519' }, ['Ed25519', 'ed25519'], ED25519),
  row({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED448' }, ['Ed448', 'ed448'], ED448),
  row({ cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet: 'ML_DSA_44' }, ['ML-DSA-44', 'ml-dsa-44'], ML_DSA_44),
  row({ cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet: 'ML_DSA_65' }, ['ML-DSA-65', 'ml-dsa-65'], ML_DSA_65),
  row({ cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet: 'ML_DSA_87' }, ['ML-DSA-87', 'ml-dsa-87'], ML_DSA_87),
]

const algorithmsByDetail = new Map(keyAlgorithms.map(algorithm => [keyDetail(algorithm.spec), algorithm]))

/** The row of an RSA size, curve name or parameter set, or null when it is not in the table. */
export const findKeyAlgorithm = (detail: number | string): KeyAlgorithm | null =>
  algorithmsByDetail.get(detail as RsaKeySize) ?? null

/** The row of a key kind. */
export const getKeyAlgorithm = (spec: KeySpec): KeyAlgorithm => {
  const algorithm = findKeyAlgorithm(keyDetail(spec))
  if (!algorithm) throw new TypeError(`No such kind of key: ${JSON.stringify(spec)}`)
  return algorithm
}

const algorithmOfKeyObject = new WeakMap<KeyObject, KeyAlgorithm>()

/** The row of a node:crypto key (public or private); throws a TypeError when the kind is not in the table. */
export const keyAlgorithmOf = (key: KeyObject): KeyAlgorithm => {
  const known = algorithmOfKeyObject.get(key)
  if (known) return known
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {}
  const curve = namedCurve ?? key.asymmetricKeyType
  const found = keyAlgorithms.find(({ spec, curve: own }) =>
    spec.cryptoAlgorithm === 'RSA' ? spec.keySize === modulusLength && curve === 'rsa' : own === curve,
  )
  if (!found) throw new TypeError(`No such kind of key: ${curve} ${modulusLength ?? ''}`)
  algorithmOfKeyObject.set(key, found)
  return found
}
