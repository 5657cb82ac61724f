// The numbers of a realm (contract 11.2), each counted from certificates that differ in what it asks for.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { system } from '../../domain/principal.ts'
import { recordMany } from '../../storage/audit.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { startApi, type Api } from '../support/api.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm, makeRequest } from '../support/records.ts'

const now = new Date('2031-03-15T12:00:00.000Z')
const dayMs = 86_400_000
const inDays = (days: number): Date => new Date(now.getTime() + days * dayMs)
const hold = { revocationReason: 'CERTIFICATE_HOLD', revocationDate: now } as const
const revoked = { revocationReason: 'SUPERSEDED', revocationDate: now } as const

let api: Api
let realm: Realm
let policies: Policy[]
let endEntity: EndEntity

const made = async (policy: Policy, { createdDate = now, ...members }: Partial<Certificate>): Promise<void> => {
  const { id } = await makeCertificate(api.em(), policy, { endEntity, validNotBefore: now, ...members })
  await api.em().nativeUpdate(Certificate, { id }, { createdDate })
}

beforeAll(async () => {
  api = await startApi({ deps: { clock: () => now } })
  const em = api.em()
  realm = await makeRealm(em)
  endEntity = await makeEndEntity(em, realm)
  policies = [await makePolicy(em, realm, { name: 'Servers' }), await makePolicy(em, realm, { name: 'Devices' })]
  const [servers, devices] = policies as [Policy, Policy]
  const other = { issuerDn: 'CN=Other CA,O=Example', issuerCommonName: 'Other CA' }
  await made(servers, { validNotAfter: inDays(7) })
  await made(servers, { validNotAfter: inDays(7.001), createdDate: new Date('2031-03-01T00:00:00.000Z') })
  await made(servers, { validNotAfter: inDays(30), createdDate: new Date('2031-02-28T23:59:59.999Z') })
  await made(servers, { validNotAfter: inDays(30.001), certPublicKeyAlgorithm: 'RSA' })
  await made(devices, { validNotAfter: inDays(90), certPublicKeyAlgorithm: 'EDDSA', ...other })
  await made(devices, { validNotAfter: inDays(90.001), createdDate: new Date('2030-04-01T00:00:00.000Z') })
  await made(devices, { validNotAfter: now, createdDate: new Date('2030-03-31T23:59:59.999Z') })
  await made(devices, { validNotAfter: inDays(-0.001) })
  await made(devices, { validNotAfter: inDays(3), ...hold })
  await made(devices, { validNotAfter: inDays(-3), ...revoked })
  await made(devices, { validNotAfter: inDays(-4), archived: true })
  await made(devices, { validNotAfter: inDays(-5), archived: true, ...revoked })
  // An import counts in the month that it names itself.
  await made(devices, { validNotAfter: inDays(400), imported: true, validNotBefore: new Date('2030-12-24T00:00:00Z') })
  for (const [certRequestStatus, archived] of [
    ['PENDING_APPROVAL', false],
    ['PENDING_APPROVAL', false],
    ['REQUIRES_EMAIL_VERIFICATION', false],
    ['PENDING_APPROVAL', true],
    ['DECLINED', false],
  ] as const) {
    const { id } = await makeRequest(api.em(), servers, endEntity)
    await api.em().nativeUpdate(CertRequest, { id }, { certRequestStatus, archived })
  }
  const elsewhere = await makeRealm(api.em())
  const policy = await makePolicy(api.em(), elsewhere)
  await makeCertificate(api.em(), policy, { endEntity: await makeEndEntity(api.em(), elsewhere) })
})
afterAll(() => api.stop())

const url = (id = realm.id) => `/api/v1/certificates/realms/${id}/statistics`
const overseer = (id = realm.id) => api.user({ REALM: { [id]: ['FULL_READ'] } })

test('asks for a token', async () => {
  expect((await api.anonymous.get(url())).status).toBe(401)
})

test('counts the certificates and open requests of the realm', async () => {
  const { status, body } = await (await overseer()).get(url())
  expect(status).toBe(200)
  expect(body).toEqual({
    realmId: realm.id,
    total: 11,
    active: 8,
    expired: 1,
    revoked: 2,
    onHold: 1,
    archived: 2,
    expiringSoon: 4,
    expiringIn7Days: 2,
    expiringIn30Days: 4,
    expiringIn90Days: 6,
    pendingApprovalRequests: 2,
    pendingEmailVerificationRequests: 1,
    byPublicKeyAlgorithm: [
      { key: 'EC', label: 'EC', count: 6 },
      { key: 'EDDSA', label: 'EDDSA', count: 1 },
      { key: 'RSA', label: 'RSA', count: 1 },
    ],
    byPolicy: expect.any(Array),
    byIssuer: [
      { key: 'CN=Test CA', label: null, count: 7 },
      { key: 'CN=Other CA,O=Example', label: 'Other CA', count: 1 },
    ],
    issuedPerMonth: [
      ['2030-04', 1],
      ['2030-05', 0],
      ['2030-06', 0],
      ['2030-07', 0],
      ['2030-08', 0],
      ['2030-09', 0],
      ['2030-10', 0],
      ['2030-11', 0],
      ['2030-12', 1],
      ['2031-01', 0],
      ['2031-02', 1],
      ['2031-03', 7],
    ].map(([month, count]) => ({ month, count })),
  })
  const counts = policies.map(({ id, name }) => ({ key: id, label: name, count: 4 }))
  expect(body.byPolicy).toHaveLength(2)
  expect(body.byPolicy).toEqual(expect.arrayContaining(counts))
})

test('expiring soon is what the setting says', async () => {
  const em = api.em()
  em.create(Setting, { settingsKey: 'certificate.expiring-soon-days', value: '90' })
  await em.flush()
  const { body } = await (await overseer()).get(url())
  await em.nativeDelete(Setting, {})
  expect([body.expiringSoon, body.expiringIn30Days]).toEqual([6, 4])
})

test('an empty realm has zeros and empty lists', async () => {
  const { id } = await makeRealm(api.em())
  const { body } = await (await overseer(id)).get(url(id))
  const { realmId, byPublicKeyAlgorithm, byPolicy, byIssuer, issuedPerMonth, ...counts } = body
  expect([realmId, byPublicKeyAlgorithm, byPolicy, byIssuer]).toEqual([id, [], [], []])
  expect(new Set(Object.values(counts))).toEqual(new Set([0]))
  expect(issuedPerMonth).toHaveLength(12)
  expect(issuedPerMonth.at(-1)).toEqual({ month: '2031-03', count: 0 })
})

test('the latest events of a realm are its newest 20, newest first', async () => {
  const { id } = await makeRealm(api.em())
  const realms = [id, realm.id]
  await recordMany(
    api.em(),
    Array.from({ length: 50 }, (_, at) => ({
      type: 'ENTITY_UPDATED' as const,
      objectId: randomUUID(),
      realmId: realms[at % 2] ?? null,
      what: `Change ${at}`,
    })),
    { now, author: system },
  )
  const { status, body } = await (await overseer(id)).get(latest(id))
  expect(status).toBe(200)
  expect(body.auditEventList.map((event: { eventDescription: string }) => event.eventDescription)).toEqual(
    Array.from({ length: 20 }, (_, at) => `Change ${48 - 2 * at} by the service`),
  )
  expect(body.auditEventList[0]).toEqual({
    objectId: expect.any(String),
    eventType: 'ENTITY_UPDATED',
    eventDescription: 'Change 48 by the service',
    occurredDate: now.toISOString(),
  })
})

test('reading the latest events is none', async () => {
  const { id } = await makeRealm(api.em())
  const caller = await overseer(id)
  expect((await caller.get(latest(id))).body).toEqual({ auditEventList: [] })
  await caller.get(url(id))
  expect((await caller.get(latest(id))).body).toEqual({ auditEventList: [] })
})

const latest = (id = realm.id) => `/api/v1/certificates/realms/${id}/latest-audit-events`

test.each<[string, (id: string) => object, number]>([
  ['FULL_READ of the realm', id => ({ REALM: { [id]: ['FULL_READ'] } }), 200],
  ['REALMS_FULL_READ', () => ({ GLOBAL: ['REALMS_FULL_READ'] }), 200],
  ['ADMIN', () => ({ GLOBAL: ['ADMIN'] }), 200],
  [
    'every other permission',
    id => ({ REALM: { [id]: ['READ', 'CERTS_READ', 'CERTREQS_READ', 'UPDATE', 'DELETE'] } }),
    403,
  ],
  ['FULL_READ of another realm', () => ({ REALM: { [randomUUID()]: ['FULL_READ'] } }), 403],
  ['nothing', () => ({}), 403],
])('with %s: %#', async (...[, grants, status]) => {
  const caller = await api.user(grants(realm.id))
  for (const path of [url(), latest()]) expect((await caller.get(path)).status).toBe(status)
})

test('an unknown realm is 404, another text 400', async () => {
  const caller = await api.user({ GLOBAL: ['ADMIN'] })
  for (const path of [url, latest]) {
    expect(refusalOf(await caller.get(path(randomUUID())))).toEqual([404, 'REALM_NOT_FOUND'])
    expect(refusalOf(await caller.get(path('none')))).toEqual([400, 'INVALID_IDENTIFIER'])
    expect((await api.anonymous.get(path())).status).toBe(401)
  }
})
