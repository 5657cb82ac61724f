import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { factsOf, refusalOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
})
afterAll(() => service.stop())

const path = '/api/v1/cert-requests/multiple'

test('asks for a token', async () => {
  expect((await service.anonymous.post(path)).status).toBe(401)
})

const several = ({ policyId }: Scene, endEntityIds: string[], members: object = {}) => ({
  policyId,
  endEntityIds,
  validFor: 'ONE_YEAR',
  keyGenParamsDto: { cryptoAlgorithm: 'EC' },
  ...members,
})

test('makes a request for each end entity and tells which were refused, and why', async () => {
  const good = [await scene.newEndEntity(), await scene.newEndEntity()]
  const other = await makeScene(service)
  const unknown = randomUUID()
  const unnamed = await scene.newEndEntity('no host name')
  const ids = [good[0] ?? '', unknown, other.endEntityId, unnamed, good[1] ?? '', good[0] ?? '']
  const { status, body } = await scene.owner.post(path, several(scene, ids))
  expect(status).toBe(201)
  expect(body.certRequests.map((request: { endEntityId: string }) => request.endEntityId)).toEqual(good)
  expect(body.certRequests[0]).toMatchObject({ keyPairMode: 'SERVER_GEN', certRequestStatus: 'APPROVED' })
  expect(body.errors).toEqual(
    [
      { id: unknown, index: 1, apiError: 'END_ENTITY_NOT_FOUND' },
      { id: other.endEntityId, index: 2, apiError: 'ACCESS_DENIED' },
      { id: unnamed, index: 3, apiError: 'END_ENTITY_RULE_VIOLATION' },
    ].map(error => expect.objectContaining(error)),
  )
  for (const { id } of body.certRequests) {
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED'])
    expect(await service.em().count(PermissionGrant, { resourceId: id, principalId: scene.owner.id })).toBe(1)
  }
})

test.each<[string, object, number, string]>([
  ['no end entity', { endEntityIds: [] }, 400, 'INVALID_REQUEST'],
  ['more than 10,000', { endEntityIds: Array.from({ length: 10_001 }, () => randomUUID()) }, 400, 'REQUEST_TOO_LARGE'],
  ['another mode', { keyPairMode: 'PKCS10' }, 400, 'INVALID_REQUEST'],
  ['no parameters of a key', { keyGenParamsDto: null }, 400, 'INVALID_REQUEST'],
  ['an unknown policy', { policyId: randomUUID() }, 404, 'POLICY_NOT_FOUND'],
])('refuses %s', async (...[, members, status, code]) => {
  const reply = await scene.owner.post(path, several(scene, [scene.endEntityId], members))
  expect(refusalOf(reply)).toEqual([status, code])
})

test('takes JSON only', async () => {
  const extras = { raw: '{}', headers: { 'Content-Type': 'text/plain' } }
  expect((await scene.owner.post(path, undefined, extras)).status).toBe(415)
})

test('an archived policy refuses the whole', async () => {
  const old = await makeScene(service)
  await service.em().nativeUpdate(Policy, { id: old.policyId }, { archived: true })
  const reply = await old.owner.post(path, several(old, [old.endEntityId]))
  expect(refusalOf(reply)).toEqual([422, 'ENTITY_ARCHIVED'])
})

test('takes CERTS_CREATE on the policy; rights in another realm do not help', async () => {
  const { owner } = await makeScene(service)
  expect((await owner.post(path, several(scene, [scene.endEntityId]))).status).toBe(403)
  const reader = await service.user({ REALM: { [scene.realmId]: ['FULL_READ'] } })
  expect((await reader.post(path, several(scene, [scene.endEntityId]))).status).toBe(403)
})

test('requests that wait for approval can be decided at once', async () => {
  const careful = await makeScene(service, { requiresManualApproval: true })
  const ids = [careful.endEntityId, await careful.newEndEntity()]
  const { body } = await careful.owner.post(path, several(careful, ids))
  for (const { id, certRequestStatus } of body.certRequests) {
    expect(certRequestStatus).toBe('PENDING_APPROVAL')
    expect((await careful.owner.patch(`/api/v1/cert-requests/${id}/approve`)).status).toBe(200)
  }
})

test('of end entities with an active certificate only the others get one where certificates are unique', async () => {
  const unique = await makeScene(service, { enforceActiveCertUniqueness: true })
  await unique.owner.post(`/api/v1/certificates/cert-requests/${await unique.newRequest()}`)
  const other = await unique.newEndEntity()
  const { body } = await unique.owner.post(path, several(unique, [unique.endEntityId, other]))
  expect(body.certRequests).toMatchObject([{ endEntityId: other }])
  expect(body.errors).toMatchObject([{ id: unique.endEntityId, index: 0, apiError: 'ACTIVE_CERTIFICATE_EXISTS' }])
})
