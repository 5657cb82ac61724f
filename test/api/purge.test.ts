// Deleting archived resources (contract 4.5): what goes along, what refuses, what stays, and which are taken by a date.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Purge, PurgeItem } from '../../storage/rows/purge.ts'
import { factsOf, issueNew, refusalOf } from '../support/issuing.ts'
import { deletionsOf, goingWith, newTree, startPurging, purger } from '../support/purging.ts'
import { makeProvider } from '../support/records.ts'
import { makeScene, type Service } from '../support/service.ts'

let service: Service
let admin: Awaited<ReturnType<Service['user']>>
let calls: ReturnType<typeof purger>
beforeAll(async () => {
  ;({ service, admin, calls } = await startPurging())
})
afterAll(() => service.stop())

const newList = async (): Promise<string> =>
  (await admin.post('/api/v1/mailing-lists', { name: `List ${randomUUID()}`, emails: [] })).body.id

/** A mailing list that was archived then. */
const listArchivedAt = async (date: string): Promise<string> => {
  const id = await newList()
  await calls.archived('MAILING_LIST', id)
  await service.em().execute('update mailing_list set archived_date = ?::timestamptz where id = ?', [date, id])
  return id
}

describe('what is deleted', () => {
  test.each(goingWith)('with %s, each recorded once', async (kind, expected) => {
    const { ids, certificate } = await newTree(service)
    await calls.archived(kind, ids[kind])
    await calls.removed(kind, ids[kind])
    for (const [one, id] of Object.entries(ids)) {
      const isGone = expected.includes(one)
      expect([one, await calls.statusOf(one, id)]).toEqual([one, isGone ? 404 : 200])
      expect([one, ...(await deletionsOf(service.em(), [id]))]).toEqual([one, isGone ? 1 : 0])
    }
    const request = expected.includes('CERTIFICATE') ? 1 : 0
    expect(await deletionsOf(service.em(), [certificate.certRequestId])).toEqual([request])
    expect(await service.em().count(CertRequest, { id: certificate.certRequestId })).toBe(1 - request)
    expect(await service.em().count(PurgeItem, {})).toBe(0)
    expect((await factsOf(service, ids[kind])).slice(1)).toEqual(
      expect.arrayContaining(['ENTITY_ARCHIVED', 'ENTITY_DELETED']),
    )
  })

  test('a certificate and its request go together, whichever is named', async () => {
    const { certificate } = await newTree(service)
    await calls.archived('CERT_REQUEST', certificate.certRequestId)
    await calls.removed('CERT_REQUEST', certificate.certRequestId)
    expect(await service.em().count(Certificate, { id: certificate.id })).toBe(0)
    expect(await deletionsOf(service.em(), [certificate.id, certificate.certRequestId])).toEqual([1, 1])
  })

  test('many of a kind, by one call', async () => {
    const scene = await makeScene(service)
    const requests = await Promise.all(Array.from({ length: 7 }, () => scene.newRequest()))
    await calls.archived('CERT_REQUEST', ...requests)
    await calls.removed('CERT_REQUEST', ...requests, requests[0] ?? '')
    expect(await deletionsOf(service.em(), requests)).toEqual(requests.map(() => 1))
    const purges = await service.em().find(Purge, {}, { orderBy: { startedDate: 'desc' }, limit: 1 })
    expect(purges[0]).toMatchObject({ total: 7, deleted: 7, along: 0, skipped: 0, closedDate: expect.any(Date) })
  })

  test('a policy whose name is used again, and an end entity whose policy stays', async () => {
    const { ids, scene } = await newTree(service)
    await calls.archived('END_ENTITY', ids.END_ENTITY)
    await calls.removed('END_ENTITY', ids.END_ENTITY)
    expect((await issueNew(scene)).id).toBeTruthy()
  })

  test('a mailing list, whose realm loses its link', async () => {
    const [scene, list] = [await makeScene(service), await newList()]
    await admin.patch(`/api/v1/realms/${scene.realmId}`, { mailingListId: list })
    const { version } = (await admin.get(`/api/v1/realms/${scene.realmId}`)).body.metadata
    await calls.archived('MAILING_LIST', list)
    await calls.removed('MAILING_LIST', list)
    const { body } = await admin.get(`/api/v1/realms/${scene.realmId}`)
    expect([body.mailingListId, body.metadata.version]).toEqual([null, version + 1])
    expect((await factsOf(service, scene.realmId)).at(-1)).toBe('ENTITY_UPDATED')
  })
})

describe('what refuses it', () => {
  test('what is not archived, or not there, and then nothing is deleted', async () => {
    const [one, other] = [await newList(), await newList()]
    await calls.archived('MAILING_LIST', one)
    const refused = await calls.remove('MAILING_LIST', one, other)
    expect(refusalOf(refused)).toEqual([409, 'ENTITY_NOT_ARCHIVED'])
    expect(refused.body.errorMessage).toContain(other)
    expect(refusalOf(await calls.remove('MAILING_LIST', one, randomUUID()))).toEqual([404, 'MAILING_LIST_NOT_FOUND'])
    expect(await calls.statusOf('MAILING_LIST', one)).toBe(200)
    for (const kind of ['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE', 'CERTIFICATE_PROVIDER', 'CA'])
      expect(refusalOf(await calls.remove(kind, one))).toEqual([404, `${kind}_NOT_FOUND`])
    expect(await service.em().count(Purge, { closedDate: null })).toBe(0)
  })

  test('a missing right, before it is told what exists', async () => {
    const id = await listArchivedAt('2020-01-01T00:00:00Z')
    const stranger = purger(await service.user({ GLOBAL: ['REALMS_FULL_READ'] }))
    expect(refusalOf(await stranger.remove('MAILING_LIST', randomUUID()))).toEqual([403, 'ACCESS_DENIED'])
    expect(refusalOf(await stranger.removeUntil('MAILING_LIST', '2020-02-01'))).toEqual([403, 'ACCESS_DENIED'])
    expect((await purger(service.anonymous).removeUntil('MAILING_LIST', '2020-02-01')).status).toBe(401)
    expect((await purger(service.anonymous).remove('MAILING_LIST', id)).status).toBe(401)
    expect(await calls.statusOf('MAILING_LIST', id)).toBe(200)
  })

  test('no kind, no date, no list', async () => {
    const bad = [400, 'INVALID_REQUEST']
    expect(refusalOf(await calls.remove('USER', randomUUID()))).toEqual(bad)
    expect(refusalOf(await calls.remove('CA'))).toEqual(bad)
    for (const until of ['', 'yesterday', '2026-13-01', '2026-02-30', '2026-01-01T00:00:00'])
      expect([until, ...refusalOf(await calls.removeUntil('CA', until))]).toEqual([until, ...bad])
    expect(refusalOf(await admin.delete('/api/v1/admin/archived?until=2026-01-01'))).toEqual(bad)
  })

  test('a provider that a policy has, archived or not, and one with a certificate that is not expired', async () => {
    const provider = await makeProvider(service.em())
    const scene = await makeScene(service, { certificateProviderId: provider.id })
    await calls.archived('POLICY', scene.policyId)
    await calls.archived('CERTIFICATE_PROVIDER', provider.id)
    expect(refusalOf(await calls.remove('CERTIFICATE_PROVIDER', provider.id))).toEqual([409, 'ENTITY_IN_USE'])
    await calls.removed('POLICY', scene.policyId)
    await calls.removed('CERTIFICATE_PROVIDER', provider.id)
    expect(await calls.statusOf('CERTIFICATE_PROVIDER', provider.id)).toBe(404)
  })
})

describe('by a date', () => {
  test('a day stands for its end; another date is taken as it is, with its offset', async () => {
    const last = await listArchivedAt('2021-03-05T23:59:59.999Z')
    const next = await listArchivedAt('2021-03-06T00:00:00Z')
    const noon = await listArchivedAt('2021-03-07T12:00:00Z')
    const statuses = () => Promise.all([last, next, noon].map(id => calls.statusOf('MAILING_LIST', id)))
    const until = async (date: string) => {
      expect(refusalOf(await calls.removeUntil('MAILING_LIST', date))).toEqual([204, undefined])
      return statuses()
    }
    expect(await until('2021-03-04')).toEqual([200, 200, 200])
    expect(await until('2021-03-05')).toEqual([404, 200, 200])
    expect(await until('2021-03-07T12:59:59+01:00')).toEqual([404, 404, 200])
    expect(await until('2021-03-07T13:00:00+01:00')).toEqual([404, 404, 404])
  })

  test('what is not archived stays, and so does what is refused, which is counted', async () => {
    const [used, free] = [await makeProvider(service.em()), await makeProvider(service.em())]
    const scene = await makeScene(service, { certificateProviderId: used.id })
    await calls.archived('POLICY', scene.policyId)
    await calls.archived('CERTIFICATE_PROVIDER', used.id, free.id)
    const living = await makeProvider(service.em())
    expect((await calls.removeUntil('CERTIFICATE_PROVIDER', new Date().toISOString())).status).toBe(204)
    const statuses = [used, free, living].map(({ id }) => calls.statusOf('CERTIFICATE_PROVIDER', id))
    expect(await Promise.all(statuses)).toEqual([200, 404, 200])
    const [latest] = await service.em().find(Purge, {}, { orderBy: { startedDate: 'desc' }, limit: 1 })
    expect(latest).toMatchObject({ kind: 'CERTIFICATE_PROVIDER', total: 2, deleted: 1, skipped: 1 })
    // What was skipped may come back.
    expect((await calls.archive('CERTIFICATE_PROVIDER', [used.id], false)).status).toBe(204)
  })

  test('more than one transaction takes', async () => {
    const name = randomUUID()
    await service.em().execute(
      `insert into mailing_list (id, name, archived, archived_date, created_by_type, created_date, last_modified_by_type, last_modified_date)
       select md5(? || i)::uuid, ? || i, true, '2019-01-01', 'SYSTEM', now(), 'SYSTEM', now() from generate_series(1, 1201) i`,
      [name, name],
    )
    expect((await calls.removeUntil('MAILING_LIST', '2019-12-31')).status).toBe(204)
    const [left] = await service
      .em()
      .execute(`select count(*)::int as n from mailing_list where name like ?`, [`${name}%`])
    expect(left).toEqual({ n: 0 })
    const [told] = await service.em().execute(
      `select count(*)::int as n, count(distinct object_id)::int as ids from audit_event
        where event_type = 'ENTITY_DELETED' and event_description like ?`,
      [`Mailing list ${name}% deleted by ${admin.subject}@example.com`],
    )
    expect(told).toEqual({ n: 1201, ids: 1201 })
  })
})
