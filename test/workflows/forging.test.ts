// Somebody who reaches Temporal: without our keys, with our keys on another request, with sealed messages of the wire, and
// with our keys in the name of others. Nothing of it decides anything, and beside it an honest approver is served.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Client, WorkflowFailedError, WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure, type DataConverter, type Payload, type PayloadCodec } from '@temporalio/common'
import { Worker, type NativeConnection } from '@temporalio/worker'
import type { RequestState } from '../../domain/lifecycle.ts'
import { createDataConverter, EncryptionCodec } from '../../worker/payload-codec.ts'
import {
  certRequestWorkflowId,
  crlWorkflowId,
  issueWorkflowId,
  mailCheckWorkflowId,
  mailWorkflowId,
  ocspWorkflowId,
  orderWorkflowId,
  providerWorkflowId,
  revokeWorkflowId,
} from '../../workflows/ids.ts'
import { approve, confirmed, decline, requestsChanged, verifyEmail, type Verdict } from '../../workflows/messages.ts'
import { hashOfToken, makeTokens } from '../../storage/verification-tokens.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { factsOf, issueNew, requestRow, until } from '../support/issuing.ts'
import { ownNamespace, stack } from '../support/stack.ts'
import { makeScene, startService, testPayloadKeys, type Scene, type Service } from '../support/service.ts'
import { approved, report } from '../faults/reckoning.ts'
import { pendingState } from './rig.ts'

let service: Service
let scene: Scene
let taskQueue: string
/** What a stranger sends instead of what our codec would have sealed. */
type Wire = (payloads: Payload[]) => Payload[] | Promise<Payload[]>

const writing = (encode: Wire): DataConverter => {
  const codec: PayloadCodec = { encode: async payloads => encode(payloads), decode: payloads => ours.decode(payloads) }
  return { payloadCodecs: [codec] }
}
const reading = writing(payloads => payloads)

/** A client that puts these payloads on the wire; it may read the answers, so that the tests know them. */
const sending = (encode: Wire): Client => {
  const dataConverter = writing(encode)
  return new Client({
    connection: service.client.connection,
    namespace: service.client.options.namespace,
    dataConverter,
  })
}
const ours = new EncryptionCodec(testPayloadKeys)
const foreign = new EncryptionCodec(new Map([['test', Buffer.alloc(32, 8)]]))

let keyless: Client
let otherKey: Client

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { requiresManualApproval: true })
  keyless = sending(payloads => payloads)
  otherKey = sending(payloads => foreign.encode(payloads))
  const { workflowId } = await openRequest()
  taskQueue = (await service.client.workflow.getHandle(workflowId).describe()).taskQueue
})
afterAll(() => service.stop())

/** A request whose run waits. */
const openRequest = async () => {
  const id = await scene.newRequest()
  const workflowId = certRequestWorkflowId(id)
  return { id, workflowId }
}
type Open = Awaited<ReturnType<typeof openRequest>>

const approver = () => service.user({ POLICY: { [scene.policyId]: ['CERTREQS_APPROVE'] } })
const verdictOf = (certRequestId: string, principalId: string, action: Verdict['action'] = 'APPROVE'): Verdict => ({
  id: principalId,
  type: 'USER',
  name: 'whoever',
  certRequestId,
  action,
})
const codeOf = async (update: Promise<unknown>): Promise<string | undefined> => {
  const error = await update.then(
    answer => new Error(`It was taken: ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(WorkflowUpdateFailedError)
  let deepest: unknown = error
  while (deepest instanceof Error && deepest.cause) deepest = deepest.cause
  return (deepest as { type?: string }).type
}

/** The requests that were attacked and then approved by somebody who may. */
const attacked: string[] = []

/** Nothing came of the attack, and the next honest decision counts. */
const goesOnCalmly = async ({ id }: Open) => {
  attacked.push(id)
  expect(await requestRow(service, id)).toMatchObject({ certRequestStatus: 'PENDING_APPROVAL', userResponses: [] })
  expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED'])
  const { status, body } = await (await approver()).patch(`/api/v1/cert-requests/${id}/approve`)
  expect([status, body.certRequestStatus]).toEqual([200, 'APPROVED'])
}

describe('an approval', () => {
  test.each<[string, () => Client]>([
    ['without keys', () => keyless],
    ['under a foreign key', () => otherKey],
  ])('%s is refused, whatever it says', async (_, client) => {
    const request = await openRequest()
    const handle = client().workflow.getHandle(request.workflowId)
    const { id } = await approver()
    for (const args of [[verdictOf(request.id, id)], [{ id, type: 'USER', name: 'Ada' }], [null], ['text'], []])
      for (const name of ['approve', 'decline'])
        expect(await codeOf(handle.executeUpdate(name, { args: args as never }))).toMatch(
          /ACCESS_DENIED|INVALID_STATE|UNSEALED/,
        )
    await goesOnCalmly(request)
  })

  test('sealed for one request is refused on another, and as the other action', async () => {
    const [one, other] = [await openRequest(), await openRequest()]
    const { id } = await approver()
    const handle = service.client.workflow.getHandle(one.workflowId)
    expect(await codeOf(handle.executeUpdate(approve, { args: [verdictOf(other.id, id)] }))).toBe('ACCESS_DENIED')
    const declining = verdictOf(one.id, id, 'DECLINE')
    expect(await codeOf(handle.executeUpdate(approve, { args: [declining] }))).toBe('ACCESS_DENIED')
    expect(await codeOf(handle.executeUpdate(decline, { args: [verdictOf(one.id, id)] }))).toBe('ACCESS_DENIED')
    await goesOnCalmly(one)
    await goesOnCalmly(other)
  })

  test('of an approver without rights is refused although it is sealed, and one of an earlier version as well', async () => {
    const request = await openRequest()
    const handle = service.client.workflow.getHandle(request.workflowId)
    const { id } = await service.user({ REALM: { [scene.realmId]: ['FULL_READ'] } })
    expect(await codeOf(handle.executeUpdate(approve, { args: [verdictOf(request.id, id)] }))).toBe('ACCESS_DENIED')
    const before = [{ id: scene.owner.id, type: 'USER', name: 'Ada' }] as unknown as [Verdict]
    expect(await codeOf(handle.executeUpdate(approve, { args: before }))).toBe('INVALID_STATE')
    await goesOnCalmly(request)
  })

  test('seen on the wire is refused on another request, even when it would fit', async () => {
    const [one, other] = [await openRequest(), await openRequest()]
    const { id } = await approver()
    // Sealed for the run of one request, it even names the other: who holds our keys could make no better.
    const context = { type: 'workflow', namespace: ownNamespace, workflowId: one.workflowId } as const
    const data = Buffer.from(JSON.stringify(verdictOf(other.id, id)))
    const seen = await ours.encode([{ metadata: { encoding: Buffer.from('json/plain') }, data }], context)
    const handle = sending(() => seen).workflow.getHandle(other.workflowId)
    expect(await codeOf(handle.executeUpdate('approve', { args: ['replaced'] }))).toMatch(/ACCESS_DENIED/)
    await goesOnCalmly(other)
  })
})

describe('a proof of an address', () => {
  /** A request whose run waits for a proof, and the message that proves it. */
  const openProof = async () => {
    const { id, workflowId } = await openRequest()
    await service.client.workflow.getHandle(workflowId).terminate()
    const em = service.em()
    await em.nativeUpdate(CertRequest, { id }, { certRequestStatus: 'REQUIRES_EMAIL_VERIFICATION' })
    const life = { now: new Date(), lifetimeHours: 1 }
    const [made] = await makeTokens(em, [{ certRequestId: id, email: 'owner@example.org' }], life)
    const proof = { certRequestId: id, tokenHash: hashOfToken(made?.token ?? '') }
    const state = { ...pendingState, status: 'REQUIRES_EMAIL_VERIFICATION' }
    const args = [{ certRequestId: id, state, waitDays: 1 }]
    const handle = await service.client.workflow.start('certRequest', { workflowId, taskQueue, args })
    return { id, workflowId, proof, handle }
  }
  /** Nothing came of the attack, and the honest proof counts. */
  const isProvenCalmly = async ({ id, proof, handle }: Awaited<ReturnType<typeof openProof>>) => {
    expect(await requestRow(service, id)).toMatchObject({ certRequestStatus: 'REQUIRES_EMAIL_VERIFICATION' })
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED'])
    expect(await handle.executeUpdate(verifyEmail, { args: [proof] })).toMatchObject({ status: 'PENDING_APPROVAL' })
  }

  test.each<[string, () => Client]>([
    ['without keys', () => keyless],
    ['under a foreign key', () => otherKey],
  ])('%s is refused, whatever it says', async (_, client) => {
    const open = await openProof()
    const handle = client().workflow.getHandle(open.workflowId)
    for (const args of [[open.proof], [{ certRequestId: open.id }], [null], ['text'], []])
      expect(await codeOf(handle.executeUpdate('verifyEmail', { args: args as never }))).toMatch(
        /ACCESS_DENIED|INVALID_STATE|UNSEALED/,
      )
    await isProvenCalmly(open)
  })

  test('of one request is refused on another: named, with its token, and as seen on the wire', async () => {
    const [one, other] = [await openProof(), await openProof()]
    expect(await codeOf(one.handle.executeUpdate(verifyEmail, { args: [other.proof] }))).toBe('ACCESS_DENIED')
    const borrowed = { ...other.proof, certRequestId: one.id }
    expect(await codeOf(one.handle.executeUpdate(verifyEmail, { args: [borrowed] }))).toBe('INVALID_TOKEN')
    const context = { type: 'workflow', namespace: ownNamespace, workflowId: one.workflowId } as const
    const data = Buffer.from(JSON.stringify(other.proof))
    const seen = await ours.encode([{ metadata: { encoding: Buffer.from('json/plain') }, data }], context)
    const handle = sending(() => seen).workflow.getHandle(other.workflowId)
    expect(await codeOf(handle.executeUpdate('verifyEmail', { args: ['replaced'] }))).toMatch(/ACCESS_DENIED/)
    await isProvenCalmly(one)
    await isProvenCalmly(other)
  })

  test('that is sent a second time counts once', async () => {
    const open = await openProof()
    await isProvenCalmly(open)
    expect(await codeOf(open.handle.executeUpdate(verifyEmail, { args: [open.proof] }))).toBe('INVALID_STATE')
    expect(await factsOf(service, open.id)).toEqual(['CERT_REQUEST_CREATED', 'CERT_REQUEST_EMAIL_VERIFIED'])
  })
})

describe('a run', () => {
  const state: RequestState = { ...pendingState, status: 'PENDING_APPROVAL' }
  const starts = (): [type: string, workflowId: string, args: unknown[]][] => {
    const id = randomUUID()
    return [
      ['certRequest', certRequestWorkflowId(id), [{ certRequestId: id, state, waitDays: 1 }]],
      ['issueCertificates', issueWorkflowId(id), [[id]]],
      ['orderCertificates', orderWorkflowId(id), [orderWorkflowId(id)]],
      ['prepareProvider', providerWorkflowId('prepare', id), [id]],
      ['checkProvider', providerWorkflowId('check', id), [id]],
      ['revokeCertificates', revokeWorkflowId(id), [revokeWorkflowId(id)]],
      ['issueCrl', crlWorkflowId(id), [id]],
      ['sendMails', mailWorkflowId(id), [id]],
      ['checkMailServer', mailCheckWorkflowId(id), [id]],
      ['checkOcspStatus', ocspWorkflowId(id), [id]],
    ]
  }
  const failed = async (handle: WorkflowHandle): Promise<unknown> => {
    const error = await handle.result().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(WorkflowFailedError)
    return error
  }

  test('that was started without keys ends at once, so that its id is free again', async () => {
    for (const [type, workflowId, args] of starts()) {
      await keyless.workflow.start(type, { workflowId, taskQueue, args })
      await failed(service.client.workflow.getHandle(workflowId))
    }
  })

  test('whose argument names another run ends at once', async () => {
    for (const [type, workflowId, args] of starts()) {
      const elsewhere = workflowId.replace(/[0-9a-f-]{36}/, randomUUID())
      const start = { workflowId: elsewhere, taskQueue, args }
      const handle = await service.client.workflow.start(type, start)
      if (type !== 'issueCertificates') await failed(handle)
      // A list may be issued under any id: what the records do not say that the run has claimed is not issued.
      else expect(await handle.result()).toMatchObject([{ failure: { apiError: 'INVALID_STATE' } }])
    }
  })

  test('in the place of that of a request hinders no decision', async () => {
    const request = await openRequest()
    await service.client.workflow.getHandle(request.workflowId).terminate()
    const args = [{ certRequestId: request.id, state: { ...state, status: 'APPROVED' }, waitDays: 1 }]
    await keyless.workflow.start('certRequest', { workflowId: request.workflowId, taskQueue, args })
    await failed(service.client.workflow.getHandle(request.workflowId))
    await goesOnCalmly(request)
  })
})

test('a result or a failure of an activity that was made without keys is not believed', async () => {
  const queue = `forged-${randomUUID()}`
  const { connection, options } = service.client
  const parts = { connection: connection as NativeConnection, namespace: options.namespace, taskQueue: queue }
  const forged = {
    recordDecision: async ({ action }: { action: string }) => {
      if (action === 'APPROVE') return { status: 'APPROVED', orderId: null }
      throw ApplicationFailure.nonRetryable('The end entity is archived.', 'ENTITY_ARCHIVED')
    },
  }
  const workflowBundle = { codePath: stack.workflowBundle() }
  const honest = await Worker.create({ ...parts, workflowBundle, dataConverter: createDataConverter(testPayloadKeys) })
  const stranger = await Worker.create({ ...parts, activities: forged, dataConverter: reading })
  await honest.runUntil(
    stranger.runUntil(async () => {
      const certRequestId = randomUUID()
      const handle = await service.client.workflow.start('certRequest', {
        workflowId: certRequestWorkflowId(certRequestId),
        taskQueue: queue,
        args: [{ certRequestId, state: pendingState, waitDays: 1 }],
      })
      const by = randomUUID()
      expect(await codeOf(handle.executeUpdate(approve, { args: [verdictOf(certRequestId, by)] }))).toBe(
        'ACCESS_DENIED',
      )
      const declining = verdictOf(certRequestId, by, 'DECLINE')
      expect(await codeOf(handle.executeUpdate(decline, { args: [declining] }))).toBe('UNSEALED ENTITY_ARCHIVED')
      expect((await handle.describe()).status.name).toBe('RUNNING')
      await handle.terminate()
    }),
  )
})

test('a message to an order without keys changes nothing, and the order goes on', async () => {
  const id = await scene.newRequest()
  const { orderId } = (await scene.owner.post(`/api/v2/certificates/cert-requests/${id}`)).body
  const stranger = keyless.workflow.getHandle(orderId)
  for (const args of [[[id]], [null], [{}], ['text']]) await stranger.signal('requestsChanged', ...args)
  await stranger.signal('requestsChanged')
  await stranger.signal('noSuchSignal', 1)
  await otherKey.workflow.getHandle(orderId).signal(requestsChanged, [id])
  expect((await scene.owner.get(`/api/v2/orders/${orderId}`)).body).toMatchObject({ status: 'RUNNING', waiting: 1 })
  await (await approver()).patch(`/api/v1/cert-requests/${id}/approve`)
  await until('the order is completed', async () => {
    const { body } = await scene.owner.get(`/api/v2/orders/${orderId}`)
    return body.status === 'COMPLETED'
  })
})

test('messages to a revocation without keys change nothing, and what the records do not ask for is not revoked', async () => {
  const free = await makeScene(service)
  const issued = await issueNew(free)
  const id = revokeWorkflowId(randomUUID())
  // With our keys, of a revocation that nobody has asked for.
  const handle = await service.client.workflow.start('revokeCertificates', { workflowId: id, taskQueue, args: [id] })
  const stranger = keyless.workflow.getHandle(id)
  await stranger.signal('confirmed', [issued.id]).catch(() => {})
  await stranger.executeUpdate('confirmed', { args: [issued.id] }).catch(() => {})
  await service.client.workflow
    .getHandle(id)
    .executeUpdate(confirmed)
    .catch(() => {})
  expect(await handle.result()).toMatchObject({ revoked: 0, refused: 0 })
  expect(await factsOf(service, issued.id)).toEqual(['CERTIFICATE_ISSUED'])
  expect((await free.owner.get(`/api/v1/certificates/${issued.id}`)).body.certStatus).toBe('ACTIVE')
  const answer = await free.owner.post(`/api/v1/certificates/revoke?id=${issued.id}`)
  expect([answer.status, answer.body.certStatus]).toEqual([200, 'REVOKED'])
})

test('every request that was attacked has the one approval that it was given', async () => {
  expect(attacked.length).toBeGreaterThan(0)
  const items = attacked.length
  report({ fault: 'forged and replayed messages', items, kills: 0 }, await approved(service.em(), attacked))
})
