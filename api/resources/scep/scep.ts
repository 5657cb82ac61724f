// What a SCEP gateway asks of the service that has the keys (contract 10.5, 12.1): it holds none itself.
import { openEnvelopedData, type Opened } from '../../../pki/cms/opening.ts'
import { CmsError } from '../../../pki/cms/cms-error.ts'
import { digests, type DigestName } from '../../../pki/cms/algorithms.ts'
import { isScepSignedAttributes } from '../../../pki/scep/signed-attributes.ts'
import { Failure } from '../../../domain/failure.ts'
import type { PolicySignerKey } from '../../../authority/policy-signers.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleEnvelope, exampleIds, exampleScepAttributes } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { certificatePem, recorded, signData } from '../sign/uses.ts'
import {
  ScepConfigurationDto,
  ScepDecryptDataRequestDto,
  ScepDecryptDataResponseDto,
  ScepSignDataResponseDto,
  ScepSignRequestDto,
} from './dtos.ts'
import { decryptersOf, signerOf } from './signers.ts'

const refuses = ['SCEP_NOT_ENABLED', 'SIGNER_NOT_AVAILABLE'] as const

/**
 * Whatever is wrong, one answer: what differs would tell about the key (RFC 3218). DES as well, since its sender has chosen it
 * already: gateways decide whether they take such messages.
 */
const openUniformly = (data: Uint8Array, keys: readonly PolicySignerKey[]): Opened => {
  const candidates = keys.map(({ certificate, key }) => ({ certificate: certificate.der, key }))
  try {
    return openEnvelopedData(Buffer.from(data), candidates, { insecureAlgorithms: true })
  } catch (error) {
    if (error instanceof CmsError) throw new Failure('DECRYPTION_FAILED')
    throw error
  }
}

export const decryptData = operation('POST /scep/decrypt', {
  summary: 'Decrypt the envelope of a SCEP message by the signer of a policy',
  description: 'Every envelope that cannot be decrypted is answered alike.',
  on: { policy: from.body(Policy, 'policyId') },
  needs: { policy: 'SIGN' },
  living: true,
  body: ScepDecryptDataRequestDto,
  example: { body: { policyId: exampleIds.Policy, dataBase64: exampleEnvelope } },
  cost: 'SIGNER',
  returns: [200, ScepDecryptDataResponseDto],
  fails: [415, 422],
  refuses: [...refuses, 'DECRYPTION_FAILED'],
  handle: async ({ policy, body, em, ...rest }) => {
    const keys = await decryptersOf({ policy, em, ...rest })
    const use = { type: 'DATA_DECRYPTED', policy, data: body.dataBase64, verb: 'decrypted by the SCEP signer' } as const
    const { content, contentCipher } = await recorded(em, { ...use, now: rest.clock() }, async () =>
      openUniformly(body.dataBase64, keys),
    )
    return { decryptedDataBase64: content, contentEncryptionAlgorithm: contentCipher }
  },
})

const mustBeReply = (data: Uint8Array, digest: DigestName): void => {
  if (isScepSignedAttributes(Buffer.from(data), digest)) return
  throw new Failure('SIGNING_REFUSED', 'The data is no DER SET of the signed attributes of a SCEP reply.')
}

export const signDataScep = operation('POST /scep/sign', {
  summary: 'Sign the attributes of a SCEP reply by the signer of a policy',
  on: { policy: from.body(Policy, 'policyId') },
  needs: { policy: 'SIGN' },
  living: true,
  body: ScepSignRequestDto,
  example: { body: { policyId: exampleIds.Policy, dataBase64: exampleScepAttributes } },
  cost: 'SIGNER',
  returns: [200, ScepSignDataResponseDto],
  fails: [415, 422],
  refuses: [...refuses, 'SIGNING_REFUSED'],
  handle: async ({ policy, body, em, ...rest }) => {
    const { dataBase64: data, digestAlgorithm } = body
    const { key, certificate, caChainPem } = await signerOf({ policy, em, ...rest })
    const use = { type: 'DATA_SIGNED', policy, data, verb: 'signed by the SCEP signer' } as const
    const signatureBase64 = await recorded(em, { ...use, now: rest.clock() }, async () => {
      mustBeReply(data, digestAlgorithm)
      return signData(data, { digest: digests[digestAlgorithm].hash, key })
    })
    const signatureAlgorithm = `${digestAlgorithm.replace('-', '')}_WITH_RSA`
    return { signatureBase64, signatureAlgorithm, signerCertificatePem: certificatePem(certificate), caChainPem }
  },
})

export const getScepConfiguration = operation('GET /scep/policies/:policyId/configuration', {
  summary: 'Read how a policy takes part in SCEP: its mode, its signer and the chain of its CA',
  on: { policy: from.path(Policy, 'policyId') },
  needs: { policy: 'SIGN' },
  living: true,
  returns: [200, ScepConfigurationDto],
  fails: [422],
  refuses,
  handle: async ({ policy, em, ...rest }) => {
    const { certificate, caChainPem, nextCaChainPem } = await signerOf({ policy, em, ...rest })
    return {
      policyId: policy.id,
      enabled: true,
      signerMode: policy.scepConfiguration?.signerMode ?? 'RA',
      signerCertificatePem: certificatePem(certificate),
      caChainPem,
      nextCaChainPem,
    }
  },
})
