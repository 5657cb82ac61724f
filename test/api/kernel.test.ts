// The kernel before a handler runs: path and method, reading the request, order of checks (contract 1.2, 1.6).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { operation } from '../../api/kernel/operation.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { startApi, type Api, type ApiCaller } from '../support/api.ts'
import { everything } from '../support/kernel-operations.ts'

const unknown = '4f2d3c1e-0000-4000-8000-000000000000'
type Person = ApiCaller & { id: string }

let api: Api
let admin: Person
let nobody: Person
const realm = async (name: string = randomUUID(), archived = false) => {
  const em = api.em()
  const made = em.create(Realm, { name, archived })
  await em.flush()
  return made
}
beforeAll(async () => {
  api = await startApi({ operations: everything })
  admin = await api.user({ GLOBAL: ['ADMIN'] })
  nobody = await api.user()
})
afterAll(() => api.stop())

describe('path and method', () => {
  test('an unknown path is 404 NOT_FOUND without a token', async () => {
    const { status, body, headers } = await api.anonymous.get('/api/v1/nothing')
    expect([status, body.apiError]).toEqual([404, 'NOT_FOUND'])
    expect(headers.get('content-type')).toContain('application/json')
  })
  test('another method is 405 with Allow', async () => {
    const { status, body, headers } = await api.anonymous.delete('/api/v1/things')
    expect([status, body.apiError]).toEqual([405, 'METHOD_NOT_ALLOWED'])
    expect(headers.get('allow')?.split(', ')).toEqual(expect.arrayContaining(['GET', 'POST']))
  })
  test('a trailing slash is optional', async () => {
    expect((await admin.get('/api/v1/things/')).status).toBe(200)
  })
  test('a fixed path wins over a parameter', async () => {
    const { body } = await admin.post('/api/v1/things/lists', { ids: ['x'] })
    expect(body.apiError).toBe('INVALID_IDENTIFIER')
  })
  test('an operation that does not say what it needs cannot be declared', () => {
    expect(() => operation('GET /open', { summary: '', returns: [204, null] } as never)).toThrow(/needs/)
  })
})

describe('reading the request', () => {
  test('texts are trimmed, blank optional ones are null, unknown members are ignored', async () => {
    const { status, body } = await admin.post('/api/v1/things', { name: '  Office ', note: ' ', other: 1 })
    expect(status).toBe(201)
    expect(body.name).toBe('Office')
  })
  test('a missing member is told in a sentence', async () => {
    const { status, body } = await admin.post('/api/v1/things', {})
    expect(status).toBe(400)
    expect(body).toEqual({
      apiError: 'INVALID_REQUEST',
      errorMessage: 'The request is not valid: name is required.',
      fieldErrors: [{ field: 'name', message: 'is required' }],
    })
  })
  test.each([
    ['a wrong type', { name: 5 }, 'must be a text'],
    ['a blank required text', { name: '  ' }, 'must have at least 1 character'],
    ['a long text', { name: 'x'.repeat(256) }, 'must have at most 255 characters'],
    ['control characters', { name: 'a\u0000b' }, 'must not hold control characters'],
    ['half a surrogate pair', { name: 'a\ud800' }, 'must be whole Unicode characters'],
    ['null for a required member', { name: null }, 'must be a text'],
    ['a number out of range', { name: 'a', size: 10 }, 'must be at most 9'],
    ['a date without offset', { name: 'a', since: '2031-01-31T10:15:30' }, 'must be a date and time with an offset'],
  ])('%s is 400 INVALID_REQUEST', async (_, body, message) => {
    const reply = await admin.post('/api/v1/things', body)
    expect([reply.status, reply.body.apiError]).toEqual([400, 'INVALID_REQUEST'])
    expect(reply.body.fieldErrors[0].message).toContain(message)
  })
  test.each([
    ['not JSON', '{'],
    ['another kind of JSON', '[]'],
    ['nothing', ''],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
  ])('a body that is %s is INVALID_JSON', async (_, raw) => {
    const { status, body } = await admin.post('/api/v1/things', undefined, { raw })
    expect([status, body.apiError]).toEqual([400, 'INVALID_JSON'])
  })
  test('another media type is 415, or 400 where 415 is not listed', async () => {
    const extras = { raw: 'name=x', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
    const listed = await admin.post('/api/v1/things', undefined, extras)
    const unlisted = await admin.post('/api/v1/things/lists', undefined, extras)
    expect([listed.status, unlisted.status]).toEqual([415, 400])
    expect(unlisted.body.apiError).toBe('UNSUPPORTED_MEDIA_TYPE')
  })
  test('an operation without a body ignores one, unless it lists 415', async () => {
    const extras = { raw: '<a/>', headers: { 'Content-Type': 'text/xml' } }
    expect((await admin.post('/api/v1/bodyless', undefined, extras)).status).toBe(204)
    expect((await admin.post('/api/v1/bodyless/strict', undefined, extras)).status).toBe(415)
    expect((await admin.post('/api/v1/bodyless/strict', { any: 1 })).status).toBe(204)
  })
  test('a list that is too long is REQUEST_TOO_LARGE, an empty one INVALID_REQUEST', async () => {
    const ids = Array.from({ length: 4 }, () => randomUUID())
    const long = await admin.post('/api/v1/things/lists', { ids })
    const empty = await admin.post('/api/v1/things/lists', { ids: [] })
    expect([long.status, long.body.apiError]).toEqual([400, 'REQUEST_TOO_LARGE'])
    expect([empty.status, empty.body.apiError]).toEqual([400, 'INVALID_REQUEST'])
  })
  test('duplicates count once and ids ignore case', async () => {
    const { id, name } = await realm()
    const { body } = await admin.post('/api/v1/things/lists', { ids: [id, id.toUpperCase()], words: ['a', 'a'] })
    expect(body.seen).toEqual({ names: [name], words: ['a'] })
  })
  test('queries: booleans, lists in both forms, and own path parameters', async () => {
    const [a, b] = [randomUUID(), randomUUID()]
    const { body } = await admin.get(`/api/v1/queries/key?flag=true&ids=${a},${b.toUpperCase()}&ids=${a}&more=1`)
    expect(body.seen).toEqual({ key: 'key', flag: true, ids: [a, b] })
  })
  test.each(['', 'flag=yes', 'flag=true&flag=true', 'flag=true&ids=', 'flag=true&ids=x'])(
    'the query "%s" is 400',
    async query => {
      expect((await admin.get(`/api/v1/queries/key?${query}`)).status).toBe(400)
    },
  )
})

describe('pages', () => {
  test('the defaults are page 0 of 20, unsorted', async () => {
    const { body } = await admin.get('/api/v1/pages')
    expect(body.page).toEqual({ page: 0, size: 20, sort: [] })
  })
  test('page, size and several criteria', async () => {
    const { body } = await admin.get('/api/v1/pages?page=2&size=5&sort=name,desc&sort=metadata.createdDate')
    const sort = [
      { property: 'name', descending: true },
      { property: 'createdDate', descending: false },
    ]
    expect(body.page).toEqual({ page: 2, size: 5, sort })
  })
  test.each([
    'page=-1',
    'size=0',
    'size=1001',
    'size=x',
    'sort=metadata',
    'sort=secret',
    'sort=name,up',
    'page=1&page=2',
  ])('%s is 400', async query => {
    const { status, body } = await admin.get(`/api/v1/pages?${query}`)
    expect([status, body.apiError]).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('existence, rights, state', () => {
  test('the order is token, media type, shape, existence, rights', async () => {
    const path = `/api/v1/things/${unknown}`
    const xml = { raw: '<a/>', headers: { 'Content-Type': 'text/xml' } }
    expect((await api.anonymous.patch('/api/v1/things/x', undefined, xml)).status).toBe(401)
    expect((await nobody.patch('/api/v1/things/x', undefined, xml)).status).toBe(415)
    expect((await nobody.patch('/api/v1/things/x', {})).body.apiError).toBe('INVALID_IDENTIFIER')
    expect((await nobody.patch(path, { name: '' })).status).toBe(400)
    expect((await nobody.patch(path, { name: 'a' })).body.apiError).toBe('REALM_NOT_FOUND')
    expect((await nobody.patch(`/api/v1/things/${(await realm()).id}`, { name: 'a' })).status).toBe(403)
  })
  test('where only global permissions are asked, rights precede existence', async () => {
    expect((await nobody.get(`/api/v1/things/${unknown}/admin`)).status).toBe(403)
    expect((await admin.get(`/api/v1/things/${unknown}/admin`)).status).toBe(404)
    expect((await nobody.post('/api/v1/things', { name: 'x' })).body.apiError).toBe('ACCESS_DENIED')
  })
  test('a grant on the row, or a global one, opens it', async () => {
    const { id } = await realm()
    const reader = await api.user({ REALM: { [id]: ['READ'] } })
    const client = await api.apiClient({ GLOBAL: ['REALMS_FULL_READ'] })
    expect((await reader.get(`/api/v1/things/${id.toUpperCase()}`)).status).toBe(200)
    expect((await client.get(`/api/v1/things/${id}`)).status).toBe(200)
    expect((await reader.patch(`/api/v1/things/${id}`, { name: 'b' })).status).toBe(403)
  })
  test('each named row needs its own right; an optional one that is not named needs none', async () => {
    const [first, second] = [await realm(), await realm()]
    const reader = await api.user({ REALM: { [first.id]: ['READ'], [second.id]: ['READ'] } })
    const post = (body: object) => reader.post('/api/v1/things/pairs', body)
    expect((await post({ firstId: first.id })).body.seen).toEqual([first.name, null])
    expect((await post({ firstId: first.id, secondId: second.id })).status).toBe(403)
    expect((await post({ firstId: first.id, secondId: unknown })).status).toBe(404)
  })
  test('every row of a list must exist and be covered', async () => {
    const [mine, other] = [await realm(), await realm()]
    const reader = await api.user({ REALM: { [mine.id]: ['READ'] } })
    const post = (ids: string[]) => reader.post('/api/v1/things/lists', { ids })
    expect((await post([mine.id])).body.seen.names).toEqual([mine.name])
    expect((await post([mine.id, other.id])).status).toBe(403)
    expect((await post([mine.id, unknown])).status).toBe(404)
  })
  test('an archived row is refused where the operation wants a living one', async () => {
    const { id } = await realm(randomUUID(), true)
    expect((await admin.get(`/api/v1/things/${id}`)).status).toBe(200)
    expect((await admin.patch(`/api/v1/things/${id}`, { name: 'a' })).body.apiError).toBe('ENTITY_ARCHIVED')
  })
  test('a stated version must be the current one', async () => {
    const { id } = await realm()
    const first = await admin.patch(`/api/v1/things/${id}`, { name: randomUUID(), version: 1 })
    expect([first.status, first.body.metadata.version]).toEqual([200, 2])
    const second = await admin.patch(`/api/v1/things/${id}`, { name: randomUUID(), version: 1 })
    expect([second.status, second.body.apiError]).toEqual([409, 'VERSION_CONFLICT'])
  })
  test.each([
    [0, 409, 'VERSION_CONFLICT'],
    [-1, 409, 'VERSION_CONFLICT'],
    [2_147_483_647, 409, 'VERSION_CONFLICT'],
    [2_147_483_648, 400, 'INVALID_REQUEST'],
    [1.5, 400, 'INVALID_REQUEST'],
    ['1', 400, 'INVALID_REQUEST'],
  ])('version %j is %i %s', async (version, status, apiError) => {
    const { id } = await realm()
    const reply = await admin.patch(`/api/v1/things/${id}`, { name: randomUUID(), version })
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })
})

describe('writing', () => {
  test('the answer is the encoded row: dates as text, nothing unnamed, null for nothing', async () => {
    const name = randomUUID()
    const { status, body } = await admin.post('/api/v1/things', { name })
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const by = { createdBy: admin.id, createdByType: 'USER', lastModifiedBy: admin.id, lastModifiedByType: 'USER' }
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name,
      mailingListId: null,
      archiveInfo: { archived: false, archivedDate: null, archivedBy: null, archivedByType: null },
      metadata: { ...by, createdDate: iso, lastModifiedDate: iso, version: 1 },
    })
  })
  test('a taken unique value is ALREADY_EXISTS', async () => {
    const { name } = await realm()
    const { status, body } = await admin.post('/api/v1/things', { name })
    expect([status, body.apiError]).toEqual([409, 'ALREADY_EXISTS'])
  })
  test('a failure leaves nothing behind', async () => {
    const { id, name } = await realm()
    const { status } = await admin.patch(`/api/v1/things/${id}`, { name: randomUUID(), mailingListId: 'no id' })
    expect(status).toBe(400)
    expect((await admin.get(`/api/v1/things/${id}`)).body.name).toBe(name)
  })
  test('writers that collide without a stated version all succeed', async () => {
    const { id } = await realm()
    const names = Array.from({ length: 3 }, () => randomUUID())
    const replies = await Promise.all(names.map(name => admin.patch(`/api/v1/things/${id}`, { name })))
    expect(replies.map(reply => reply.status)).toEqual([200, 200, 200])
    expect((await admin.get(`/api/v1/things/${id}`)).body.metadata.version).toBe(4)
  })
})
