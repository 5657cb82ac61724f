// Refusals of one kind have one text and cost the same work: counted in calls of the gateway and statements of the service;
// ../shared/reference/scep.md section 7, cases 7, 17 and 25.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import type { KeyPair } from '../../pki/keys/key-pair.ts'
import { connect, newDevice, rsaKeys } from '../support/scep-device.ts'
import type { Device } from '../support/scep-device.ts'
import { makeScepScene, startGateway, type TestGateway } from '../support/scep-gateway.ts'
import { startServiceProxy } from '../support/scep-service-proxy.ts'
import { enrolAt, enrolment, knownIn, newName, refusal, startScep, unauthorised } from '../support/scep-setting.ts'
import type { ScepSetting } from '../support/scep-setting.ts'

let setting: ScepSetting
let proxy: Awaited<ReturnType<typeof startServiceProxy>>
let gateway: TestGateway
let keys: KeyPair

beforeAll(async () => {
  setting = await startScep()
  proxy = await startServiceProxy(setting.service.url)
  gateway = await startGateway(setting.service, setting.scene, { baseUrl: proxy.url })
  keys = await rsaKeys()
})
afterAll(async () => {
  await gateway.stop()
  await proxy.stop()
  await setting.stop()
})

/** How a request of a device ends, which calls the gateway makes for it, and which statements the service. */
const costOf = async (device: Device, challenge?: string) => {
  const connection = await connect(gateway.scepUrl, device)
  const draft = await enrolment(device.name, keys, challenge === undefined ? {} : { challenge })
  const statements: string[] = []
  const spy = jest.spyOn(setting.service.deps.orm.config.getLogger(), 'logQuery')
  spy.mockImplementation(({ query = '' }) => void statements.push(query.trim()))
  proxy.calls.splice(0)
  try {
    const reply = await connection.ask(draft)
    return { end: refusal(reply), calls: [...proxy.calls], statements }
  } finally {
    spy.mockRestore()
  }
}

const device = (name = newName()) => newDevice(name, keys)
const known = (of = setting.scene) => knownIn(of, newName())
const em = () => setting.service.em()

/** Challenges that are refused, of the right form. */
const challenges: Readonly<Record<string, () => Promise<string>>> = {
  'scep case 7: an unknown end entity': async () => `${randomUUID()}:${(await known()).password}`,
  'scep case 7: the password of another end entity': async () =>
    `${(await known()).endEntityId}:${(await known()).password}`,
  'scep case 7: an end entity of another realm': async () =>
    (await known(await makeScepScene(setting.service))).challenge,
  'scep case 25: an end entity without a password': async () =>
    `${await setting.scene.newEndEntity(newName())}:${(await known()).password}`,
  'scep case 25: a locked password': async () => {
    const { challenge, endEntityId } = await known()
    await em().nativeUpdate(EndEntityPassword, { endEntityId }, { lockedUntil: new Date(Date.now() + 600_000) })
    return challenge
  },
  'scep case 25: an archived end entity': async () => {
    const { challenge, endEntityId } = await known()
    await em().nativeUpdate(EndEntity, { id: endEntityId }, { archived: true })
    return challenge
  },
}

test.each(Object.entries(challenges))('%s costs what a wrong password costs', async (_, make) => {
  const usual = await costOf(await device(), `${(await known()).endEntityId}:wrong`)
  const cost = await costOf(await device(), await make())
  expect(cost.end).toEqual(unauthorised)
  expect(cost).toEqual(usual)
  const calls = ['/scep/decrypt', '/end-entity-passwords/authenticate', '/scep/sign']
  expect(cost.calls).toEqual(calls.map(path => `POST /api/v1${path}`))
  expect(cost.statements.length).toBeGreaterThan(20)
})

const change = (members: Partial<Certificate>) => async (der: Buffer) =>
  void (await em().nativeUpdate(Certificate, { der }, members))
const day = 86_400_000

describe('without a challenge', () => {
  test.each<[string, (der: Buffer) => Promise<void>]>([
    ['scep case 16: expired', change({ validNotBefore: new Date(0), validNotAfter: new Date(day) })],
    ['scep case 17: revoked', change({ revocationDate: new Date(), revocationReason: 'KEY_COMPROMISE' })],
    ['scep case 17: archived', change({ archived: true })],
  ])('scep case 25: a signer that is %s is asked about as often as one that nobody knows', async (_, end) => {
    const usual = await costOf(await device())
    const { certificate, ...owner } = await enrolAt(gateway.scepUrl, setting.scene)
    await end(certificate)
    const cost = await costOf(owner.device)
    expect(cost.end).toEqual(unauthorised)
    expect([cost.end, cost.calls]).toEqual([usual.end, usual.calls])
  })
})
