// Mailing lists through HTTP, and the realms that link to them (contract 6.2, 6.6, 8).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { MailingList } from '../../storage/rows/mailing-list.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { startApi, type Api } from '../support/api.ts'
import { makeRealm } from '../support/records.ts'

let api: Api
let admin: Awaited<ReturnType<Api['user']>>
beforeAll(async () => {
  api = await startApi()
  admin = await api.user({ GLOBAL: ['ADMIN'] })
})
afterAll(() => api.stop())

const path = '/api/v1/mailing-lists'
const made = async (members: object = {}) => {
  const { status, body } = await admin.post(path, { name: `List ${randomUUID()}`, emails: [], ...members })
  expect(status).toBe(201)
  return body as { id: string; name: string; metadata: { version: number } }
}
const archive = (id: string) => api.em().nativeUpdate(MailingList, { id }, { archived: true })
const answerOf = async (reply: Promise<{ status: number; body: { apiError?: string } }>) => {
  const { status, body } = await reply
  return [status, body.apiError]
}

describe('createNewMailingList', () => {
  test('keeps addresses in their canonical form, each once', async () => {
    const name = `List ${randomUUID()}`
    const emails = ['Ops@Example.ORG', 'ops@example.org', ' night@example.org ']
    const { status, body } = await admin.post(path, { name, emails })
    expect(status).toBe(201)
    expect(body).toMatchObject({ name, emails: ['Ops@example.org', 'night@example.org'], realmIds: [] })
    expect(body).toMatchObject({ archiveInfo: { archived: false }, metadata: { version: 1, createdBy: admin.id } })
    expect((await admin.get(`${path}/${body.id}`)).body).toEqual(body)
    const events = await api.em().find(AuditEvent, { objectId: body.id as string })
    expect(events.map(({ eventType }) => eventType)).toEqual(['ENTITY_CREATED'])
  })

  test('takes a thousand addresses and none', async () => {
    const emails = Array.from({ length: 1000 }, (_, index) => `a${index}@example.org`)
    expect((await made({ emails })) as object).toMatchObject({ emails })
    expect((await made()) as object).toMatchObject({ emails: [] })
  })

  test('names the addresses that are none', async () => {
    const emails = ['ops@example.org', 'ops', 'a b@example.org']
    const { status, body } = await admin.post(path, { name: 'Wrong', emails })
    expect([status, body.apiError]).toEqual([400, 'VALIDATION_FAILED'])
    expect(body.fieldErrors.map(({ field }: { field: string }) => field)).toEqual(['emails.1', 'emails.2'])
    expect(body.errorMessage).toBe('emails.1 must be an e-mail address, not "ops".')
  })

  test.each<[string, () => Promise<object>, number, string]>([
    ['a taken name', async () => ({ name: (await made()).name.toUpperCase(), emails: [] }), 409, 'ALREADY_EXISTS'],
    ['no name', async () => ({ emails: [] }), 400, 'INVALID_REQUEST'],
    ['no list', async () => ({ name: 'A' }), 400, 'INVALID_REQUEST'],
    [
      'too many',
      async () => ({ name: 'A', emails: Array.from({ length: 1001 }, (_, index) => `a${index}@a.org`) }),
      400,
      'REQUEST_TOO_LARGE',
    ],
  ])('refuses %s', async (...[, given, status, apiError]) => {
    expect(await answerOf(admin.post(path, await given()))).toEqual([status, apiError])
  })

  test('the name of an archived list is free', async () => {
    const { id, name } = await made()
    await archive(id)
    expect((await admin.post(path, { name, emails: [] })).status).toBe(201)
  })
})

test('all four operations need ADMIN, and a token', async () => {
  const { id } = await made()
  const calls: [string, object][] = [
    ['', { name: 'A', emails: [] }],
    ['/search', {}],
    [`/${id}`, { name: 'B' }],
  ]
  const reader = await api.user({ GLOBAL: ['REALMS_FULL_READ', 'REALMS_CREATE'] })
  for (const [place, body] of calls) {
    expect((await reader.post(path + place, body)).status).toBe(403)
    expect((await api.anonymous.post(path + place, body)).status).toBe(401)
  }
  expect((await reader.get(`${path}/${id}`)).status).toBe(403)
  expect((await reader.get(`${path}/${randomUUID()}`)).status).toBe(403)
  expect((await api.anonymous.get(`${path}/${id}`)).status).toBe(401)
})

describe('updateMailingList', () => {
  test('replaces what is stated, and counts only what changes', async () => {
    const { id, name } = await made({ emails: ['a@example.org'] })
    const { body } = await admin.post(`${path}/${id}`, { emails: ['b@example.org'], version: 1 })
    expect(body).toMatchObject({ name, emails: ['b@example.org'], metadata: { version: 2 } })
    expect((await admin.post(`${path}/${id}`, { emails: ['b@EXAMPLE.org'] })).body.metadata.version).toBe(2)
    expect((await admin.post(`${path}/${id}`, {})).body).toMatchObject({ emails: ['b@example.org'] })
    expect(await api.em().count(AuditEvent, { objectId: id })).toBe(2)
  })

  test('of two at the same time none is lost', async () => {
    const { id } = await made()
    const names = Array.from({ length: 3 }, () => `List ${randomUUID()}`)
    const replies = await Promise.all(names.map(name => admin.post(`${path}/${id}`, { name })))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await admin.get(`${path}/${id}`)).body.metadata.version).toBe(4)
  })

  test.each<[string, object, number, string]>([
    ['another version', { name: 'A', version: 7 }, 409, 'VERSION_CONFLICT'],
    ['no addresses', { emails: null }, 400, 'INVALID_REQUEST'],
    ['a text that is no address', { emails: ['x'] }, 400, 'VALIDATION_FAILED'],
  ])('refuses %s', async (...[, given, status, apiError]) => {
    expect(await answerOf(admin.post(`${path}/${(await made()).id}`, given))).toEqual([status, apiError])
  })

  test('refuses an archived list, and one that is not there', async () => {
    const { id } = await made()
    await archive(id)
    expect(await answerOf(admin.post(`${path}/${id}`, { name: 'A' }))).toEqual([409, 'ENTITY_ARCHIVED'])
    expect(await answerOf(admin.post(`${path}/${randomUUID()}`, { name: 'A' }))).toEqual([
      404,
      'MAILING_LIST_NOT_FOUND',
    ])
    expect((await admin.get(`${path}/${id}`)).body.archiveInfo.archived).toBe(true)
  })
})

test('searchMailingLists looks in names and addresses', async () => {
  const word = randomUUID().slice(0, 8)
  const [named, addressed] = [
    await made({ name: `Team ${word}` }),
    await made({ emails: ['a@a.org', `${word}@b.org`] }),
  ]
  const archived = await made({ name: `Old ${word}` })
  await archive(archived.id)
  const search = async (body: object) =>
    (await admin.post(`${path}/search?sort=createdDate`, body)).body.content.map(({ id }: { id: string }) => id)
  expect(await search({ simpleSearchTerm: word.toUpperCase() })).toEqual([named.id, addressed.id])
  expect(await search({ simpleSearchTerm: word, archived: true })).toEqual([archived.id])
  expect(await search({ simpleSearchTerm: named.id })).toEqual([named.id])
  expect(await search({ simpleSearchTerm: `a.org${word}` })).toEqual([])
})

describe('the list of a realm', () => {
  const founder = () => api.user({ GLOBAL: ['REALMS_CREATE'] })
  const realmOf = (mailingListId: unknown) => ({ name: `Realm ${randomUUID()}`, mailingListId })

  test('is named at creation, changed and taken away, and knows its realms', async () => {
    const [list, next] = [await made(), await made()]
    const user = await founder()
    const { status, body } = await user.post('/api/v1/realms', realmOf(list.id))
    expect([status, body.mailingListId]).toEqual([201, list.id])
    expect((await admin.get(`${path}/${list.id}`)).body.realmIds).toEqual([body.id])
    const change = (mailingListId: string | null) => user.patch(`/api/v1/realms/${body.id}`, { mailingListId })
    expect((await change(next.id)).body).toMatchObject({ mailingListId: next.id, metadata: { version: 2 } })
    const { content } = (await admin.post(`${path}/search`, { simpleSearchTerm: next.id })).body
    expect(content).toMatchObject([{ id: next.id, realmIds: [body.id] }])
    expect((await change(null)).body.mailingListId).toBe(null)
    expect((await admin.get(`${path}/${next.id}`)).body.realmIds).toEqual([])
  })

  test('must be there and not archived', async () => {
    const { id } = await made()
    await archive(id)
    const user = await founder()
    const realm = await makeRealm(api.em())
    const owner = await api.user({ REALM: { [realm.id]: ['UPDATE'] } })
    for (const [listId, status, apiError] of [
      [id, 409, 'ENTITY_ARCHIVED'],
      [randomUUID(), 404, 'MAILING_LIST_NOT_FOUND'],
      ['seven', 400, 'INVALID_IDENTIFIER'],
    ]) {
      expect(await answerOf(user.post('/api/v1/realms', realmOf(listId)))).toEqual([status, apiError])
      const change = owner.patch(`/api/v1/realms/${realm.id}`, { mailingListId: listId })
      expect(await answerOf(change)).toEqual([status, apiError])
    }
  })

  test('stays when it is archived, and goes when it is deleted', async () => {
    const { id } = await made()
    const realm = await makeRealm(api.em())
    await api.em().nativeUpdate(Realm, { id: realm.id }, { mailingListId: id })
    await archive(id)
    const linked = async () => (await admin.get(`/api/v1/realms/${realm.id}`)).body.mailingListId
    expect(await linked()).toBe(id)
    expect((await admin.patch(`/api/v1/realms/${realm.id}`, { name: `Realm ${randomUUID()}` })).status).toBe(200)
    await api.em().nativeDelete(MailingList, { id })
    expect(await linked()).toBe(null)
  })
})
