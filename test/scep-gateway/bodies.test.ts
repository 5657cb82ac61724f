// What devices send by POST, and how: every way of HTTP, every size, every encoding; ../shared/reference/scep.md section 7.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { indefinite, longLengths } from '../pki/encodings.ts'
import { closing } from '../support/closing.ts'
import { until } from '../support/issuing.ts'
import { connect, lookupContent, type Connection } from '../support/scep-device.ts'
import { sendRaw } from '../support/raw-http.ts'
import { enrolAt, startScep, type Owner, type ScepSetting } from '../support/scep-setting.ts'

const kept = closing(afterAll)
let setting: ScepSetting
let owner: Owner
let connection: Connection

beforeAll(async () => {
  setting = kept(await startScep())
  owner = await enrolAt(setting.gateway.scepUrl, setting.scene)
  connection = await connect(setting.gateway.scepUrl, owner.device)
})

/** A message whose answer shows that it was read: GetCert for the device's own certificate. */
const own = () => connection.write({ messageType: 'GetCert', content: lookupContent(owner.certificate) })

const written = (headers: readonly string[], body: Buffer, query = '?operation=PKIOperation'): Buffer => {
  const line = `POST /scep/${setting.scene.policyId}${query} HTTP/1.1`
  return Buffer.concat([Buffer.from(`${[line, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`), body])
}
const post = (headers: readonly string[], body: Buffer, query?: string) =>
  sendRaw(setting.gateway.port, written(headers, body, query))
/** Headers, body and query. */
type Sent = readonly [readonly string[], Buffer, string?]
const withLength = (body: Buffer, ...headers: readonly string[]): Sent => [
  [`Content-Length: ${body.length}`, ...headers],
  body,
]

/** A body in chunks of so many octets. */
const chunked = (body: Buffer, octets: number): Buffer => {
  const parts: Buffer[] = []
  for (let place = 0; place < body.length; place += octets) {
    const chunk = body.subarray(place, place + octets)
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
const inChunks = (body: Buffer, octets = 1000): Sent => [['Transfer-Encoding: chunked'], chunked(body, octets)]
const asking = ([headers, body]: Sent, query: string): Sent => [headers, body, query]

const ways: Readonly<Record<string, (der: Buffer) => Sent>> = {
  'without a Content-Type': der => withLength(der),
  'as octet-stream': der => withLength(der, 'Content-Type: application/octet-stream'),
  'as x-pki-message': der => withLength(der, 'Content-Type: application/x-pki-message'),
  'as a form': der => withLength(der, 'Content-Type: application/x-www-form-urlencoded'),
  'as JSON, which it is not': der => withLength(der, 'Content-Type: application/json'),
  'as gzip, which it is not': der => withLength(der, 'Content-Encoding: gzip'),
  'in one chunk': der => inChunks(der, der.length),
  'in chunks of 7 octets': der => inChunks(der, 7),
  'without an operation': der => asking(withLength(der), ''),
  'in chunks without an operation': der => asking(inChunks(der), ''),
  'with an empty message in the URL': der => asking(withLength(der), '?operation=PKIOperation&message='),
}

describe('scep case 39: a message by POST', () => {
  test.each(Object.entries(ways))('%s is answered', async (_, way) => {
    const request = await own()
    const { status, head, body } = await post(...way(request.der))
    expect([status, /content-type: (\S+)/i.exec(head)?.[1]]).toEqual([200, 'application/x-pki-message'])
    expect(connection.read(body, request).bag?.certificates).toEqual([owner.certificate])
  })

  test.each([
    ['of indefinite lengths', indefinite],
    ['of lengths of four octets', longLengths],
  ])('%s is answered, in one piece and in chunks', async (_, encode) => {
    for (const send of [withLength, inChunks]) {
      const request = await own()
      const { status, body } = await post(...send(encode(request.der)))
      expect([status, connection.read(body, request).status]).toEqual([200, 'SUCCESS'])
    }
  })

  test('whose sender waits for 100 Continue is answered', async () => {
    const request = await own()
    const headers = { Expect: '100-continue', 'Content-Length': request.der.length }
    const sent = httpRequest(`${setting.gateway.scepUrl}?operation=PKIOperation`, { method: 'POST', headers })
    sent.flushHeaders()
    await once(sent, 'continue')
    sent.end(request.der)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    expect(connection.read(await buffer(answer), request).status).toBe('SUCCESS')
  })
})

/** So many values, each in the one before. */
const nested = (levels: number, tag: number): Buffer => {
  let all = Buffer.alloc(0)
  for (let level = 0; level < levels; level++) {
    const length = all.length < 0x80 ? Buffer.of(all.length) : Buffer.of(0x82, all.length >> 8, all.length & 0xff)
    all = Buffer.concat([Buffer.of(tag), length, all])
  }
  return all
}
const nestedWithoutLength = (levels: number, tag: number): Buffer =>
  Buffer.concat([Buffer.alloc(levels * 2, Buffer.of(tag, 0x80)), Buffer.alloc(levels * 2)])

describe('scep case 39: a body', () => {
  test.each<[string, () => Buffer]>([
    ['of random octets', () => randomBytes(3000)],
    ['of text', () => Buffer.from('<html>not found</html>')],
    ['of Base64', () => Buffer.from(randomBytes(600).toString('base64'))],
    ['of zeros, as long as may be', () => Buffer.alloc(131_072)],
    ['nested 200-fold', () => nested(200, 0x30)],
    ['nested 200-fold in strings', () => nested(200, 0x24)],
    ['nested 200-fold without lengths', () => nestedWithoutLength(200, 0x30)],
    ['nested 32,000-fold without lengths', () => nestedWithoutLength(32_000, 0x30)],
    ['nested in strings without lengths that never end', () => nestedWithoutLength(40_000, 0x24).subarray(0, 80_000)],
    ['of a length that is not there', () => Buffer.from('308400ffffff', 'hex')],
    ['of a length of 2^32', () => Buffer.from('3084ffffffff00', 'hex')],
  ])('%s is 400 in plain text, sent in one piece and in chunks', async (_, make) => {
    for (const send of [withLength, inChunks]) {
      const { status, head, body } = await post(...send(make()))
      expect([status, /content-type: ([^;\r]+)/i.exec(head)?.[1]]).toEqual([400, 'text/plain'])
      expect(body.toString()).toBe('The message is no CMS SignedData.\n')
    }
  })

  test.each([
    ['of no octets', 0, 400],
    ['one octet too long', 131_073, 413],
    ['of 10 MB', 10_000_000, 413],
  ])('%s', async (_, octets, status) => {
    expect((await post(...withLength(Buffer.alloc(octets)))).status).toBe(status)
    expect((await post(...inChunks(Buffer.alloc(octets), 60_000))).status).toBe(status)
  })

  test('that is too long is 413 while its sender still sends', async () => {
    expect((await post(['Content-Length: 10000000'], Buffer.alloc(200_000))).status).toBe(413)
    const endless = chunked(Buffer.alloc(200_000), 1000).subarray(0, -5)
    expect((await post(['Transfer-Encoding: chunked'], endless)).status).toBe(413)
  })

  test.each([
    ['two lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['no number as its length', ['Content-Length: five']],
    ['no chunk where one should be', ['Transfer-Encoding: chunked']],
  ])('with %s is 400', async (_, headers) => {
    expect((await post(headers, Buffer.from('hello'))).status).toBe(400)
  })
})

test.each([
  ['a length', (body: Buffer) => withLength(body)],
  ['chunks', (body: Buffer) => inChunks(body)],
])('a sender with %s that hangs up in the middle is one line of the log, and no error', async (_, way) => {
  const [headers, body] = way(Buffer.alloc(5000))
  const before = setting.gateway.logged().length
  const told = () => setting.gateway.logged().slice(before)
  const socket = connectTcp(setting.gateway.port, '127.0.0.1')
  socket.write(written(headers, body.subarray(0, 2000)), () => socket.destroy())
  await until('it is told', async () => told().includes('the body broke off'))
  const [line = '', ...more] = told().trim().split('\n')
  expect([JSON.parse(line), more]).toMatchObject([
    { level: 30, status: 400, reason: 'the body broke off', msg: 'request' },
    [],
  ])
  expect(line).not.toContain('stack')
})
