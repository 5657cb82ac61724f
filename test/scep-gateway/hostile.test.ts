// What would break a SCEP gateway: a thousand mutated messages, bodies of every size, floods, senders that never end.
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { mutate, mutation } from '../pki/mutations.ts'
import { connect, lookupContent, newDevice, postMessage } from '../support/scep-device.ts'
import { startGateway } from '../support/scep-gateway.ts'
import { startGatewayProcess } from '../support/scep-gateway-process.ts'
import { enrolAt, enrolment, knownIn, newName, startScep, type ScepSetting } from '../support/scep-setting.ts'
import { sendRaw } from '../support/raw-http.ts'

let setting: ScepSetting
beforeAll(async () => {
  setting = await startScep()
})
afterAll(() => setting.stop())

const seed = 8894

test('1,000 mutated messages are 400 or answered, nothing is issued, and the heap does not grow', async () => {
  const { service, scene } = setting
  const own = await startGatewayProcess(service, scene)
  const owner = await enrolAt(own.scepUrl, scene)
  const connection = await connect(own.scepUrl, owner.device)
  const lookup = await connection.write({ messageType: 'GetCert', content: lookupContent(owner.certificate) })
  const name = newName()
  const { endEntityId, challenge } = await knownIn(scene, name)
  const stranger = await connect(own.scepUrl, await newDevice(name, owner.keys))
  // Its password is right, its request is known already: only a mutation that means another one would be issued for.
  const enrol = await stranger.write(await enrolment(name, owner.keys, { challenge }))
  await stranger.send(enrol)
  const heaps: number[] = []
  const statuses = new Map<number, number>()
  for (const [index, changes] of fc.sample(mutation, { numRuns: 1000, seed }).entries()) {
    const { status } = await postMessage(own.scepUrl, changes.reduce(mutate, index % 2 === 0 ? lookup.der : enrol.der))
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (index === 199 || index === 999) heaps.push(await own.heap())
  }
  expect([...statuses.keys()].filter(status => status !== 200 && status !== 400)).toEqual([])
  expect(own.output()).not.toContain('unexpected')
  expect(await service.em().count(CertRequest, { endEntityId })).toBe(1)
  expect(await service.em().count(Certificate, { endEntityId })).toBe(1)
  const [early = 0, late = 0] = heaps
  process.stdout.write(`heap after 200 and 1,000 messages: ${early}, ${late}; statuses ${[...statuses].join(' ')}\n`)
  expect(late - early).toBeLessThan(8 * 1024 * 1024)
  expect(await own.stop()).toBe(0)
})

const post = (headers: string, body: string | Buffer = ''): Promise<{ status: number }> =>
  sendRaw(
    setting.gateway.port,
    Buffer.concat([
      Buffer.from(
        `POST /scep/${setting.scene.policyId}?operation=PKIOperation HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`,
      ),
      Buffer.from(body),
    ]),
  )

describe('scep case 39: bodies', () => {
  test.each([
    ['of no octets', 0, 400],
    ['of zeros, as long as may be', 131_072, 400],
    ['one octet too long', 131_073, 413],
    ['of 10 MB', 10_000_000, 413],
  ])('%s', async (_, octets, status) => {
    expect((await post(`Content-Length: ${octets}`, Buffer.alloc(octets))).status).toBe(status)
  })

  test('that are too long are 413 while their sender still sends', async () => {
    expect((await post('Content-Length: 10000000', Buffer.alloc(200_000))).status).toBe(413)
  })
})

test('who sends slowly holds no place: others are served beside 100 unfinished bodies', async () => {
  const { gateway, scene } = setting
  const sockets = Array.from({ length: 100 }, () => connectTcp(gateway.port, '127.0.0.1'))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  for (const socket of sockets)
    socket
      .on('error', () => undefined)
      .write(`POST /scep/${scene.policyId} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n0`)
  const began = performance.now()
  await enrolAt(gateway.scepUrl, scene)
  // The slow ones are given up after half a minute; nobody waits for that.
  expect(performance.now() - began).toBeLessThan(20_000)
  for (const socket of sockets) socket.destroy()
})

test('a flood of one address is 429 with Retry-After, and another address is served', async () => {
  const own = await startGateway(setting.service, setting.scene, { properties: { 'scep.rate-limit': '5' } })
  const from = async (localAddress: string) => {
    const sent = httpRequest(`${own.scepUrl}?operation=PKIOperation`, { method: 'POST', localAddress })
    sent.end('no message')
    const [answer] = await once(sent, 'response')
    answer.resume()
    return [answer.statusCode, Number(answer.headers['retry-after'] ?? 0) > 0]
  }
  const seen = []
  for (let count = 0; count < 7; count++) seen.push(await from('127.0.0.1'))
  expect(seen).toEqual([...Array.from({ length: 5 }, () => [400, false]), [429, true], [429, true]])
  expect(await from('127.0.0.2')).toEqual([400, false])
  await own.stop()
})
