import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { issueNew, refusalOf, setSetting } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const dayMs = 86_400_000
let service: Service
let scene: Scene
let other: Scene
let ids: Record<'today' | 'week' | 'month' | 'later' | 'past' | 'revoked' | 'archived', string>

/** A certificate that ends so many days from now. */
const ending = async (days: number, members: object = {}): Promise<string> => {
  const { id } = await issueNew(scene)
  const validNotAfter = new Date(Date.now() + days * dayMs)
  await service.em().nativeUpdate(Certificate, { id }, { validNotAfter, ...members })
  return id
}

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  other = await makeScene(service)
  ids = {
    month: await ending(29.9),
    today: await ending(0.5),
    later: await ending(30.1),
    week: await ending(7),
    past: await ending(-0.1),
    revoked: await ending(5, { revocationReason: 'SUPERSEDED', revocationDate: new Date() }),
    archived: await ending(6, { archived: true }),
  }
})
afterAll(() => service.stop())

const url = (size: unknown = 10, realmId = scene.realmId) =>
  `/api/v1/certificates/realms/${realmId}/expiring?size=${String(size)}`
const idsIn = (body: { content: { id: string }[] }): string[] => body.content.map(({ id }) => id)

test('asks for a token', async () => {
  expect((await service.anonymous.get(url())).status).toBe(401)
})

test('lists the active certificates of the next 30 days, soonest first', async () => {
  const { status, body } = await scene.owner.get(url())
  expect([status, idsIn(body)]).toEqual([200, [ids.today, ids.week, ids.month]])
  expect(body).toMatchObject({ totalElements: 3, totalPages: 1, number: 0, size: 10, numberOfElements: 3 })
  expect(body.content[0]).toMatchObject({ realmId: scene.realmId, certStatus: 'ACTIVE' })
})

test('answers the first `size` of them', async () => {
  const { body } = await scene.owner.get(url(2))
  expect([idsIn(body), body.totalElements, body.last]).toEqual([[ids.today, ids.week], 3, false])
  expect(idsIn((await scene.owner.get(url(1000))).body)).toHaveLength(3)
})

test.each<[string, string[]]>([
  ['1', ['today']],
  ['8', ['today', 'week']],
  ['31', ['today', 'week', 'month', 'later']],
])('a setting of %s days bounds the list', async (days, expected) => {
  await setSetting(service, 'certificate.expiring-soon-days', days)
  const { body } = await scene.owner.get(url())
  await setSetting(service, 'certificate.expiring-soon-days', null)
  expect(idsIn(body)).toEqual(expected.map(name => ids[name as keyof typeof ids]))
})

test.each(['', '0', '1001', 'x', '1.5', '-1'])('refuses the size "%s"', async size => {
  expect(refusalOf(await scene.owner.get(url(size)))).toEqual([400, 'INVALID_REQUEST'])
})

test('needs a size', async () => {
  const reply = await scene.owner.get(`/api/v1/certificates/realms/${scene.realmId}/expiring`)
  expect(refusalOf(reply)).toEqual([400, 'INVALID_REQUEST'])
})

test('leaves out what the caller may not read', async () => {
  const reader = await service.user({ CERTIFICATE: { [ids.week]: ['READ'] } })
  const { body } = await reader.get(url())
  expect([idsIn(body), body.totalElements]).toEqual([[ids.week], 1])
  const enters = await service.user({ REALM: { [scene.realmId]: ['READ'] } })
  expect((await enters.get(url())).body.totalElements).toBe(0)
})

test('an unknown realm is 404; a realm in which the caller holds nothing is 403', async () => {
  expect(refusalOf(await scene.owner.get(url(10, randomUUID())))).toEqual([404, 'REALM_NOT_FOUND'])
  expect(refusalOf(await other.owner.get(url()))).toEqual([403, 'ACCESS_DENIED'])
})
