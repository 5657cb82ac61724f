// What a certificate provider can do for a policy, as the contract answers it (contract 6.6 CryptoParametersDto).
import type { z } from 'zod'
import type { Capabilities } from '../../../domain/policy-rules.ts'
import type { CryptoParametersDto } from './dtos.ts'

/** The capabilities as lists. */
export const parametersOf = (able: Capabilities): z.output<typeof CryptoParametersDto> => ({
  cryptoAlgorithms: [...able.cryptoAlgorithms],
  rsaKeySizes: [...able.rsaKeySizes],
  ecNamedCurves: [...able.ecNamedCurves],
  edDSANamedCurves: [...able.edDSANamedCurves],
  mlDsaParameterSets: [],
  keyPairModes: [...able.keyPairModes],
  validForValues: [...able.validForValues],
})
