// HTTP around the kernel: methods of a path, answers to callers who still send, requests that are no HTTP (contract 1.2, 1.6).
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { startApi, type Api, type ApiCaller } from '../support/api.ts'

let api: Api
let user: ApiCaller
let token: string
beforeAll(async () => {
  api = await startApi()
  user = await api.user()
  token = await api.issuer.userToken('a-caller')
})
afterAll(() => api.stop())

const some = '4f2d3c1e-0000-4000-8000-000000000000'
const pathOf = (path: string): string => path.replace(/:\w+/g, some)
const send = (method: string, path: string) => fetch(api.url + path, { method })

test.each(['/API/V1/REALMS/', '/api/v1/Realms', '/api/V1/realms'])('%s is no path', async path => {
  expect((await user.get(path)).status).toBe(404)
  expect((await user.get('/api/v1/realms/')).status).toBe(200)
})

test('ids are ids in capitals as well', async () => {
  const { status, body } = await user.get(`/api/v1/realms/${some.toUpperCase()}`)
  expect([status, body.apiError]).toEqual([404, 'REALM_NOT_FOUND'])
})

describe('the methods of a path', () => {
  const literal = Object.values(operations).filter(({ path }) => !path.includes(':'))
  const methodsOf = (path: string) =>
    new Set(
      Object.values(operations)
        .filter(one => one.path === path)
        .map(({ method }) => method),
    )
  const absent = literal.flatMap(({ path }) =>
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
      .filter(method => !methodsOf(path).has(method))
      .map(method => [method, path] as const),
  )
  test.each(absent)('%s %s is 405 with what the path has', async (method, path) => {
    const reply = await send(method, path)
    const { apiError } = (await reply.json()) as { apiError: string }
    const gets = methodsOf(path).has('GET') ? ['HEAD'] : []
    expect([reply.status, apiError]).toEqual([405, 'METHOD_NOT_ALLOWED'])
    expect(new Set(reply.headers.get('allow')?.split(', '))).toEqual(new Set([...methodsOf(path), ...gets, 'OPTIONS']))
  })
  test('there are literal paths that a parameter would match as well', () => {
    expect(absent).toContainEqual(['GET', '/api/v1/cert-requests/search'])
  })
  test.each(Object.values(operations).map(({ path }) => path))(
    'OPTIONS %s is 204 with Allow, without a token',
    async path => {
      const reply = await send('OPTIONS', pathOf(path))
      expect([reply.status, await reply.text()]).toEqual([204, ''])
      expect(reply.headers.get('allow')).toMatch(/OPTIONS$/)
    },
  )
  test('OPTIONS of an unknown path is 404', async () => {
    expect((await send('OPTIONS', '/api/v1/nothing')).status).toBe(404)
  })
  test('HEAD is GET without its body', async () => {
    const path = '/api/v1/public/enum/api-error-values'
    const found = Object.values(operations).find(one => one.method === 'GET' && one.needs === 'NOTHING')?.path ?? path
    const [head, get] = [await send('HEAD', found), await send('GET', found)]
    expect([head.status, await head.text()]).toEqual([get.status, ''])
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(await get.text())))
    expect((await send('HEAD', '/api/v1/authenticated-principal')).status).toBe(401)
    expect((await send('HEAD', '/api/v1/cert-requests/search')).status).toBe(405)
  })
  const served = ['/health/live', '/health/ready', '/docs', '/docs/', '/docs/start.js', '/api/openapi.json']
  test.each(served)('DELETE %s is 405, OPTIONS 204, HEAD 200', async path => {
    const reply = await send('DELETE', path)
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    const options = await send('OPTIONS', path)
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
    expect((await send('HEAD', path)).status).toBe(200)
  })
})

test.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('the scheme is taken as "%s"', async scheme => {
  const headers = { Authorization: `${scheme} ${token}` }
  expect((await fetch(`${api.url}/api/v1/authenticated-principal`, { headers })).status).toBe(200)
})

/** A connection, and all that it has received once it ended. */
const dial = async (): Promise<{ socket: Socket; received: Promise<string> }> => {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  const received = new Promise<string>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
    socket.once('error', reject)
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()))
  })
  await once(socket, 'connect')
  return { socket, received }
}
const head = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...headers, '', ''].join('\r\n')
const failureIn = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as { apiError: string }

const block = Buffer.alloc(65_536, 'x')
/** Writes so much, in blocks, as far as the other side takes it. */
const write = async (socket: Socket, octets: number): Promise<void> => {
  for (let left = octets; left > 0; left -= block.length)
    if (!socket.write(block.subarray(0, left))) await once(socket, 'drain')
}

describe('a caller who still sends', () => {
  const path = '/api/v1/public/extract-end-entity-from-pkcs10'
  const announced = 40 * 1024 * 1024
  test.each([
    ['a body that is announced too long', `POST ${path}`, 'HTTP/1.1 400 Bad Request, REQUEST_TOO_LARGE'],
    ['no token', 'POST /api/v1/realms', 'HTTP/1.1 401 Unauthorized, AUTHENTICATION_FAILED'],
    ['a method that the path has not', `PUT ${path}`, 'HTTP/1.1 405 Method Not Allowed, METHOD_NOT_ALLOWED'],
    ['no path', 'POST /nowhere', 'HTTP/1.1 404 Not Found, NOT_FOUND'],
  ])('with %s gets the answer, and may write to the end', async (_, line, outcome) => {
    const { socket, received } = await dial()
    socket.write(head(line, `Content-Length: ${announced}`))
    await write(socket, announced)
    const answer = await received
    const [status] = answer.split('\r\n')
    expect(`${status}, ${failureIn(answer).apiError}`).toBe(outcome)
    expect(answer).toMatch(/^connection: close\r$/im)
  })
  test('in chunks beyond the limit gets the answer before the end, and may write to the end', async () => {
    const { socket, received } = await dial()
    socket.write(head(`POST ${path}`, 'Transfer-Encoding: chunked'))
    const answered = once(socket, 'data')
    for (let sent = 0; sent < 400; sent += 1) {
      const chunk = Buffer.concat([Buffer.from(`${block.length.toString(16)}\r\n`), block, Buffer.from('\r\n')])
      if (!socket.write(chunk)) await once(socket, 'drain')
    }
    expect(String((await answered)[0])).toMatch(/^HTTP\/1.1 400 /)
    socket.write('0\r\n\r\n')
    expect(failureIn(await received)).toMatchObject({ apiError: 'REQUEST_TOO_LARGE' })
  })
  test('for ever is cut off', async () => {
    const { socket, received } = await dial()
    socket.write(head(`POST ${path}`, `Content-Length: ${4 * 1024 ** 3}`))
    const cut = write(socket, 4 * 1024 ** 3).then(
      () => 'taken',
      () => 'cut',
    )
    const ended = received.then(
      () => 'cut',
      () => 'cut',
    )
    expect(await Promise.race([cut, ended])).toBe('cut')
  })
  test('a short body that nobody reads leaves the connection open', async () => {
    const { socket, received } = await dial()
    const get = head('GET /health/live', 'Connection: close')
    socket.write(`${head('POST /nowhere', 'Content-Length: 2')}{}${get}`)
    expect((await received).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
  })
})

describe('what is no request', () => {
  test('2,000 ids in a query are told to be too many', async () => {
    const ids = Array.from({ length: 2000 }, () => some).join(',')
    const reply = await user.get(`/api/v1/certificates/downloads/zip?ids=${ids}`)
    expect([reply.status, reply.body.apiError]).toEqual([400, 'REQUEST_TOO_LARGE'])
  })
  test('headers for ever are refused, with the answer', async () => {
    const { socket, received } = await dial()
    socket.write(`GET /health/live HTTP/1.1\r\nX-Long: ${'x'.repeat(3_000_000)}`)
    expect(failureIn(await received)).toMatchObject({ apiError: 'REQUEST_TOO_LARGE' })
  })
  test.each(['nonsense\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'])('%j is 400', async text => {
    const { socket, received } = await dial()
    socket.write(text)
    const answer = await received
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(failureIn(answer)).toMatchObject({ apiError: 'INVALID_REQUEST' })
  })
  test.each([
    ['a target without a host', 'GET http://[/api/v1/realms HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a target of another scheme', 'GET ftp://a/api/v1/realms HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a port beyond all', 'GET http://a:99999/health/live HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n', 400],
    ['an unknown expectation', 'GET /health/live HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n', 417],
    ['nonsense', 'nonsense\r\n\r\n', 400],
  ])('%s is told as every failure is, and kept by nobody', async (_, text, status) => {
    const { socket, received } = await dial()
    socket.write(text)
    const answer = await received
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toMatch(/^cache-control: no-store\r$/im)
    expect(failureIn(answer)).toMatchObject({ apiError: 'INVALID_REQUEST' })
  })
  test('a target with scheme and host is its path', async () => {
    const { socket, received } = await dial()
    socket.write(head('GET http://elsewhere.example/health/live?a=b', 'Connection: close'))
    expect(await received).toMatch(/^HTTP\/1.1 200 /)
  })
  test('idle connections live 65 seconds', async () => {
    const { headers } = await user.get('/health/live')
    expect(headers.get('keep-alive')).toBe('timeout=65')
  })
})
