// What a policy would say: of an end entity, and of the keys that its provider can issue for (contract 5.1, 6.6).
import type { z } from 'zod'
import { heldUnder } from '../../../authority/held-names.ts'
import { termsOf } from '../../../authority/providers/kinds.ts'
import { endEntityFields, endEntityViolations } from '../../../domain/end-entity-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import type { Capabilities } from '../../../domain/policy-rules.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import {
  CheckEndEntityRequestDto,
  CheckEndEntityResponseDto,
  CryptoParametersDto,
  GetAllowedCryptoParametersRequestDto,
} from './dtos.ts'

export const checkEndEntityWithRules = operation('POST /policies/:id/rules', {
  summary: 'Check an end entity with the rules of a policy',
  on: { policy: from.path(Policy), stored: from.optional(from.body(EndEntity, 'endEntityId')) },
  needs: { policy: 'READ_POLICY', stored: 'READ_END_ENTITY' },
  body: CheckEndEntityRequestDto,
  example: { body: { endEntity: { commonName: 'web-03', domains: ['web-03.example.org'] } } },
  returns: [200, CheckEndEntityResponseDto],
  fails: [415, 422],
  refuses: ['VALIDATION_FAILED', 'REALM_MISMATCH'],
  handle: async ({ policy, stored, body, em }) => {
    if (stored && stored.realmId !== policy.realmId) throw new Failure('REALM_MISMATCH')
    const subject = stored?.fields ?? endEntityFields(body.endEntity ?? {})
    const violations = endEntityViolations(policy, subject, await heldUnder(em, policy))
    return { result: violations.length === 0, violations }
  },
})

/** The capabilities as the contract answers them: lists. */
const parametersOf = (able: Capabilities): z.output<typeof CryptoParametersDto> => ({
  cryptoAlgorithms: [...able.cryptoAlgorithms],
  rsaKeySizes: [...able.rsaKeySizes],
  ecNamedCurves: [...able.ecNamedCurves],
  edDSANamedCurves: [...able.edDSANamedCurves],
  mlDsaParameterSets: [...able.mlDsaParameterSets],
  keyPairModes: [...able.keyPairModes],
  validForValues: [...able.validForValues],
})

export const getAllowedCryptoParameters = operation('PUT /policies/allowed-crypto-params', {
  summary: 'Tell what a provider can do for a policy',
  on: { provider: from.body(CertificateProvider, 'certificateProviderId') },
  needs: { provider: 'SHAPE_POLICIES' },
  body: GetAllowedCryptoParametersRequestDto,
  example: {
    body: {
      certificateProviderId: exampleIds.CertificateProvider,
      certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
    },
  },
  returns: [200, CryptoParametersDto],
  fails: [415, 422],
  refuses: ['INVALID_POLICY_CONFIGURATION', 'TEMPLATE_NOT_FOUND'],
  handle: ({ provider, body }) => parametersOf(termsOf(provider, body.certificateProviderConfiguration).capabilities),
})
