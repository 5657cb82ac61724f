// Keys that nobody has, as long and as formed as real ones: certificates are built around them to be linted, never signed.
import type { EdDSANamedCurve, MlDsaParameterSet } from '../../domain/enums.ts'
import { keyDetail, type KeySpec } from '../../domain/key-rules.ts'
import { bitString, derNull, integer, oid, sequence } from '../asn1/der.ts'
import { curvesByOid, keyOids } from './algorithms.ts'

const exponent = 65_537

const rsa = (bits: number): Buffer => {
  const modulus = Buffer.alloc(bits / 8)
  modulus[0] = 0x80
  modulus[modulus.length - 1] = 1
  return sequence(
    sequence(oid(keyOids.rsaEncryption), derNull),
    bitString(sequence(integer(modulus), integer(exponent))),
  )
}

const ec = (named: string): Buffer => {
  const [curve = '', { octets } = { octets: 0 }] =
    Object.entries(curvesByOid).find(([, known]) => known?.name === named) ?? []
  const point = Buffer.concat([Buffer.of(0x04), Buffer.alloc(2 * octets)])
  return sequence(sequence(oid(keyOids.ecPublicKey), oid(curve)), bitString(point))
}

const bare = (dotted: string, octets: number): Buffer =>
  sequence(sequence(oid(dotted)), bitString(Buffer.alloc(octets)))

const samples = {
  ED25519: () => bare(keyOids.ed25519, 32),
  ED448: () => bare(keyOids.ed448, 57),
  ML_DSA_44: () => bare(keyOids.mlDsa44, 1312),
  ML_DSA_65: () => bare(keyOids.mlDsa65, 1952),
  ML_DSA_87: () => bare(keyOids.mlDsa87, 2592),
} as const satisfies Record<EdDSANamedCurve | MlDsaParameterSet, () => Buffer>

/** DER SubjectPublicKeyInfo of a sample of this kind. */
export const sampleKey = (spec: KeySpec): Buffer => {
  if (spec.cryptoAlgorithm === 'RSA') return rsa(spec.keySize)
  if (spec.cryptoAlgorithm === 'EC') return ec(spec.ecNamedCurve)
  return samples[keyDetail(spec) as keyof typeof samples]()
}
