// What a CMP server asks of the service that has the signers (contract 10.5, 12): it holds no key itself.
import { signatureAlgorithms } from '../../../pki/keys/algorithms.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds, exampleSignedPart } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { SignDataResponseDto } from '../sign/dtos.ts'
import { certificatePem, recorded, signData as sign } from '../sign/uses.ts'
import { CmpSignRequestDto, GetCmpConfigurationResponseDto } from './dtos.ts'
import { mustNameSignature, mustTakePart } from './protection.ts'
import { cmpSignerOf } from './signer.ts'

export const getCmpConfigurationByPolicyId = operation('GET /cmp/policies/:policyId/configuration', {
  summary: 'Read how a policy takes part in CMP, its signer and the chain of that',
  on: { policy: from.path(Policy, 'policyId') },
  needs: { policy: 'READ_POLICY' },
  living: true,
  returns: [200, GetCmpConfigurationResponseDto],
  fails: [409, 422],
  refuses: ['CMP_NOT_ENABLED', 'SIGNER_NOT_AVAILABLE'],
  handle: async ({ policy, em, ...rest }) => {
    const configuration = mustTakePart(policy)
    const { certificate, caChainPem } = await cmpSignerOf({ policy, em, ...rest })
    return {
      policyId: policy.id,
      ...configuration,
      signerCertificateId: configuration.signerCertificateId ?? null,
      signerCertificatePem: certificatePem(certificate),
      caChainPem,
    }
  },
})

export const signData = operation('POST /cmp/sign', {
  summary: 'Sign a CMP message by the signer of a policy',
  description: 'The data is the ProtectedPart, header and body, whose header names the signature of the policy.',
  on: { policy: from.body(Policy, 'policyId') },
  needs: { policy: 'SIGN' },
  living: true,
  body: CmpSignRequestDto,
  example: { body: { policyId: exampleIds.Policy, dataBase64: exampleSignedPart } },
  cost: 'SIGNER',
  returns: [200, SignDataResponseDto],
  fails: [415, 422],
  refuses: ['CMP_NOT_ENABLED', 'SIGNER_NOT_AVAILABLE', 'SIGNING_REFUSED'],
  handle: async ({ policy, body: { dataBase64: data }, em, ...rest }) => {
    const { signatureAlgorithm } = mustTakePart(policy, 'signatureProtectionAllowed')
    const { key, certificate, caChainPem } = await cmpSignerOf({ policy, em, ...rest })
    const use = { type: 'DATA_SIGNED', policy, data, verb: 'signed by the CMP signer', now: rest.clock() } as const
    const signatureBase64 = await recorded(em, use, async () => {
      mustNameSignature(data, signatureAlgorithm)
      return sign(data, { digest: signatureAlgorithms[signatureAlgorithm].digest, key })
    })
    return { signatureBase64, signatureAlgorithm, signerCertificatePem: certificatePem(certificate), caChainPem }
  },
})
