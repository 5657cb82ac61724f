// Certificate requests: made, read, approved and declined (contract 4.1, 5.4, 6.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import { sortOut } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { decided, initialStatus, isWaiting } from '../../../domain/lifecycle.ts'
import { checkRequest } from '../../../domain/request-rules.ts'
import type { CertRequestAction } from '../../../domain/enums.ts'
import { record } from '../../../storage/audit.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { grantCreatorAtFlush } from '../../../storage/grant.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import type { Settings } from '../../../storage/settings.ts'
import type { certRequest } from '../../../workflows/cert-request.ts'
import { approve, decline } from '../../../workflows/messages.ts'
import { waitingRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { gatherCase, type KeyInput } from '../../../authority/new-request.ts'
import { PENDING, type Start, type Temporal } from '../../kernel/temporal.ts'
import {
  ApproveCertReqResponseDto,
  CreateCertReqRequestDto,
  type CreateCertReqRequest,
  CreateCertReqResponseDto,
  CreateMultipleCertReqRequestDto,
  CreateMultipleCertReqResponseDto,
  DeclineCertReqResponseDto,
  GetCertReqResponseDto,
} from './dtos.ts'

interface Named {
  readonly policy: Policy
  readonly endEntity: EndEntity
}

/** Which key sizes there are is for the rules to say (CRYPTO_RESTRICTION_VIOLATION), not for the shape. */
const keyInput = (body: Pick<CreateCertReqRequest, keyof KeyInput>): KeyInput => body as KeyInput

const makeRequest = (
  em: EntityManager,
  caller: Caller,
  { policy, endEntity, ...input }: Named & KeyInput,
): CertRequest => {
  const request = em.create(CertRequest, {
    realmId: policy.realmId,
    policyId: policy.id,
    endEntityId: endEntity.id,
    policyName: policy.name,
    endEntityCommonName: endEntity.commonName ?? null,
    endEntityAlias: endEntity.alias ?? null,
    validFor: input.validFor,
    keyPairMode: input.keyPairMode,
    keyGenParamsDto: input.keyGenParamsDto,
    pkcs10: input.pkcs10ReqBase64 && Buffer.from(input.pkcs10ReqBase64),
    publicKey: input.publicKeyBase64 && Buffer.from(input.publicKeyBase64),
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
  await Promise.all(
    waiting.map(request => temporal.start<typeof certRequest>('certRequest', waitingRun(request, waitDays))),
  )
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
  handle: async ({ policy, endEntity, body, em, caller, temporal, ...rest }) => {
    const { caseOf, latestOf } = await gatherCase({ em, ...rest }, policy, keyInput(body))
    checkRequest(caseOf(endEntity, await latestOf([endEntity])))
    const request = makeRequest(em, caller, { ...keyInput(body), policy, endEntity })
    await em.flush()
    await startWaiting(temporal, rest.settings, [request])
    return request
  },
})

const findEndEntities = async (em: EntityManager, caller: Caller, ids: readonly string[]) => {
  const rows = new Map((await em.find(EndEntity, { id: { $in: [...ids] } })).map(row => [row.id, row]))
  const known = ids.map(id => rows.get(id)).filter(row => row !== undefined)
  const readable = await caller.which(
    'READ_END_ENTITY',
    known.map(row => row.place),
  )
  const allowed = new Set(known.filter((_, index) => readable[index]).map(({ id }) => id))
  return (id: string): EndEntity => {
    const row = rows.get(id)
    if (!row) throw new Failure('END_ENTITY_NOT_FOUND')
    if (!allowed.has(id)) throw new Failure('ACCESS_DENIED')
    return row
  }
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
  handle: async ({ policy, body, em, caller, temporal, ...rest }) => {
    const input = keyInput({ ...body, pkcs10ReqBase64: null, publicKeyBase64: null })
    const { caseOf, latestOf } = await gatherCase({ em, ...rest }, policy, input)
    const get = await findEndEntities(em, caller, body.endEntityIds)
    const latest = await latestOf(await em.find(EndEntity, { id: { $in: body.endEntityIds } }))
    const { accepted: certRequests, errors } = sortOut(body.endEntityIds, id => {
      const endEntity = get(id)
      checkRequest(caseOf(endEntity, latest))
      return makeRequest(em, caller, { ...input, policy, endEntity })
    })
    await em.flush()
    await startWaiting(temporal, rest.settings, certRequests)
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

interface Verdict {
  readonly target: CertRequest
  readonly caller: Caller
  readonly em: EntityManager
  readonly temporal: Temporal
  readonly settings: Settings
}

const updates = { APPROVE: approve, DECLINE: decline } as const

/** Tells the run of the request, starting it where none is left, and reads the row that it wrote. */
const decide = async (action: CertRequestAction, { target, caller, em, temporal, settings }: Verdict) => {
  decided(target.state, action, caller.id)
  const { id, type, name } = caller
  const start: Start<typeof certRequest> = waitingRun(target, await settings.integer('order.max-wait-days'))
  const outcome = await temporal.updateWithStart(updates[action], {
    args: [{ id, type, name }],
    workflow: 'certRequest',
    start,
  })
  if (outcome === PENDING) throw new Error(`The decision on ${target.id} was sent, but no worker has recorded it yet.`)
  await em.refresh(target)
  return { target, orderId: outcome.orderId }
}

const certificateWaitMs = 5000
const lookEveryMs = 100

/** A completed order's certificate, when it is there within 5 s (contract 4.1), else null. */
const awaitCertificate = async (em: EntityManager, target: CertRequest): Promise<string | null> => {
  const end = performance.now() + certificateWaitMs
  while (performance.now() < end) {
    await em.refresh(target)
    if (target.certificateId || !target.runId) break
    await new Promise(resolve => void setTimeout(resolve, lookEveryMs))
  }
  return target.certificateId ?? null
}

export const approveCertRequest = operation('PATCH /cert-requests/:id/approve', {
  summary: 'Approve a certificate request',
  on: CertRequest,
  needs: 'APPROVE',
  repeatable: false,
  returns: [200, ApproveCertReqResponseDto],
  fails: [409, 422],
  handle: async context => {
    const { target, orderId } = await decide('APPROVE', context)
    if (orderId && target.certRequestStatus === 'APPROVED') await awaitCertificate(context.em, target)
    return target
  },
})

export const declineCertRequest = operation('PATCH /cert-requests/:id/decline', {
  summary: 'Decline a certificate request',
  on: CertRequest,
  needs: 'DECLINE',
  repeatable: false,
  returns: [200, DeclineCertReqResponseDto],
  fails: [409, 422],
  handle: async context => (await decide('DECLINE', context)).target,
})
