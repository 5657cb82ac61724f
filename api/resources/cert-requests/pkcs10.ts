// Certificate requests by the PKCS#10 request that they hold, and a PKCS#10 request examined before one is made.
import { Failure } from '../../../domain/failure.ts'
import type { KeyFacts } from '../../../domain/key-rules.ts'
import { namesAtOdds } from '../../../domain/pkcs10-rules.ts'
import { checkBelonging, refusalsOf, type KeySource, type RequestCase } from '../../../domain/request-rules.ts'
import { parsePkcs10 } from '../../../pki/pkcs10.ts'
import { withoutSecrets } from '../../../pki/pkcs10-redaction.ts'
import { subjectDataOf } from '../../../pki/names/subject-data.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { findByPkcs10 } from '../../../storage/lists/cert-requests.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds, examplePkcs10 } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { caseOf, newCaseView, openCase } from '../../../authority/request-case.ts'
import {
  CertReqSearchByPkcs10,
  ExaminePkcs10RequestRequestDto,
  ExaminePkcs10RequestResponseDto,
  GetCertReqResponseDto,
} from './dtos.ts'

export const getCertRequestByPkcs10AndEndEntity = operation('POST /cert-requests/end-entities/:id/by-pkcs10', {
  summary: 'Find the newest certificate request of an end entity with this PKCS#10 request',
  on: EndEntity,
  needs: 'ENTER_REALM',
  alsoNeeds: [{ right: 'READ_CERT_REQUEST', on: 'the request that is found', entity: CertRequest }],
  body: CertReqSearchByPkcs10,
  example: { body: { pkcs10ReqBase64: examplePkcs10 } },
  returns: [200, GetCertReqResponseDto],
  fails: [409, 415],
  refuses: ['INVALID_PKCS10', 'CERT_REQUEST_NOT_FOUND', 'ENTITY_ARCHIVED'],
  // The newest one is meant, whoever asks: an older one that the caller may read does not stand in for it.
  handle: async ({ target, body, em, caller }) => {
    const { der } = parsePkcs10(Buffer.from(body.pkcs10ReqBase64))
    const request = await findByPkcs10(em, target.id, withoutSecrets(der))
    if (!request)
      throw new Failure('CERT_REQUEST_NOT_FOUND', 'The end entity has no request with this PKCS#10 request.')
    await caller.must('READ_CERT_REQUEST', request.place)
    if (request.archived) throw new Failure('ENTITY_ARCHIVED', 'The request with this PKCS#10 request is archived.')
    return request
  },
})

const noFacts = { cryptoAlgorithm: null, keySize: null, namedCurve: null } as const

/** What the key is; nothing where it is none that the service knows, which is among the violations. */
const factsOf = (key: KeySource): KeyFacts | typeof noFacts => {
  try {
    return key.describe()
  } catch (error) {
    if (error instanceof Failure) return noFacts
    throw error
  }
}

const examine = (request: RequestCase) => {
  const names = request.key.names()
  const mismatches = names ? namesAtOdds(names, request.endEntity) : []
  const policyViolations = refusalsOf(request)
    .filter(({ code }) => code !== 'PKCS10_MISMATCH')
    .map(({ code, message }) => ({ apiError: code, message }))
  return { valid: mismatches.length + policyViolations.length === 0, mismatches, policyViolations }
}

const onlyExamined = { validFor: null, keyGenParams: null, publicKey: null } as const

export const examinePkcs10Request = operation('PUT /cert-requests/examine-pkcs10-request', {
  summary: 'Examine a PKCS#10 request as if a certificate were requested with it; nothing is made',
  on: { policy: from.body(Policy, 'policyId'), endEntity: from.body(EndEntity, 'endEntityId') },
  needs: { policy: 'CREATE_CERT_REQUEST', endEntity: 'READ_END_ENTITY' },
  body: ExaminePkcs10RequestRequestDto,
  example: {
    body: { policyId: exampleIds.Policy, endEntityId: exampleIds.EndEntity, pkcs10ReqBase64: examplePkcs10 },
  },
  cost: 'CHECK',
  returns: [200, ExaminePkcs10RequestResponseDto],
  fails: [415, 422],
  refuses: ['INVALID_PKCS10', 'REALM_MISMATCH', 'ENTITY_ARCHIVED'],
  handle: async ({ policy, endEntity, body, em, settings, clock }) => {
    const pkcs10 = Buffer.from(body.pkcs10ReqBase64)
    const asked = { policy, endEntity, pkcs10, keyPairMode: 'PKCS10', ...onlyExamined } as const
    const request = caseOf(await openCase(em, asked, await newCaseView(settings, clock)))
    checkBelonging(request)
    const description = parsePkcs10(pkcs10)
    const { subjectDn, signatureValid } = description
    const subject = subjectDataOf(description)
    return { subjectDn, signatureValid, subject, ...factsOf(request.key), ...examine(request) }
  },
})
