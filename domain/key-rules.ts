// Which keys a policy lets in (contract 5.4 step 5) and which it has made (6.1 KeyGenParamsDto).
import type { CryptoAlgorithm, ECNamedCurve, EdDSANamedCurve, MlDsaParameterSet, RsaKeySize } from './enums.ts'
import { Failure } from './failure.ts'
import { everything, type Capabilities, type CryptoRestrictions, type KeyGenParams } from './policy-rules.ts'

/** A kind of key that the service can make. */
export type KeySpec =
  | { readonly cryptoAlgorithm: 'RSA'; readonly keySize: RsaKeySize }
  | { readonly cryptoAlgorithm: 'EC'; readonly ecNamedCurve: ECNamedCurve }
  | { readonly cryptoAlgorithm: 'EDDSA'; readonly edDSANamedCurve: EdDSANamedCurve }
  | { readonly cryptoAlgorithm: 'ML_DSA'; readonly mlDsaParameterSet: MlDsaParameterSet }

/** What is known of a key, made here or brought: an RSA key has a size, another a curve or, in its place, a parameter set. */
export interface KeyFacts {
  readonly cryptoAlgorithm: CryptoAlgorithm
  readonly keySize: number | null
  readonly namedCurve: string | null
}

const within = <T>(able: readonly T[], allowed: readonly T[] | null | undefined): T[] =>
  able.filter(value => !allowed || allowed.length === 0 || allowed.includes(value))

/** The keys that restrictions leave of what the provider can do, each list in the order of the contract. */
const allowedKeys = (restrictions: CryptoRestrictions, able: Capabilities = everything) => ({
  algorithms: within(able.cryptoAlgorithms, restrictions.allowedCryptoAlgorithms),
  rsaKeySizes: within(able.rsaKeySizes, restrictions.allowedRsaKeySizes),
  ecNamedCurves: within(able.ecNamedCurves, restrictions.allowedEcNamedCurves),
  edDSANamedCurves: within(able.edDSANamedCurves, restrictions.allowedEdDSANamedCurves),
  mlDsaParameterSets: within(able.mlDsaParameterSets, restrictions.allowedMlDsaParameterSets),
})

const refuse = (message: string): never => {
  throw new Failure('CRYPTO_RESTRICTION_VIOLATION', message)
}

/** The key to make: an absent parameter is the first allowed value; CRYPTO_RESTRICTION_VIOLATION where none is. */
export const keySpecOf = (
  { cryptoAlgorithm, keySize, ecNamedCurve, edDSANamedCurve, mlDsaParameterSet }: KeyGenParams,
  restrictions: CryptoRestrictions,
  able: Capabilities = everything,
): KeySpec => {
  const allowed = allowedKeys(restrictions, able)
  const none = () => refuse(`The policy allows no key of the algorithm ${cryptoAlgorithm}.`)
  const specs = {
    RSA: () => ({ cryptoAlgorithm: 'RSA', keySize: keySize ?? allowed.rsaKeySizes[0] ?? none() }),
    EC: () => ({ cryptoAlgorithm: 'EC', ecNamedCurve: ecNamedCurve ?? allowed.ecNamedCurves[0] ?? none() }),
    EDDSA: () => ({
      cryptoAlgorithm: 'EDDSA',
      edDSANamedCurve: edDSANamedCurve ?? allowed.edDSANamedCurves[0] ?? none(),
    }),
    ML_DSA: () => ({
      cryptoAlgorithm: 'ML_DSA',
      mlDsaParameterSet: mlDsaParameterSet ?? allowed.mlDsaParameterSets[0] ?? none(),
    }),
  } as const satisfies Record<CryptoAlgorithm, () => KeySpec>
  return specs[cryptoAlgorithm]()
}

/** What tells a key kind from the others: the RSA size in bits, the curve or the parameter set. */
export const keyDetail = (spec: KeySpec): RsaKeySize | ECNamedCurve | EdDSANamedCurve | MlDsaParameterSet => {
  if (spec.cryptoAlgorithm === 'RSA') return spec.keySize
  if (spec.cryptoAlgorithm === 'EC') return spec.ecNamedCurve
  return spec.cryptoAlgorithm === 'EDDSA' ? spec.edDSANamedCurve : spec.mlDsaParameterSet
}

/** The facts of a key that is to be made. */
export const factsOf = (spec: KeySpec): KeyFacts => {
  const { cryptoAlgorithm } = spec
  const detail = keyDetail(spec)
  return typeof detail === 'number'
    ? { cryptoAlgorithm, keySize: detail, namedCurve: null }
    : { cryptoAlgorithm, keySize: null, namedCurve: detail }
}

/** The kind of key that facts describe; facts of a size or curve that is not ours describe none that a policy lets in. */
export const specOf = ({ cryptoAlgorithm, keySize, namedCurve }: KeyFacts): KeySpec =>
  ({
    cryptoAlgorithm,
    keySize,
    ecNamedCurve: namedCurve,
    edDSANamedCurve: namedCurve,
    mlDsaParameterSet: namedCurve,
  }) as unknown as KeySpec

/** Refuses a key that the restrictions or the provider do not let in: CRYPTO_RESTRICTION_VIOLATION. */
export const checkCryptoRestrictions = (
  restrictions: CryptoRestrictions,
  { cryptoAlgorithm, keySize, namedCurve }: KeyFacts,
  able: Capabilities = everything,
): void => {
  const allowed = allowedKeys(restrictions, able)
  if (!allowed.algorithms.includes(cryptoAlgorithm)) refuse(`The policy does not allow ${cryptoAlgorithm} keys.`)
  const details: Record<CryptoAlgorithm, readonly unknown[]> = {
    RSA: allowed.rsaKeySizes,
    EC: allowed.ecNamedCurves,
    EDDSA: allowed.edDSANamedCurves,
    ML_DSA: allowed.mlDsaParameterSets,
  }
  const detail = cryptoAlgorithm === 'RSA' ? keySize : namedCurve
  if (!details[cryptoAlgorithm].includes(detail))
    refuse(`The policy does not allow ${cryptoAlgorithm} keys of ${detail ?? 'this kind'}.`)
}
