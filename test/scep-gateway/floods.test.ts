// Floods: connections that hold, messages that are refused, and bursts of one address, beside a calm device at another one.
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { httpServer, listening } from '../../scep-gateway/server.ts'
import { closing } from '../support/closing.ts'
import { until } from '../support/issuing.ts'
import { connect, lookupContent, newDevice, type Connection } from '../support/scep-device.ts'
import { closeServer, startGateway } from '../support/scep-gateway.ts'
import { startGatewayProcess } from '../support/scep-gateway-process.ts'
import { openStuck, postFrom, type Answer, type Stuck } from '../support/scep-sender.ts'
import { startServiceProxy } from '../support/scep-service-proxy.ts'
import { enrolAt, enrolment, newName, startScep, type Owner, type ScepSetting } from '../support/scep-setting.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let setting: ScepSetting
let owner: Owner
let connection: Connection

beforeAll(async () => {
  setting = kept(await startScep())
  owner = await enrolAt(setting.gateway.scepUrl, setting.scene)
  connection = await connect(setting.gateway.scepUrl, owner.device)
})

const flooding = '127.0.0.1'
const calm = '127.0.0.2'

const lookup = () => connection.write({ messageType: 'GetCert', content: lookupContent(owner.certificate) })
/** What the calm device is answered when it looks its certificate up. */
const calmStatus = async (url: string) => {
  const request = await lookup()
  const { status, body } = await postFrom(calm, url, request.der)
  return status === 200 ? connection.read(body, request).status : status
}
/** A message of a device that may not. */
const unauthorised = async (): Promise<Buffer> => {
  const name = newName()
  const stranger = await connect(setting.gateway.scepUrl, await newDevice(name, owner.keys))
  return (await stranger.write(await enrolment(name, owner.keys))).der
}
const destroying = (all: readonly Stuck[]) => ({
  stop: async (): Promise<void> => {
    for (const { socket } of all) socket.destroy()
  },
})

describe('connections that hold', () => {
  const half = 'POST /scep HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n0'

  test('2,000 of one address leave 400 to it and the rest to others, in all at the listeners together', async () => {
    // So patient that none of them is closed for its slowness while this test counts.
    const properties = { 'server.request-seconds': '600' }
    const own = opened(await startGatewayProcess(setting.service, setting.scene, { properties }))
    const { http, https, metrics } = own.ports
    const stuck = [...(await openStuck(1000, http, half)), ...(await openStuck(1000, https, half))]
    opened(destroying(stuck))
    const told = async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
    const refused = async () =>
      Number(/^certwright_scep_refused_connections_total\{bound="each"\} (\d+)$/m.exec(await told())?.[1])
    await until('1,600 are refused', async () => (await refused()) === 1600)
    await until('1,600 are closed', async () => stuck.filter(({ isClosed }) => isClosed).length === 1600)
    expect(await told()).toMatch(/^certwright_scep_connections 400$/m)
    for (let count = 0; count < 5; count++) expect(await calmStatus(own.scepUrl)).toBe('SUCCESS')
    await expect(postFrom(flooding, own.scepUrl, 'x')).rejects.toThrow(/ECONNRESET|hang up/)
    expect(own.lines().filter(({ msg }) => msg === 'connections are refused')).toHaveLength(1)
    await destroying(stuck).stop()
    await until('the address is let in again', () =>
      postFrom(flooding, own.scepUrl, 'x').then(
        ({ status }) => status === 400,
        () => false,
      ),
    )
  })

  test('are refused from everywhere when there are too many in all, and let in when some have gone', async () => {
    const properties = { 'server.max-connections': '50' }
    const own = opened(await startGateway(setting.service, setting.scene, { properties }))
    const stuck = await openStuck(50, own.port, half)
    opened(destroying(stuck))
    await expect(calmStatus(own.scepUrl)).rejects.toThrow(/ECONNRESET|hang up/)
    await destroying(stuck.slice(0, 2)).stop()
    await until('the calm device is let in', () =>
      calmStatus(own.scepUrl).then(
        status => status === 'SUCCESS',
        () => false,
      ),
    )
  })

  test('are of nobody alone behind proxies that are trusted, which bring many', async () => {
    const properties = { 'server.trusted-proxies': '1', 'server.max-connections-per-address': '1' }
    const own = opened(await startGateway(setting.service, setting.scene, { properties }))
    const stuck = await openStuck(20, own.port, half)
    opened(destroying(stuck))
    expect((await postFrom(flooding, own.scepUrl, 'x')).status).toBe(400)
  })

  test.each([
    ['nothing', ''],
    ['half a header', 'POST /scep HTTP/1.1\r\nHos'],
    ['half a body', half],
    ['half a chunk', 'POST /scep HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n0'],
  ])('with %s are closed after server.request-seconds, on HTTP and before TLS', async (_, octets) => {
    const properties = { 'server.request-seconds': '1' }
    const own = opened(await startGatewayProcess(setting.service, setting.scene, { properties }))
    const stuck = [...(await openStuck(3, own.ports.http, octets)), ...(await openStuck(3, own.ports.https, octets))]
    opened(destroying(stuck))
    await Promise.all(stuck.map(({ closed }) => closed))
    expect(await calmStatus(own.scepUrl)).toBe('SUCCESS')
  })

  test('whose answers nobody reads are closed when no octet moves any more', async () => {
    const { bounds } = setting.gateway
    const server = httpServer({ ...bounds, idleMs: 1000 }, (_, response) => void response.end(Buffer.alloc(100_000)))
    opened({ stop: () => closeServer(server) })
    const port = await listening(server, 0, '127.0.0.1')
    const accepted = once(server, 'connection')
    const socket = connectTcp(port, '127.0.0.1').pause()
    opened({ stop: async () => socket.destroy() })
    socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500))
    const [held] = (await accepted) as [Socket]
    await new Promise(resolve => void held.once('close', resolve))
  })
})

describe('messages', () => {
  test('that are refused again and again are 429 with Retry-After, and a calm device gets every answer', async () => {
    const properties = { 'scep.rate-limit': '60' }
    const own = opened(await startGatewayProcess(setting.service, setting.scene, { properties }))
    const message = await unauthorised()
    const answers: Answer[] = []
    const lane = async (): Promise<void> => {
      while (answers.length < 600) answers.push(await postFrom(flooding, own.scepUrl, message))
    }
    const flood = Promise.all(Array.from({ length: 20 }, lane))
    const calmly: (string | number)[] = []
    for (let count = 0; count < 10; count++) calmly.push(await calmStatus(own.scepUrl))
    await flood
    expect(calmly).toEqual(Array.from({ length: 10 }, () => 'SUCCESS'))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.every(({ retryAfter }) => retryAfter >= 1 && retryAfter <= 60)).toBe(true)
    // Each minute lets 60 in; on a machine that takes many minutes for 600 this says nothing, and nothing wrong.
    expect(answers.filter(({ status }) => status === 200).length + refused.length).toBe(answers.length)
    expect(refused.length).toBeGreaterThan(400)
    // The log is not flooded: a line a minute tells of them.
    const told = own.lines().filter(({ status }) => status === 429)
    expect([told.length > 0, told.length < 10]).toEqual([true, true])
  })

  test('150 of one address at once take 16 places, and the next of another address is at work beside them', async () => {
    const { service, scene } = setting
    const proxy = opened(await startServiceProxy(service.url))
    const properties = { 'scep.rate-limit': '100000' }
    const own = opened(await startGateway(service, scene, { properties, baseUrl: proxy.url }))
    const message = (await lookup()).der
    proxy.hold(call => call.endsWith('/scep/decrypt'))
    const answers: Answer[] = []
    const flood = Array.from({ length: 150 }, async () => answers.push(await postFrom(flooding, own.scepUrl, message)))
    // 128 of one address may be there; whoever is one too many is told so while the others wait.
    await until('22 are refused', async () => answers.length === 22)
    expect(new Set(answers.map(({ status, retryAfter }) => `${status} ${retryAfter}`))).toEqual(new Set(['429 5']))
    await until('16 are at work', async () => proxy.count('/scep/decrypt') === 16)
    const other = calmStatus(own.scepUrl)
    await until('the calm device is at work', async () => proxy.count('/scep/decrypt') === 17)
    proxy.release()
    expect(await other).toBe('SUCCESS')
    await Promise.all(flood)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(128)
  })

  test('of more than 640 at once are 503 with Retry-After where no address has a limit of its own', async () => {
    const { service, scene } = setting
    const proxy = opened(await startServiceProxy(service.url))
    const properties = { 'server.max-connections-per-address': '0' }
    const own = opened(await startGateway(service, scene, { properties, baseUrl: proxy.url }))
    const message = (await lookup()).der
    proxy.hold(call => call.endsWith('/scep/decrypt'))
    const answers: Answer[] = []
    const flood = Array.from({ length: 650 }, async () => answers.push(await postFrom(flooding, own.scepUrl, message)))
    await until('10 are refused', async () => answers.length === 10)
    expect(new Set(answers.map(({ status, retryAfter }) => `${status} ${retryAfter}`))).toEqual(new Set(['503 5']))
    await until('128 are at work', async () => proxy.count('/scep/decrypt') === 128)
    proxy.setAway(() => true)
    proxy.release()
    await Promise.all(flood)
  })
})

test('/health/ready asks the service once for all who want to know', async () => {
  const proxy = opened(await startServiceProxy(setting.service.url))
  const own = opened(await startGateway(setting.service, setting.scene, { baseUrl: proxy.url }))
  const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${own.url}/health/ready`)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(proxy.count('/authenticated-principal')).toBeLessThan(10)
})
