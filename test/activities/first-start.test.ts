// The resources of the first start are made once (contract 4.6), and providers are prepared and checked.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createActivities } from '../../activities/index.ts'
import { firstStart } from '../../activities/first-start.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { loadGrants } from '../../storage/grant.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { Seal } from '../../storage/seal.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { User } from '../../storage/rows/user.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { providersWithoutCa } from '../../storage/missing-runs.ts'
import { providerWorkflowId } from '../../workflows/ids.ts'
import { makeProvider } from '../support/records.ts'
import { makeScene, newRequest, openFixture, reread, run, type Fixture } from './fixture.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await openFixture()
})
afterAll(() => fixture.orm.close())

const counts = async (em = fixture.em()) => ({
  realms: await em.count(Realm),
  providers: await em.count(CertificateProvider),
  cas: await em.count(Ca),
  keys: await em.count(PrivateKey),
  policies: await em.count(Policy),
  settings: await em.count(Setting),
})

test('the first start makes realm, provider, root and issuing CA, two policies and three settings', async () => {
  // Each CA has a key, and its OCSP signer another.
  expect(await counts()).toEqual({ realms: 1, providers: 1, cas: 2, keys: 4, policies: 2, settings: 3 })
  const em = fixture.em()
  const realm = await em.findOneOrFail(Realm, { systemRealm: true })
  expect(await fixture.services.settings.text('system.realm-id')).toBe(realm.id)
  for (const policy of await em.find(Policy, {}))
    expect(policy).toMatchObject({ realmId: realm.id, systemPolicy: true, archived: false })
})

test('a second start makes nothing', async () => {
  const before = await counts()
  expect(await firstStart(fixture.services, [])).toBe(false)
  expect(await counts()).toEqual(before)
})

test('workers that start at the same time make everything once, and each administrator one grant', async () => {
  const em = fixture.em()
  await em.execute('truncate realm, certificate_provider, ca, private_key, setting, permission_grant, app_user cascade')
  const admins = [{ kind: 'USER', subject: randomUUID(), email: 'ada@example.org', name: 'ada' }] as const
  const made = await Promise.all([1, 2, 3].map(() => firstStart(fixture.services, admins)))
  expect(made.filter(Boolean)).toHaveLength(1)
  expect(await counts()).toMatchObject({ realms: 1, cas: 2, keys: 4, policies: 2 })
  const ada = await fixture.em().findOneOrFail(User, { providerId: admins[0].subject })
  expect([...(await loadGrants(fixture.em(), ada.id)).global]).toEqual(['ADMIN'])
})

test('a first start that fails halfway leaves nothing, and the next one makes all', async () => {
  const em = fixture.em()
  const tables = 'realm, certificate_provider, ca, private_key, setting, permission_grant, app_user'
  await em.execute(`truncate ${tables} cascade`)
  await em.execute(`
    create function out_of_order() returns trigger language plpgsql as $$ begin raise 'out of order'; end $$;
    create trigger out_of_order before insert on policy for each row execute function out_of_order();`)
  await expect(firstStart(fixture.services, [])).rejects.toThrow('out of order')
  expect(await counts()).toEqual({ realms: 0, providers: 0, cas: 0, keys: 0, policies: 0, settings: 0 })
  await em.execute('drop function out_of_order cascade')
  expect(await firstStart(fixture.services, [])).toBe(true)
  expect(await counts()).toMatchObject({ realms: 1, cas: 2, policies: 2 })
})

test('a provider that is prepared twice, also at the same time, has its CAs once', async () => {
  const em = fixture.em()
  const { id } = await makeProvider(em)
  const prepare = () => run(fixture.activities.prepareProvider, { providerId: id })
  await Promise.all([prepare(), prepare(), prepare()])
  await prepare()
  expect(await fixture.em().count(Ca, { certificateProviderId: id })).toBe(2)
})

test('a provider whose CA can never be made ends at once, says why, and is left alone for a day', async () => {
  const em = fixture.em()
  const provider = await makeProvider(em)
  Object.assign(provider.settings, { issuingSubjectDn: 'CN=Small C,C=de' })
  em.getUnitOfWork().persist(provider)
  provider.settings = { ...provider.settings }
  await em.flush()
  const { id } = provider
  const error = await run(fixture.activities.prepareProvider, { providerId: id }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ type: 'INVALID_PROVIDER_CONFIGURATION', nonRetryable: true })
  expect(await fixture.em().count(Ca, { certificateProviderId: id })).toBe(0)
  const row = await fixture.em().findOneOrFail(CertificateProvider, id)
  expect(row).toMatchObject({ connectionStatus: 'FAILED', preparationFailedDate: expect.any(Date) })
  expect(await fixture.em().count(AuditEvent, { objectId: id, eventType: 'CONNECTION_FAILED' })).toBe(1)
  const missing = async (hours: number) =>
    (await providersWithoutCa(fixture.em(), new Date(Date.now() + hours * 3_600_000))).map(one => one.id)
  expect(await missing(23)).not.toContain(id)
  expect(await missing(25)).toContain(id)
})

test('a provider that waits for its CA is still made ready after somebody has tried its connection', async () => {
  const { id } = await makeProvider(fixture.em())
  await run(fixture.activities.checkProvider, { providerId: id }, providerWorkflowId('check', id))
  const missing = await providersWithoutCa(fixture.em(), new Date(Date.now() + 60_000))
  expect(missing.map(one => one.id)).toContain(id)
})

test('a provider that is gone is not prepared again and again', async () => {
  const error = await run(fixture.activities.prepareProvider, { providerId: randomUUID() }).catch((e: unknown) => e)
  expect(error).toMatchObject({ nonRetryable: true })
})

test('a good provider passes its check, and the result is kept', async () => {
  const { id } = await fixture.em().findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  const check = await run(fixture.activities.checkProvider, { providerId: id }, providerWorkflowId('check', id))
  expect(check).toMatchObject({ result: true, errorMessage: null })
  expect(await fixture.em().findOneOrFail(CertificateProvider, id)).toMatchObject({ connectionStatus: 'OK' })
})

test('a provider whose CA is not made yet fails its check with a reason', async () => {
  const { id } = await makeProvider(fixture.em())
  const check = await run(fixture.activities.checkProvider, { providerId: id }, providerWorkflowId('check', id))
  expect(check).toMatchObject({ result: false, errorMessage: 'The CA of the provider is not made yet.' })
  expect(await fixture.em().findOneOrFail(CertificateProvider, id)).toMatchObject({ connectionStatus: 'FAILED' })
})

const withKeys = (keys: ReadonlyMap<string, Buffer>) => createActivities({ ...fixture.services, seal: new Seal(keys) })

test.each([
  ['of another name', 'other', /The master key test is not configured/],
  ['of the same name', 'test', /The master key test does not open/],
])('a wrong master key %s stops issuing with a clear error, and nothing is lost', async (_, keyId, message) => {
  const activities = withKeys(new Map([[keyId, randomBytes(32)]]))
  const request = await newRequest(fixture.em(), await makeScene(fixture.orm))
  const input = { runId: request.runId ?? '', certRequestIds: [request.id] }
  await expect(run(activities.issueChunk, input)).rejects.toThrow(message)
  expect(await fixture.em().count(Certificate, { certRequestId: request.id })).toBe(0)
  expect(await reread(fixture.em(), request)).toMatchObject({ certRequestStatus: 'APPROVED', runId: request.runId })
  const [outcome] = await run(fixture.activities.issueChunk, input)
  expect(outcome?.certificateId).toEqual(expect.any(String))
})

test('a wrong master key fails the check of the provider without telling why to everybody', async () => {
  const activities = withKeys(new Map([['other', randomBytes(32)]]))
  const { id } = await fixture.em().findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  const check = await run(activities.checkProvider, { providerId: id }, providerWorkflowId('check', id))
  expect(check.result).toBe(false)
  expect(check.errorMessage).not.toMatch(/other|test|key/)
})
