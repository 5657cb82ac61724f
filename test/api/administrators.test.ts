// Nobody but ADMIN gets hold of a principal that holds ADMIN, changes or deletes it (contract 7.3, decision 32).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { placeRevocation } from '../../storage/revocations.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { RevocationItem } from '../../storage/rows/revocation.ts'
import { User } from '../../storage/rows/user.ts'
import { revokeWorkflowId } from '../../workflows/ids.ts'
import { revokeRun, startOptions } from '../../workflows/starts.ts'
import { giveGrants } from '../support/api.ts'
import { refusalOf, until } from '../support/issuing.ts'
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

/** One whose RA certificate the clerk makes, and everybody whom the ordinary routes would let have it. */
const makeRising = async () => {
  const rising = await service.user()
  const made = await clerk.post(`${certificates}/${rising.id}`, wish)
  const { id, policyId } = made.body.raCertificate
  const holder = await service.user({
    CERTIFICATE: { [id]: ['READ', 'REVOKE', 'DOWNLOAD_PRIVATE_KEY'] },
    POLICY: { [policyId]: ['CERTS_REVOKE'] },
  })
  return { rising, id, holder }
}
const raise = ({ id }: Person) => giveGrants(service.em(), id, { GLOBAL: ['ADMIN'] })
const ordinary = '/api/v1/certificates'

test('the ordinary routes to a key tell of the RA certificate of an administrator what its own do', async () => {
  const { rising, id, holder } = await makeRising()
  const keys = ['download-private-key', 'pkcs12'].map(name => `${ordinary}/${id}/${name}`)
  for (const url of keys) for (const by of [clerk, holder]) expect((await by.get(url)).status).toBe(200)
  await raise(rising)
  for (const url of keys) {
    for (const by of [clerk, holder]) expect(refusalOf(await by.get(url))).toEqual(refused)
    expect((await rising.get(url)).status).toBe(200)
  }
  expect((await clerk.get(`${ordinary}/${id}/download`)).status).toBe(200)
})

test('neither do those that revoke, one by one, in a batch, or as recorded elsewhere', async () => {
  const { rising, id, holder } = await makeRising()
  const [{ id: other }, another] = [await makeRising(), await makeRising()]
  const marked = { revocationReason: 'KEY_COMPROMISE', revocationDate: new Date().toISOString() }
  const expectRefused = async (by: Person) => {
    expect(refusalOf(await by.post(`${ordinary}/revoke?id=${id}`))).toEqual(refused)
    const reply = await by.patch(`${ordinary}/mark-as-revoked`, { ...marked, certificateIds: [id] })
    expect(refusalOf(reply)).toEqual(refused)
  }
  expect((await another.holder.post(`${ordinary}/revoke?id=${another.id}`)).body.certStatus).toBe('REVOKED')
  await raise(rising)
  await expectRefused(holder)
  await expectRefused(clerk)
  const batch = { certificateIds: [id, other], revocationReason: 'SUPERSEDED' }
  const { body } = await clerk.post(`${ordinary}/batch-revoke`, batch)
  expect(body.revokedCertificates).toMatchObject([{ id: other, certStatus: 'REVOKED' }])
  expect(body.errors).toMatchObject([{ id, index: 0, apiError: 'ACCESS_DENIED' }])
  expect((await service.em().findOneOrFail(Certificate, id)).revocationDate).toBeNull()
  expect((await rising.post(`${ordinary}/revoke?id=${id}`)).body.certStatus).toBe('REVOKED')
})

test('nor does a revocation that was asked for before', async () => {
  const { rising, id, holder } = await makeRising()
  await raise(rising)
  for (const { id: by } of [clerk, holder]) {
    const asked = { id: revokeWorkflowId(randomUUID()), reason: 'SUPERSEDED', by: { id: by, type: 'USER' } } as const
    await placeRevocation(service.em(), { ...asked, certificateIds: [id], now: new Date() })
    const run = revokeRun({ id: asked.id, count: 1, requests: [] })
    await service.client.workflow.start(run.workflow, startOptions(run, service.taskQueue))
    const item = await until('it is refused', () =>
      service.em().findOne(RevocationItem, { revocationId: asked.id, status: 'FAILED' }),
    )
    expect(item.failureCode).toBe('ACCESS_DENIED')
  }
  expect((await service.em().findOneOrFail(Certificate, id)).revocationDate).toBeNull()
})

test('an explanation tells it as well', async () => {
  const machine = await service.apiClient({ GLOBAL: ['ADMIN'] })
  const explain = async (id: string, operationId = 'resetApiClientSecret') =>
    (await boss.get(`/api/v1/permissions/explain?principalId=${clerk.id}&operationId=${operationId}&id=${id}`)).body
  const explained = await explain(machine.id)
  expect([explained.allowed, explained.wouldServe[0].map(({ scope }: { scope: string }) => scope)]).toEqual([
    false,
    ['GLOBAL', 'ORDINARY'],
  ])
  expect(explained.reason).toContain('does not hold ADMIN')
  expect((await explain((await service.apiClient()).id)).allowed).toBe(true)
  const { rising, id } = await makeRising()
  await raise(rising)
  const body = await explain(id, 'revokeCertificate')
  expect([body.allowed, body.reason]).toEqual([false, expect.stringContaining('does not hold ADMIN')])
})
