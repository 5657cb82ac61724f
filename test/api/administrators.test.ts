// Nobody but ADMIN gets hold of a principal that holds ADMIN, changes or deletes it (contract 7.3, decision 32).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { User } from '../../storage/rows/user.ts'
import { giveGrants } from '../support/api.ts'
import { refusalOf } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'

type Person = Awaited<ReturnType<Service['user']>>

let service: Service
/** Holds every global permission but ADMIN. */
let clerk: Person
let boss: Person

beforeAll(async () => {
  service = await startService()
  clerk = await service.user({
    GLOBAL: ['USERS_READ', 'USERS_UPDATE', 'APICLIENTS_READ', 'APICLIENTS_UPDATE', 'APICLIENTS_DELETE'],
  })
  boss = await service.user({ GLOBAL: ['ADMIN'] })
}, 120_000)
afterAll(() => service.stop())

const users = '/api/v1/users'
const clients = '/api/v1/api-clients'
const certificates = '/api/v1/ra-certificates/users'
const refused = [403, 'ACCESS_DENIED']
const wish = {
  validFor: 'SIX_MONTHS',
  keyPairMode: 'SERVER_GEN',
  keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
}

test('its secret is not reset, and it is neither changed nor deleted', async () => {
  const machine = await service.apiClient({ GLOBAL: ['ADMIN'] })
  const path = `${clients}/${machine.id}`
  expect(refusalOf(await clerk.post(`${path}/reset-secret`))).toEqual(refused)
  expect(refusalOf(await clerk.patch(path, { enabled: false }))).toEqual(refused)
  expect(refusalOf(await clerk.patch(path, { name: `Other ${randomUUID()}` }))).toEqual(refused)
  expect(refusalOf(await clerk.delete(`${path}?version=1`))).toEqual(refused)
  const row = await service.em().findOneOrFail(ApiClient, machine.id)
  expect([row.enabled, row.version]).toEqual([true, 1])
})

test('the refusal tells what it takes, and only who holds all else learns that it is an administrator', async () => {
  const machine = await service.apiClient({ GLOBAL: ['ADMIN'] })
  const ordinary = await service.apiClient()
  const told = (await clerk.post(`${clients}/${machine.id}/reset-secret`)).body.errorMessage
  expect(told).toContain('takes the global permission ADMIN, or that the principal in question does not hold ADMIN.')
  const stranger = await service.user()
  const messageTo = async ({ id }: { id: string }) =>
    (await stranger.post(`${clients}/${id}/reset-secret`)).body.errorMessage
  expect(await messageTo(machine)).toBe(await messageTo(ordinary))
})

test('a user with ADMIN is changed and mailed by ADMIN alone', async () => {
  const path = `${users}/${boss.id}`
  expect(refusalOf(await clerk.put(`${path}/set-details`, { commonName: 'Mallory' }))).toEqual(refused)
  expect(refusalOf(await clerk.post(`${path}/update-password-login?enablePasswordLogin=false`))).toEqual(refused)
  const { id: other } = await service.user()
  const mails = await clerk.post(`${users}/email-update-password-batch`, { userIds: [other, boss.id] })
  expect(refusalOf(mails)).toEqual(refused)
  const row = await service.em().findOneOrFail(User, boss.id)
  expect([row.certificateDetails ?? null, row.passwordLoginEnabled]).toEqual([null, true])
})

test('nobody else makes, takes or revokes the RA certificate of an administrator', async () => {
  expect(refusalOf(await clerk.post(`${certificates}/${boss.id}`, wish))).toEqual(refused)
  expect((await boss.post(`${certificates}/${boss.id}`, wish)).status).toBe(200)
  expect(refusalOf(await clerk.get(`${certificates}/${boss.id}/pkcs12`))).toEqual(refused)
  expect(refusalOf(await clerk.post(`${certificates}/${boss.id}/revoke`))).toEqual(refused)
  expect((await boss.get(`${certificates}/${boss.id}/pkcs12`)).status).toBe(200)
})

test('in a batch of RA certificates an administrator is an error of its own', async () => {
  const { id: other } = await service.user()
  const { keyPairMode: _, ...asked } = wish
  const reply = await clerk.post(`${certificates}/batch`, { ...asked, userIds: [boss.id, other] })
  expect(reply.status).toBe(200)
  expect(reply.body.errors).toEqual([{ failedUserId: boss.id, apiError: 'ACCESS_DENIED' }])
  const alone = await clerk.post(`${certificates}/batch`, { ...asked, userIds: [boss.id] })
  expect(refusalOf(alone)).toEqual([422, 'ACCESS_DENIED'])
})

test('who made the RA certificate of one who became an administrator since no longer gets its key', async () => {
  const rising = await service.user()
  expect((await clerk.post(`${certificates}/${rising.id}`, wish)).status).toBe(200)
  expect((await clerk.get(`${certificates}/${rising.id}/pkcs12`)).status).toBe(200)
  await giveGrants(service.em(), rising.id, { GLOBAL: ['ADMIN'] })
  expect(refusalOf(await clerk.get(`${certificates}/${rising.id}/pkcs12`))).toEqual(refused)
  expect((await rising.get(`${certificates}/${rising.id}/pkcs12`)).status).toBe(200)
  await service.em().nativeDelete(PermissionGrant, { principalId: rising.id, scope: 'GLOBAL' })
  expect((await clerk.get(`${certificates}/${rising.id}/pkcs12`)).status).toBe(200)
})

test('an explanation tells it as well', async () => {
  const machine = await service.apiClient({ GLOBAL: ['ADMIN'] })
  const explain = async (id: string) =>
    (await boss.get(`/api/v1/permissions/explain?principalId=${clerk.id}&operationId=resetApiClientSecret&id=${id}`))
      .body
  const explained = await explain(machine.id)
  expect([explained.allowed, explained.wouldServe[0].map(({ scope }: { scope: string }) => scope)]).toEqual([
    false,
    ['GLOBAL', 'ORDINARY'],
  ])
  expect(explained.reason).toContain('does not hold ADMIN')
  expect((await explain((await service.apiClient()).id)).allowed).toBe(true)
})
