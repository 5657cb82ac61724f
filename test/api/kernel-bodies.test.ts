// Hostile bodies through HTTP: too long, too deep, too many, twice, unstorable; and calm ones beside them (contract 1.1, 1.2).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startApi, type Api, type ApiCaller, type Reply } from '../support/api.ts'
import { everything } from '../support/kernel-operations.ts'

let api: Api
let admin: ApiCaller
beforeAll(async () => {
  api = await startApi({ operations: everything })
  admin = await api.user({ GLOBAL: ['ADMIN'] })
})
afterAll(() => api.stop())

const raw = (path: string, body: string): Promise<Reply> => admin.post(path, undefined, { raw: body })
const outcome = ({ status, body }: Reply) => [status, body.apiError]
const mebibyte = 1024 * 1024

describe('the length of a body', () => {
  const long = (octets: number) => ({ name: 'x', other: 'x'.repeat(octets) })
  test('is 64 KiB where it takes neither bytes nor a list', async () => {
    expect((await admin.post('/api/v1/things', long(65_000))).status).toBe(201)
    expect(outcome(await admin.post('/api/v1/things', long(65_537)))).toEqual([400, 'REQUEST_TOO_LARGE'])
  })
  test('is 10 MiB where it takes bytes or a list', async () => {
    const ids = [randomUUID()]
    const taken = await admin.post('/api/v1/things/lists', { ids, other: 'x'.repeat(10 * mebibyte - 1000) })
    const refused = await admin.post('/api/v1/things/lists', { ids, other: 'x'.repeat(10 * mebibyte) })
    expect([outcome(taken), outcome(refused)]).toEqual([
      [404, 'REALM_NOT_FOUND'],
      [400, 'REQUEST_TOO_LARGE'],
    ])
  })
  test('is 32 MiB for imports', async () => {
    const text = 'x'.repeat(31 * mebibyte)
    expect((await admin.post('/api/v1/large', { text })).body.seen).toBe(text.length)
    expect(outcome(await admin.post('/api/v1/large', { text: text.repeat(2) }))).toEqual([400, 'REQUEST_TOO_LARGE'])
  })
})

describe('the size of what is in a body', () => {
  test('the length of a list is judged before its items', async () => {
    const reply = await admin.post('/api/v1/things/lists', { ids: Array.from({ length: 50_000 }, (_, index) => index) })
    expect(outcome(reply)).toEqual([400, 'REQUEST_TOO_LARGE'])
    expect(reply.body.fieldErrors).toEqual([{ field: 'ids', message: 'must have at most 3 items' }])
  })
  test('duplicates count once towards it, whatever their case', async () => {
    const id: string = randomUUID()
    const reply = await admin.post('/api/v1/things/lists', {
      ids: Array.from({ length: 2000 }, () => id).concat(id.toUpperCase()),
    })
    expect(outcome(reply)).toEqual([404, 'REALM_NOT_FOUND'])
  })
  test.each([
    ['a list of millions', `{"ids":[${'1,'.repeat(4_500_000)}1]}`],
    ['lists within lists', `{"ids":${'['.repeat(4_500_000)}${']'.repeat(4_500_000)}}`],
    [
      'thousands of members',
      JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [index, 1]))),
    ],
  ])('%s are REQUEST_TOO_LARGE', async (_, body) => {
    expect(outcome(await raw('/api/v1/things/lists', body))).toEqual([400, 'REQUEST_TOO_LARGE'])
  })
  test('twenty faults are told, not all', async () => {
    const { body } = await admin.post('/api/v1/things/lists', {
      ids: [randomUUID()],
      words: Array.from({ length: 9000 }, (_, i) => i),
    })
    expect([body.apiError, body.fieldErrors.length]).toEqual(['INVALID_REQUEST', 20])
    expect(body.fieldErrors[19]).toEqual({ field: 'words.19', message: 'must be a text' })
  })
})

describe('JSON', () => {
  test.each([
    ['{"name":"a","name":"a"}', 'line 1, column 13'],
    ['{"name":"a","n\\u0061me":"b"}', 'line 1, column 13'],
    ['{"name":"a","other":{"x":1,"x":2}}', 'line 1, column 28'],
  ])('with a member twice is refused: %s', async (body, place) => {
    const reply = await raw('/api/v1/things', body)
    expect(outcome(reply)).toEqual([400, 'INVALID_JSON'])
    expect(reply.body.errorMessage).toBe(`A member is given twice: see ${place}.`)
  })
  test('with the same name in two objects is taken', async () => {
    const name = randomUUID()
    expect((await raw('/api/v1/things', `{"name":"${name}","other":[{"name":1},{"name":1}]}`)).status).toBe(201)
  })
  test.each([
    ['{"name":\n  secret}', 'line 2, column 3'],
    ['{"name":"secret}', 'line 1, column 17'],
    ['{"name":"a",}', 'line 1, column 13'],
    ['{"name":"a"} x', 'line 1, column 14'],
    ['{"name":"\\x"}', 'line 1, column 10'],
    ['{"size":01}', 'line 1, column 9'],
  ])('that is malformed is told with its place, never its content: %s', async (body, place) => {
    const reply = await raw('/api/v1/things', body)
    expect(outcome(reply)).toEqual([400, 'INVALID_JSON'])
    expect(reply.body.errorMessage).toBe(`The body is not JSON: see ${place}.`)
  })
  test('of another kind says which kind is wanted', async () => {
    expect((await raw('/api/v1/things', '[]')).body.errorMessage).toBe('The body must be an object.')
  })
})

describe('text that the database cannot hold', () => {
  const nul = '\u0000'
  const half = '\ud800'
  const control = 'must not hold control characters'
  const whole = 'must be whole Unicode characters'
  test.each([
    ['/api/v1/optionals', { nested: { pattern: `a${nul}` } }, { field: 'nested.pattern', message: control }],
    ['/api/v1/optionals', { nested: { pattern: half } }, { field: 'nested.pattern', message: whole }],
    ['/api/v1/optionals', { document: `{"a":"${nul}"}` }, { field: 'document', message: control }],
    ['/api/v1/things', { name: half }, { field: 'name', message: whole }],
    ['/api/v1/things/lists', { ids: [randomUUID()], words: ['a', nul] }, { field: 'words.1', message: control }],
  ])('%s %j names the member', async (path, body, fault) => {
    const reply = await admin.post(path, body)
    expect([...outcome(reply), reply.body.fieldErrors]).toEqual([400, 'INVALID_REQUEST', [fault]])
  })
  test.each([['/api/v1/queries/a%00?flag=true'], ['/api/v1/queries/a?flag=%00']])('%s is 400', async path => {
    expect((await admin.get(path)).status).toBe(400)
  })
  test('is ignored with the member that nobody knows, and a whole pair is text', async () => {
    expect((await admin.post('/api/v1/things', { name: randomUUID(), other: nul })).status).toBe(201)
    const { body } = await admin.post('/api/v1/optionals', { nested: { pattern: '\u{1f600}' } })
    expect(body.seen.nested.pattern).toBe('\u{1f600}')
  })
})

describe('optional members', () => {
  const nothing = {
    bytes: null,
    id: null,
    since: null,
    mode: null,
    document: '{}',
    flag: true,
    size: null,
    nested: null,
  }
  test.each([
    ['absent', {}],
    ['null', Object.fromEntries(Object.keys(nothing).map(name => [name, null]))],
    ['empty', { bytes: '', id: '', since: '', mode: '', document: '' }],
    ['blank', { bytes: ' ', id: ' ', since: ' ', mode: ' ', document: ' ' }],
  ])('that are %s are null, or the default', async (_, body) => {
    expect((await admin.post('/api/v1/optionals', body)).body.seen).toEqual(nothing)
  })
  test.each([{ size: '' }, { flag: '' }, { nested: '' }])('%j is no text, so that an empty one is 400', async body => {
    expect(outcome(await admin.post('/api/v1/optionals', body))).toEqual([400, 'INVALID_REQUEST'])
  })
  test('a fault of the whole names a member', async () => {
    for (const body of [{}, { left: 'a', right: 'b' }, { left: '', right: '' }]) {
      const reply = await admin.post('/api/v1/either', body)
      const message = 'must be there, or another of left, right: exactly one of them'
      expect(reply.body.fieldErrors).toEqual([{ field: 'left', message }])
      expect(reply.body.errorMessage).toBe(`The request is not valid: left ${message}.`)
    }
    expect((await admin.post('/api/v1/either', { left: '', right: 'b' })).status).toBe(204)
  })
})

describe('parameters', () => {
  test.each([
    ['size=1&size=2', 'size must be given once'],
    ['page=1&page=1', 'page must be given once'],
    ['page=99999999999', 'page must be at most 2147483647'],
    ['page=1.5', 'page must be a whole number'],
    [`page=${'9'.repeat(400)}`, 'page must be at most 2147483647'],
  ])('%s is told in words that fit', async (query, message) => {
    const reply = await admin.get(`/api/v1/pages?${query}`)
    expect([...outcome(reply), reply.body.errorMessage]).toEqual([
      400,
      'INVALID_REQUEST',
      `The request is not valid: ${message}.`,
    ])
  })
  test('a Boolean that is given twice is told so as well', async () => {
    const { body } = await admin.get('/api/v1/queries/key?flag=true&flag=true')
    expect(body.fieldErrors).toEqual([{ field: 'flag', message: 'must be given once' }])
  })
})
