// What a certificate provider can do for a policy (contract 5.1, 10): the templates of LOCAL and the limits they set.
import type { z } from 'zod'
import type { CryptoAlgorithm } from '../../domain/enums.ts'
import { everything, withinTemplate, type Capabilities } from '../../domain/policy-rules.ts'
import { templateFor } from '../../pki/local-templates.ts'
import type { CertificateProvider } from '../../storage/certificate-provider.ts'
import type { CryptoParametersDto } from './policy-dtos.ts'

/** What a provider can do under a policy's configuration; INVALID_POLICY_CONFIGURATION or TEMPLATE_NOT_FOUND. */
export const capabilitiesOf = (provider: CertificateProvider, configuration: string): Capabilities => {
  const template = templateFor(provider, configuration)
  const caAlgorithm = provider.settings['keyAlgorithm'] as CryptoAlgorithm
  return withinTemplate({ ...everything, caAlgorithm }, template)
}

/** The same as lists, as the contract answers them. */
export const parametersOf = (able: Capabilities): z.output<typeof CryptoParametersDto> => ({
  cryptoAlgorithms: [...able.cryptoAlgorithms],
  rsaKeySizes: [...able.rsaKeySizes],
  ecNamedCurves: [...able.ecNamedCurves],
  edDSANamedCurves: [...able.edDSANamedCurves],
  mlDsaParameterSets: [],
  keyPairModes: [...able.keyPairModes],
  validForValues: [...able.validForValues],
})
