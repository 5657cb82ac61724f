// How many statements the API and a worker need for what is called most; bench/results/statements.json tells of all operations.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Reply } from '../support/api.ts'
import { serviceUrlOf } from '../support/database.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { beyond, statementCounter } from '../support/statements.ts'

type Counter = Awaited<ReturnType<typeof statementCounter>>
let service: Service
let scene: Scene
let ofApi: Counter
beforeAll(async () => {
  service = await startService({ ownStorage: true })
  scene = await makeScene(service)
  ofApi = await statementCounter(serviceUrlOf(service.databaseUrl))
})
afterAll(async () => {
  await ofApi.close()
  await service.stop()
})

const issue = (id: string): Promise<Reply> => scene.owner.post(`/api/v1/certificates/cert-requests/${id}`)

const request = () => ({
  policyId: scene.policyId,
  endEntityId: scene.endEntityId,
  validFor: 'SIX_MONTHS',
  keyPairMode: 'SERVER_GEN',
  keyGenParamsDto: { cryptoAlgorithm: 'EC' },
})

describe('reading by id takes at most 3', () => {
  let ids: Readonly<Record<string, string>>
  beforeAll(async () => {
    const certRequest = await scene.newRequest()
    const { body } = await issue(certRequest)
    const { realmId, policyId, endEntityId } = scene
    ids = { realmId, policyId, endEntityId, certRequest, certificate: body.certificate.id }
  })

  test.each([
    ['realms', 'realmId'],
    ['policies', 'policyId'],
    ['end-entities', 'endEntityId'],
    ['cert-requests', 'certRequest'],
    ['certificates', 'certificate'],
  ])('of %s', async (noun, name) => {
    const { result, statements } = await ofApi.during(() => scene.owner.get(`/api/v1/${noun}/${ids[name] ?? ''}`))
    expect(result.status).toBe(200)
    expect(beyond(3, statements)).toEqual([])
  })

  test('also by the grant of a realm, which is not named in the call', async () => {
    const reader = await service.user({ REALM: { [scene.realmId]: ['FULL_READ'] } })
    const path = `/api/v1/certificates/${ids['certificate'] ?? ''}`
    const { result, statements } = await ofApi.during(() => reader.get(path))
    expect([result.status, beyond(3, statements)]).toEqual([200, []])
  })
})

test.each<[string, () => object]>([
  ['realms', () => ({ name: 'Another' })],
  ['end-entities', () => ({ realmId: scene.realmId, commonName: 'counted.example.org' })],
  ['cert-requests', request],
])('creating one of %s takes at most 5', async (noun, body) => {
  const { result, statements } = await ofApi.during(() => scene.owner.post(`/api/v1/${noun}`, body()))
  expect(result.status).toBe(201)
  expect(beyond(5, statements)).toEqual([])
})

test('issuing while the caller waits takes at most 6 in the API', async () => {
  const id = await scene.newRequest()
  const { result, statements } = await ofApi.during(() => issue(id))
  expect(result.status).toBe(201)
  expect(beyond(6, statements)).toEqual([])
})
