// MACs by the passwords of end entities (contract 10.5, 12): who may have them made and judged, over what, and how often
// somebody may guess.
import { hash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { startApi } from '../support/api.ts'
import { pbm, pbmac1, protectedPart, statedIn } from '../support/cmp-messages.ts'
import { makeCmpScene, type CmpScene } from '../support/cmp.ts'
import { refusalOf } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'

let service: Service
let scene: CmpScene
let ahead = 0
const clock = () => new Date(Date.now() + ahead)

beforeAll(async () => {
  service = await startService({ deps: { clock } })
})
beforeEach(async () => {
  ahead = 0
  scene = await makeCmpScene(service)
})
afterAll(() => service.stop())

const part = protectedPart({ protectionAlg: pbm() })
const wrong = Buffer.alloc(32, 1)
const macOver = async (octets = part): Promise<Buffer> => {
  const { status, body } = await scene.calculate(octets)
  if (status !== 200) throw new Error(`No MAC: ${status} ${JSON.stringify(body)}`)
  return Buffer.from(body.macBase64, 'base64')
}
const guess = async (times: number): Promise<void> => {
  for (let time = 0; time < times; time += 1) expect((await scene.verify(part, wrong)).body).toEqual({ result: false })
}
const eventsOf = async (objectId: string): Promise<AuditEvent[]> =>
  service.em().find(AuditEvent, { objectId }, { orderBy: { id: 'asc' } })
const kindsOf = async (objectId: string): Promise<string[]> =>
  (await eventsOf(objectId)).map(({ eventType }) => eventType).filter(kind => !/CREATED/.test(kind))
const change = (cmpConfiguration: object | null) =>
  scene.owner.patch(`/api/v1/policies/${scene.policyId}`, { cmpConfiguration })
const both = async (octets = part, members: object = {}): Promise<unknown[]> => [
  refusalOf(await scene.calculate(octets, members)),
  refusalOf(await scene.verify(octets, wrong, members)),
]
const twice = (code: string) => [
  [400, code],
  [400, code],
]

test.each([
  ['PBM', pbm()],
  ['PBMAC1', pbmac1({ owf: 'SHA-512', mac: 'SHA-384' })],
  ['PBM of many rounds', pbm({ iterationCount: 20_000 })],
])('%s is made, believed, and recorded with the digest of the data', async (_, protectionAlg) => {
  const octets = protectedPart({ protectionAlg })
  const mac = await macOver(octets)
  expect((await scene.verify(octets, mac)).body).toEqual({ result: true })
  const digest = hash('sha256', octets, 'hex')
  const [made] = (await eventsOf(scene.policyId)).filter(({ eventType }) => eventType === 'DATA_SIGNED')
  expect(made?.eventDescription).toContain(digest)
  const judged = (await eventsOf(scene.endEntityId)).at(-1)
  expect([judged?.eventType, judged?.eventDescription]).toEqual([
    'PASSWORD_AUTHENTICATED',
    expect.stringContaining(digest),
  ])
  expect((await service.em().findOneOrFail(EndEntityPassword, scene.pair)).lastUsedDate).toBeInstanceOf(Date)
})

test('algorithms are named by their OIDs as well', async () => {
  const oids = { owfAlgorithm: '2.16.840.1.101.3.4.2.1', macAlgorithm: '1.2.840.113549.2.9' }
  expect((await scene.calculate(part, oids)).body.macBase64).toBe((await macOver()).toString('base64'))
})

describe('guessing', () => {
  test('locks the password for authentication and for MACs, and is recorded', async () => {
    const mac = await macOver()
    await guess(10)
    expect((await scene.verify(part, mac)).body).toEqual({ result: false })
    const { password, pair } = scene
    const asked = await scene.server.post('/api/v1/end-entity-passwords/authenticate', { ...pair, password })
    expect(asked.body.authenticated).toBe(false)
    // Who compares MACs himself goes round no lock.
    expect(refusalOf(await scene.calculate(part))).toEqual([400, 'INVALID_STATE'])
    const rejected = Array.from({ length: 10 }, () => 'PASSWORD_REJECTED')
    expect(await kindsOf(scene.endEntityId)).toEqual([...rejected, 'PASSWORD_LOCKED'])
    ahead = 15 * 60_000 + 1000
    expect((await scene.verify(part, mac)).body).toEqual({ result: true })
    expect((await scene.calculate(part)).status).toBe(200)
  })

  test('by passwords and by MACs counts together', async () => {
    await guess(5)
    const { pair } = scene
    for (let time = 0; time < 5; time += 1)
      await scene.server.post('/api/v1/end-entity-passwords/authenticate', { ...pair, password: `wrong ${time}` })
    expect((await service.em().findOneOrFail(EndEntityPassword, pair)).lockedUntil).toBeInstanceOf(Date)
  })

  test('of fifty at once no more than ten are heard', async () => {
    const mac = await macOver()
    await Promise.all(Array.from({ length: 50 }, () => scene.verify(part, wrong)))
    expect((await scene.verify(part, mac)).body).toEqual({ result: false })
    expect((await kindsOf(scene.endEntityId)).filter(kind => kind === 'PASSWORD_REJECTED')).toHaveLength(10)
  })
})

describe('what is not there', () => {
  test('is 400 with its own code, and a MAC by it is false', async () => {
    const unknown = { endEntityId: randomUUID() }
    expect(refusalOf(await scene.calculate(part, unknown))).toEqual([400, 'END_ENTITY_NOT_FOUND'])
    expect((await scene.verify(part, wrong, unknown)).body).toEqual({ result: false })
    const noPolicy = { policyId: randomUUID() }
    expect(refusalOf(await scene.calculate(part, noPolicy))).toEqual([400, 'POLICY_NOT_FOUND'])
    expect((await scene.verify(part, wrong, noPolicy)).body).toEqual({ result: false })
    const other = { endEntityId: await scene.newEndEntity() }
    expect(refusalOf(await scene.calculate(part, other))).toEqual([400, 'END_ENTITY_PASSWORD_NOT_FOUND'])
    expect((await scene.verify(part, wrong, other)).body).toEqual({ result: false })
  })

  test('is an end entity of another realm as well, whose name is told to nobody', async () => {
    const { endEntityId } = await makeCmpScene(service)
    const { fields } = await service.em().findOneOrFail(EndEntity, endEntityId)
    for (const octets of [part, protectedPart()]) {
      const asked = { ...statedIn(part), dataBase64: octets.toString('base64'), endEntityId }
      expect(refusalOf(await scene.calculate(part, asked))).toEqual([400, 'END_ENTITY_PASSWORD_NOT_FOUND'])
    }
    const told = (await eventsOf(scene.policyId)).map(({ eventDescription }) => eventDescription).join('\n')
    expect([fields.commonName?.length, told.includes(fields.commonName ?? '')]).toEqual([expect.any(Number), false])
  })

  test('an archived end entity protects nothing', async () => {
    const mac = await macOver()
    await service.em().nativeUpdate(EndEntity, { id: scene.endEntityId }, { archived: true })
    expect(refusalOf(await scene.calculate(part))).toEqual([400, 'ENTITY_ARCHIVED'])
    expect((await scene.verify(part, mac)).body).toEqual({ result: false })
  })

  test('neither does an archived policy', async () => {
    await service.em().nativeUpdate(Policy, { id: scene.policyId }, { archived: true })
    expect(await both()).toEqual(twice('ENTITY_ARCHIVED'))
  })
})

test.each<[string, object | null]>([
  ['does not take part', null],
  ['does not take part any more', { enabled: false }],
  ['allows no MACs', { macProtectionAllowed: false }],
])('a policy that %s has none made or judged', async (_, configuration) => {
  expect((await change(configuration)).status).toBe(200)
  expect(await both()).toEqual(twice('CMP_NOT_ENABLED'))
  expect(await kindsOf(scene.endEntityId)).toEqual([])
})

describe('what is protected', () => {
  test.each<[string, Buffer]>([
    ['is a whole text', Buffer.from('hello')],
    ['says that it is signed', protectedPart({ protectionAlg: Buffer.from('300a06082a8648ce3d040302', 'hex') })],
    ['says nothing of protection', protectedPart()],
  ])('and %s is refused, recorded, and no guess', async (_, octets) => {
    const members = statedIn(part)
    const about = { ...members, dataBase64: octets.toString('base64') }
    expect(await both(part, about)).toEqual(twice('SIGNING_REFUSED'))
    const told = (await eventsOf(scene.policyId)).filter(({ eventType }) => eventType === 'DATA_SIGNED')
    expect(told.map(({ eventDescription }) => eventDescription.includes(' not '))).toEqual([true, true])
    expect(await kindsOf(scene.endEntityId)).toEqual([])
  })

  test.each([
    { salt: Buffer.alloc(16, 8).toString('base64') },
    { iterationCount: 501 },
    { owfAlgorithm: 'SHA-512' },
    { macAlgorithm: 'HMAC-SHA1' },
  ])('says the same of its MAC as the call: %j', async members => {
    expect(await both(part, members)).toEqual(twice('SIGNING_REFUSED'))
  })
})

test.each([
  { salt: Buffer.alloc(7).toString('base64') },
  { salt: Buffer.alloc(65).toString('base64') },
  { iterationCount: 99 },
  { iterationCount: 1_000_001 },
  { owfAlgorithm: 'MD5' },
  { owfAlgorithm: '1.2.3' },
  { macAlgorithm: 'SHA-256' },
  { dataBase64: Buffer.alloc(1_048_577).toString('base64') },
  { dataBase64: '?' },
])('%j is 400', async members => {
  const refused = await both(part, members)
  expect(refused).toEqual(twice('INVALID_REQUEST'))
})

test('who asks needs a token, and SIGN on the policy', async () => {
  const body = { ...scene.pair, ...statedIn(part), macBase64: wrong.toString('base64') }
  const elsewhere = await makeCmpScene(service)
  const reader = await service.user({ POLICY: { [scene.policyId]: ['READ', 'UPDATE'] } })
  for (const path of ['/api/v1/cmp/calculate-mac', '/api/v1/cmp/verify-mac']) {
    expect((await service.anonymous.post(path, body)).status).toBe(401)
    for (const caller of [elsewhere.server, reader])
      expect(refusalOf(await caller.post(path, body))).toEqual([403, 'ACCESS_DENIED'])
  }
  expect(await kindsOf(scene.endEntityId)).toEqual([])
})

test('MACs of a million rounds wait in a line of their own, which one caller cannot fill', async () => {
  const limits = { macWork: { atOnce: 1, waiting: 2 } }
  const { orm, authenticate, settings, seal } = service.deps
  const databaseName = `certwright_unused_${process.env['JEST_WORKER_ID']}`
  const slow = await startApi({ databaseName, deps: { orm, authenticate, settings, seal, limits } })
  try {
    const token = await service.issuer.clientToken(scene.server.clientId)
    const long = protectedPart({ protectionAlg: pbm({ iterationCount: 1_000_000 }) })
    const body = { ...scene.pair, ...statedIn(long) }
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => slow.as(token).post('/api/v1/cmp/calculate-mac', body)),
    )
    expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 200, 429, 429])
    const short = await slow.as(token).post('/api/v1/cmp/calculate-mac', { ...scene.pair, ...statedIn(part) })
    expect(short.status).toBe(200)
  } finally {
    await slow.stop()
  }
})
