// Certificate requests made and read (contract 5.4, 6.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import { judge, newCaseView, openCase, type Asked } from '../../../authority/request-case.ts'
import { initialStatus } from '../../../domain/lifecycle.ts'
import type { KeyGenParams } from '../../../domain/policy-rules.ts'
import { withoutSecrets } from '../../../pki/pkcs10-redaction.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { storeNew } from '../../../storage/store-new.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import {
  CreateCertReqRequestDto,
  type CreateCertReqRequest,
  CreateCertReqResponseDto,
  GetCertReqResponseDto,
} from './dtos.ts'
import { askForProof, startMails, startWaiting, unproven, type Asking } from './waiting.ts'
import { ruleBreaches } from './refusals.ts'
import { onlyOnce } from './repetition.ts'

const bytesOf = (given: Uint8Array | null | undefined): Buffer | null => (given ? Buffer.from(given) : null)

/** What a body asks for; which key sizes there are is for the rules to say (CRYPTO_RESTRICTION_VIOLATION). */
const askedIn = (
  { validFor, keyPairMode, keyGenParamsDto, ...given }: Omit<CreateCertReqRequest, 'policyId' | 'endEntityId'>,
  { policy, endEntity }: Pick<Asked, 'policy' | 'endEntity'>,
): Asked => ({
  policy,
  endEntity,
  validFor,
  keyPairMode,
  keyGenParams: keyGenParamsDto as KeyGenParams | null,
  pkcs10: bytesOf(given.pkcs10ReqBase64),
  publicKey: bytesOf(given.publicKeyBase64),
})

interface Named {
  readonly reference: string | null
  readonly idempotencyKey: string | null
}

const storeRequest = (
  em: EntityManager,
  { policy, endEntity, ...asked }: Asked,
  { named, now }: { readonly named: Named; readonly now: Date },
): Promise<CertRequest> => {
  const { realmId, requiresManualApproval, dualControl, requesterMayApprove } = policy
  const label = endEntity.commonName ?? endEntity.alias ?? endEntity.id
  return storeNew(em, {
    entity: CertRequest,
    data: {
      realmId,
      policyId: policy.id,
      endEntityId: endEntity.id,
      validFor: asked.validFor,
      keyPairMode: asked.keyPairMode,
      keyGenParamsDto: asked.keyGenParams,
      pkcs10: asked.pkcs10 && withoutSecrets(asked.pkcs10),
      publicKey: asked.publicKey,
      certRequestStatus: initialStatus(policy),
      requiresManualApproval,
      dualControl,
      requesterMayApprove,
      userResponses: [],
      reference: named.reference,
      idempotencyKey: named.idempotencyKey,
    },
    scope: 'CERT_REQUEST',
    fact: ({ id }) => {
      const what = `Certificate request of ${label} under policy ${policy.name} created`
      return { type: 'CERT_REQUEST_CREATED', objectId: id, realmId, what }
    },
    now,
  })
}

/** Stores a request, and with it the mail that asks for a proof of the address where its policy wants one. */
const store = async (em: EntityManager, asked: Asked, { named, ...asking }: Asking & { readonly named: Named }) => {
  const storing = { named, now: asking.clock() }
  if (initialStatus(asked.policy) !== 'REQUIRES_EMAIL_VERIFICATION')
    return { request: await storeRequest(em, asked, storing), groups: [] }
  return em.transactional(async transaction => {
    const request = await storeRequest(transaction, asked, storing)
    return { request, groups: await askForProof(transaction, unproven([request], [asked.endEntity]), asking) }
  })
}

export const createCertRequest = operation('POST /cert-requests', {
  summary: 'Request a certificate for an end entity under a policy',
  on: { policy: from.body(Policy, 'policyId'), endEntity: from.body(EndEntity, 'endEntityId') },
  needs: { policy: 'CREATE_CERT_REQUEST', endEntity: 'READ_END_ENTITY' },
  body: CreateCertReqRequestDto,
  example: {
    body: {
      policyId: exampleIds.Policy,
      endEntityId: exampleIds.EndEntity,
      validFor: 'SIX_MONTHS',
      keyPairMode: 'SERVER_GEN',
      keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
    },
  },
  cost: 'CHECK',
  returns: [201, CreateCertReqResponseDto],
  fails: [415, 422],
  refuses: [
    ...ruleBreaches,
    'VALIDATION_FAILED',
    'INVALID_PKCS10',
    'INVALID_PUBLIC_KEY',
    'EMAIL_MISSING',
    'MAIL_NOT_CONFIGURED',
  ],
  handle: ({ policy, endEntity, body, em, caller, temporal, settings, seal, clock }) =>
    onlyOnce(em, { caller, body }, async () => {
      const asked = askedIn(body, { policy, endEntity })
      judge(await openCase(em, asked, await newCaseView(settings, clock)))
      const { request, groups } = await store(em, asked, { named: body, settings, seal, clock })
      await startWaiting(temporal, settings, [request])
      await startMails(temporal, groups)
      return request
    }),
})

export const getCertRequest = operation('GET /cert-requests/:id', {
  summary: 'Read a certificate request',
  on: CertRequest,
  needs: 'READ_CERT_REQUEST',
  returns: [200, GetCertReqResponseDto],
  handle: ({ target }) => target,
})
