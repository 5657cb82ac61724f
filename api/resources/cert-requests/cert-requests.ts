// Certificate requests made and read (contract 5.4, 6.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import {
  checkTemplate,
  judge,
  newCaseView,
  openCase,
  openCases,
  type Asked,
  type OpenCase,
} from '../../../authority/request-case.ts'
import { sortOut } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { initialStatus, isWaiting } from '../../../domain/lifecycle.ts'
import type { KeyGenParams } from '../../../domain/policy-rules.ts'
import { record } from '../../../storage/audit.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { grantCreatorAtFlush } from '../../../storage/grant.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import type { Settings } from '../../../storage/settings.ts'
import { certRequestRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import type { Temporal } from '../../kernel/temporal.ts'
import {
  CreateCertReqRequestDto,
  type CreateCertReqRequest,
  CreateCertReqResponseDto,
  CreateMultipleCertReqRequestDto,
  CreateMultipleCertReqResponseDto,
  GetCertReqResponseDto,
} from './dtos.ts'

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

const makeRequest = (em: EntityManager, caller: Caller, { policy, endEntity, ...asked }: Asked): CertRequest => {
  const request = em.create(CertRequest, {
    realmId: policy.realmId,
    policyId: policy.id,
    endEntityId: endEntity.id,
    policyName: policy.name,
    endEntityCommonName: endEntity.commonName ?? null,
    endEntityAlias: endEntity.alias ?? null,
    validFor: asked.validFor,
    keyPairMode: asked.keyPairMode,
    keyGenParamsDto: asked.keyGenParams,
    pkcs10: asked.pkcs10,
    publicKey: asked.publicKey,
    certRequestStatus: initialStatus(policy),
    requiresManualApproval: policy.requiresManualApproval,
    dualControl: policy.dualControl,
    requesterMayApprove: policy.requesterMayApprove,
    userResponses: [],
  })
  grantCreatorAtFlush(em, caller.id, { scope: 'CERT_REQUEST', resourceId: request.id })
  record(em, {
    type: 'CERT_REQUEST_CREATED',
    objectId: request.id,
    realmId: request.realmId,
    what: `Certificate request of ${request.label} under policy ${policy.name} created`,
  })
  return request
}

/** More runs than this are left to the reconciler, so that a large call answers soon; approving needs no run. */
const startedAtOnce = 100

const startWaiting = async (
  temporal: Temporal,
  settings: Settings,
  requests: readonly CertRequest[],
): Promise<void> => {
  const waiting = requests.filter(request => isWaiting(request.certRequestStatus)).slice(0, startedAtOnce)
  const waitDays = await settings.integer('order.max-wait-days')
  await Promise.all(waiting.map(request => temporal.start(certRequestRun(request, waitDays))))
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
  returns: [201, CreateCertReqResponseDto],
  fails: [415, 422],
  handle: async ({ policy, endEntity, body, em, caller, temporal, settings, clock }) => {
    const asked = askedIn(body, { policy, endEntity })
    judge(await openCase(em, asked, await newCaseView(settings, clock)))
    const request = makeRequest(em, caller, asked)
    await em.flush()
    await startWaiting(temporal, settings, [request])
    return request
  },
})

/** The end entities that are there, and how to get one of the list that the caller may read. */
const findEndEntities = async (em: EntityManager, caller: Caller, ids: readonly string[]) => {
  const rows = new Map((await em.find(EndEntity, { id: { $in: [...ids] } })).map(row => [row.id, row]))
  const known = ids.map(id => rows.get(id)).filter(row => row !== undefined)
  const readable = await caller.which(
    'READ_END_ENTITY',
    known.map(row => row.place),
  )
  const allowed = new Set(known.filter((_, index) => readable[index]).map(({ id }) => id))
  const get = (id: string): EndEntity => {
    const row = rows.get(id)
    if (!row) throw new Failure('END_ENTITY_NOT_FOUND')
    if (!allowed.has(id)) throw new Failure('ACCESS_DENIED')
    return row
  }
  return { known, get }
}

export const createMultipleCertRequest = operation('POST /cert-requests/multiple', {
  summary: 'Request a certificate for each of several end entities',
  on: { policy: from.body(Policy, 'policyId') },
  needs: { policy: 'CREATE_CERT_REQUEST' },
  alsoNeeds: [{ right: 'READ_END_ENTITY', on: 'each end entity of endEntityIds', entity: EndEntity }],
  living: true,
  body: CreateMultipleCertReqRequestDto,
  example: {
    body: {
      policyId: exampleIds.Policy,
      endEntityIds: [exampleIds.EndEntity],
      validFor: 'ONE_YEAR',
      keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 3072 },
    },
  },
  returns: [201, CreateMultipleCertReqResponseDto],
  fails: [415, 422],
  handle: async ({ policy, body, em, caller, temporal, settings, clock }) => {
    await checkTemplate(em, policy)
    const { known, get } = await findEndEntities(em, caller, body.endEntityIds)
    const given = { ...body, pkcs10ReqBase64: null, publicKeyBase64: null }
    const all = known.map(endEntity => askedIn(given, { policy, endEntity }))
    const cases = await openCases(em, all, await newCaseView(settings, clock))
    const caseFor = new Map(cases.map(one => [one.asked.endEntity.id, one]))
    const { accepted: certRequests, errors } = sortOut(body.endEntityIds, id => {
      const open = caseFor.get(get(id).id) as OpenCase
      judge(open)
      return makeRequest(em, caller, open.asked)
    })
    await em.flush()
    await startWaiting(temporal, settings, certRequests)
    return { certRequests, errors }
  },
})

export const getCertRequest = operation('GET /cert-requests/:id', {
  summary: 'Read a certificate request',
  on: CertRequest,
  needs: 'READ_CERT_REQUEST',
  returns: [200, GetCertReqResponseDto],
  handle: ({ target }) => target,
})
