import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { issueNew } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let other: Scene
let ids: string[]

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  other = await makeScene(service)
  ids = [(await issueNew(scene)).id, (await issueNew(scene)).id]
  await issueNew(other)
})
afterAll(() => service.stop())

const url = (realmId: string) => `/api/v1/certificates/realms/${realmId}`
const idsIn = (body: { content: { id: string }[] }): string[] => body.content.map(({ id }) => id)

test('asks for a token', async () => {
  expect((await service.anonymous.get(url(scene.realmId))).status).toBe(401)
})

test('lists the certificates of the realm alone, newest first', async () => {
  const { status, body } = await scene.owner.get(url(scene.realmId))
  expect(status).toBe(200)
  expect(idsIn(body)).toEqual(ids.toReversed())
  expect(body.totalElements).toBe(2)
})

test('is paged and sorted', async () => {
  const { body } = await scene.owner.get(`${url(scene.realmId)}?size=1&page=1&sort=createdDate,desc`)
  expect(idsIn(body)).toEqual([ids[0]])
})

test('leaves out what the caller may not read, and what is archived', async () => {
  const reader = await service.user({ CERTIFICATE: { [ids[0] ?? '']: ['READ'] } })
  expect(idsIn((await reader.get(url(scene.realmId))).body)).toEqual([ids[0]])
  const third = await issueNew(scene)
  await service.em().nativeUpdate(Certificate, third.id, { archived: true })
  expect(idsIn((await scene.owner.get(url(scene.realmId))).body)).not.toContain(third.id)
})

test('an unknown realm is 404; a realm in which the caller holds nothing is 403', async () => {
  expect((await scene.owner.get(url(randomUUID()))).body.apiError).toBe('REALM_NOT_FOUND')
  const { status, body } = await other.owner.get(url(scene.realmId))
  expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
})
