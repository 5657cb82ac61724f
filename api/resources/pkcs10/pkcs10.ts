// PKCS#10 requests made, read and taken apart; nothing of them is stored (contract 6.8, 12).
import type { z } from 'zod'
import { endEntityFields, type EndEntityFields } from '../../../domain/end-entity-rules.ts'
import { rsaKeySizes } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import { keySpecOf, type KeySpec } from '../../../domain/key-rules.ts'
import type { SubjectAlternativeName } from '../../../domain/address.ts'
import { generateKeyPair } from '../../../pki/keys/key-pair.ts'
import { encodePem, findObject } from '../../../pki/pem.ts'
import { checkPkcs10, createPkcs10, parsePkcs10 as readPkcs10 } from '../../../pki/pkcs10.ts'
import { subjectDataOf } from '../../../pki/names/subject-data.ts'
import { describePublicKey } from '../../../pki/keys/public-key.ts'
import { examplePkcs10 } from '../../kernel/examples.ts'
import { operation } from '../../kernel/operation.ts'
import type { KeyGenParamsDto } from '../../kernel/shared-dtos.ts'
import {
  CreatePkcs10RequestDto,
  CreatePkcs10ResponseDto,
  ExtractEndEntityInfoFromPkcs10RequestDto,
  ExtractEndEntityInfoFromPkcs10ResponseDto,
  ParsePkcs10ResponseDto,
  Pkcs10Dto,
} from './dtos.ts'

/** No policy narrows these keys: an absent parameter is the first value in the order of contract 2. */
const unrestricted = { allowedCryptoAlgorithms: [] }

/** The key to make; CRYPTO_RESTRICTION_VIOLATION for a size that the service does not make. */
const specOf = ({ keySize, ...params }: z.output<typeof KeyGenParamsDto>): KeySpec => {
  const size = rsaKeySizes.find(known => known === keySize)
  if (params.cryptoAlgorithm === 'RSA' && keySize && !size)
    throw new Failure('CRYPTO_RESTRICTION_VIOLATION', `The service makes no RSA keys of ${keySize} bits.`)
  return keySpecOf({ ...params, keySize: size }, unrestricted)
}

const sansOf = ({ domains, ips, email }: EndEntityFields): SubjectAlternativeName[] => [
  ...domains.map(value => ({ type: 'DNS' as const, value })),
  ...ips.map(value => ({ type: 'IP' as const, value })),
  ...(email ? [{ type: 'EMAIL' as const, value: email }] : []),
]

export const createPkcs10Request = operation('POST /pkcs10', {
  summary: 'Make a key pair and a PKCS#10 request with it; the service keeps neither',
  needs: 'TOKEN',
  body: CreatePkcs10RequestDto,
  example: {
    body: {
      subject: { commonName: 'web-01', organization: 'Example', country: 'DE', domains: ['web-01.example.org'] },
      keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
    },
  },
  cost: 'KEYS',
  returns: [200, CreatePkcs10ResponseDto],
  fails: [415, 422],
  refuses: ['CRYPTO_RESTRICTION_VIOLATION', 'VALIDATION_FAILED'],
  handle: async ({ body: { subject, keyGenParamsDto, challengePassword } }) => {
    const fields = endEntityFields(subject)
    const keys = await generateKeyPair(specOf(keyGenParamsDto))
    const der = await createPkcs10({ subject: fields, sans: sansOf(fields), keys, challengePassword })
    const pemPrivateKey = encodePem('PRIVATE KEY', keys.privateKeyPkcs8)
    keys.privateKeyPkcs8.fill(0)
    return { pkcs10ReqBase64: der, pkcs10Pem: encodePem('CERTIFICATE REQUEST', der), pemPrivateKey }
  },
})

export const parsePkcs10 = operation('POST /pkcs10/parse', {
  summary: 'Tell what a PKCS#10 request says and whether its signature is right',
  needs: 'TOKEN',
  body: Pkcs10Dto,
  example: { body: { pkcs10ReqBase64: examplePkcs10 } },
  cost: 'CHECK',
  returns: [200, ParsePkcs10ResponseDto],
  fails: [415, 422],
  refuses: ['INVALID_PKCS10', 'INVALID_PUBLIC_KEY', 'CRYPTO_RESTRICTION_VIOLATION'],
  handle: ({ body }) => {
    const description = readPkcs10(Buffer.from(body.pkcs10ReqBase64))
    const { cryptoAlgorithm, keySize, namedCurve } = describePublicKey(description.publicKeySpki)
    return {
      subjectDn: description.subjectDn,
      subject: subjectDataOf(description),
      cryptoAlgorithm,
      keySize,
      namedCurve,
      publicKeyBase64: description.publicKeySpki,
      signatureAlgorithm: description.signatureAlgorithm,
      signatureValid: description.signatureValid,
      subjectAlternativeNames: [...description.sans],
      hasChallengePassword: description.hasChallengePassword,
    }
  },
})

export const extractEndEntityInfoFromPemEncodedPkcs10 = operation('POST /public/extract-end-entity-from-pkcs10', {
  summary: 'Take the data of an end entity from a PKCS#10 request',
  needs: 'NOTHING',
  never: [404],
  body: ExtractEndEntityInfoFromPkcs10RequestDto,
  example: { body: { pkcs10Pem: encodePem('CERTIFICATE REQUEST', Buffer.from(examplePkcs10, 'base64')) } },
  returns: [200, ExtractEndEntityInfoFromPkcs10ResponseDto],
  fails: [415, 422],
  refuses: ['INVALID_PKCS10', 'INVALID_PUBLIC_KEY', 'CRYPTO_RESTRICTION_VIOLATION'],
  handle: ({ body: { pkcs10Pem } }) =>
    subjectDataOf(checkPkcs10(findObject('CERTIFICATE REQUEST', pkcs10Pem) ?? Buffer.alloc(0))),
})
