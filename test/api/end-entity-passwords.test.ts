// Passwords of end entities: made, replaced, told about and deleted (contract 6.6, 12).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { passwordUse } from '../../storage/key-uses.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { startApi, type Api } from '../support/api.ts'
import { makeDevice, passwordRow, passwordsPath, type Device } from '../support/end-entity-passwords.ts'
import { refusalOf, statusesOf } from '../support/issuing.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'
import { Setting } from '../../storage/rows/setting.ts'

let api: Api
let device: Device
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  device = await makeDevice(api)
})
afterAll(() => api.stop())

const reset = `${passwordsPath}/reset`
const form = /^[\x21-\x7e]{16}$/
const archive = (entity: typeof EndEntity | typeof Policy, id: string) =>
  api.em().nativeUpdate(entity as typeof Policy, { id }, { archived: true })

/** The owner's calls that work on the password of a pair. */
const calls = (pair: object): Readonly<Record<string, () => ReturnType<Device['owner']['post']>>> => ({
  create: () => device.owner.post(passwordsPath, pair),
  reset: () => device.owner.post(reset, pair),
  delete: () => device.owner.delete(passwordsPath, pair),
})
const names = ['create', 'reset', 'delete'] as const

describe('createNewEndEntityPassword', () => {
  test('makes a password, tells it once and keeps it sealed and as a verifier', async () => {
    const { owner, pair, endEntity } = device
    const { status, body } = await owner.post(passwordsPath, pair)
    expect(status).toBe(201)
    expect(body).toEqual({
      policyId: pair.policyId,
      endEntityIds: [pair.endEntityId],
      password: expect.stringMatching(form),
      metadata: expect.objectContaining({ createdBy: owner.id, createdByType: 'USER', version: 1 }),
    })
    const row = await passwordRow(api.em(), device)
    expect(api.deps.seal.unseal(row.sealed, passwordUse(pair)).toString()).toBe(body.password)
    expect(row.verifier).toMatch(/^scrypt\$2048\$8\$1\$[\w+/]{22}==\$[\w+/]{43}=$/)
    const events = await api.em().find(AuditEvent, { objectId: endEntity.id })
    expect(events).toEqual([expect.objectContaining({ eventType: 'PASSWORD_CREATED', realmId: device.realm.id })])
    for (const kept of [JSON.stringify(events), row.verifier, row.sealed.toString('latin1')])
      expect(kept).not.toContain(body.password)
  })

  test('gives several end entities the same password', async () => {
    const em = api.em()
    const more = [await makeEndEntity(em, device.realm), await makeEndEntity(em, device.realm)]
    const endEntityIds = more.map(({ id }) => id)
    const owner = await api.user({
      POLICY: { [device.policy.id]: ['READ'] },
      END_ENTITY: Object.fromEntries(endEntityIds.map(id => [id, ['UPDATE']])),
    })
    const { status, body } = await owner.post(passwordsPath, { endEntityIds, policyId: device.policy.id })
    expect([status, body.endEntityIds]).toEqual([201, endEntityIds])
    for (const endEntityId of endEntityIds) expect(await device.passes(body.password, { endEntityId })).toBe(true)
    expect(await device.passes(body.password)).toBe(false)
  })

  test('makes none when one of them has one, also when both are asked for at once', async () => {
    const { owner, pair } = device
    const replies = await Promise.all(Array.from({ length: 6 }, () => owner.post(passwordsPath, pair)))
    expect(statusesOf(replies)).toEqual([201, 409, 409, 409, 409, 409])
    const other = await makeEndEntity(api.em(), device.realm)
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const both = { endEntityIds: [other.id, pair.endEntityId], policyId: pair.policyId }
    const refused = await admin.post(passwordsPath, both)
    expect(refusalOf(refused)).toEqual([409, 'ALREADY_EXISTS'])
    expect(JSON.stringify(refused.body.fieldErrors)).toContain(pair.endEntityId)
    expect(await api.em().count(EndEntityPassword, { endEntityId: other.id })).toBe(0)
  })

  test('takes the length from the setting', async () => {
    const em = api.em()
    em.create(Setting, { settingsKey: 'password.length', value: '64' })
    await em.flush()
    expect(await device.givePassword()).toHaveLength(64)
    await em.nativeDelete(Setting, { settingsKey: 'password.length' })
  })

  test('refuses an end entity of another realm', async () => {
    const stranger = await makeEndEntity(api.em(), await makeRealm(api.em()))
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const pair = { endEntityIds: [stranger.id], policyId: device.policy.id }
    expect(refusalOf(await admin.post(passwordsPath, pair))).toEqual([422, 'REALM_MISMATCH'])
  })

  test.each([{}, { endEntityIds: [] }, { endEntityIds: null }, { endEntityId: null }])(
    'asks for end entities, not %j',
    async members => {
      const body = { policyId: device.policy.id, ...members }
      expect(refusalOf(await device.owner.post(passwordsPath, body))).toEqual([400, 'INVALID_REQUEST'])
    },
  )

  test('asks for one of the two members, not both', async () => {
    const body = { ...device.pair, endEntityIds: [device.endEntity.id] }
    expect(refusalOf(await device.owner.post(passwordsPath, body))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('resetEndEntityPassword', () => {
  test('replaces the password of this end entity, and the one before is none any more', async () => {
    const { owner, pair, passes } = device
    const before = await device.givePassword()
    const { status, body } = await owner.post(reset, pair)
    expect([status, body]).toEqual([
      200,
      {
        ...pair,
        password: expect.stringMatching(form),
        metadata: expect.objectContaining({ version: 2, lastModifiedBy: owner.id }),
      },
    ])
    expect([await passes(before), await passes(body.password)]).toEqual([false, true])
    const row = await passwordRow(api.em(), device)
    expect(api.deps.seal.unseal(row.sealed, passwordUse(pair)).toString()).toBe(body.password)
  })

  test('unlocks', async () => {
    const locked = { failures: 10, failingSince: new Date(), lockedUntil: new Date(Date.now() + 600_000) }
    const before = await device.givePassword()
    await api.em().nativeUpdate(EndEntityPassword, device.pair, locked)
    expect(await device.passes(before)).toBe(false)
    expect(await device.passes((await device.owner.post(reset, device.pair)).body.password)).toBe(true)
  })

  test('of several at once each is done, and the last one stays', async () => {
    await device.givePassword()
    const replies = await Promise.all(Array.from({ length: 5 }, () => device.owner.post(reset, device.pair)))
    expect(statusesOf(replies)).toEqual([200, 200, 200, 200, 200])
    const last = replies.find(({ body }) => body.metadata.version === 6)
    expect(await device.passes(last?.body.password)).toBe(true)
  })
})

describe('deleteEndEntityPassword', () => {
  test('removes it, and another may be made', async () => {
    const password = await device.givePassword()
    expect((await device.owner.delete(passwordsPath, device.pair)).status).toBe(204)
    expect(await device.passes(password)).toBe(false)
    expect(await device.passes(await device.givePassword())).toBe(true)
    const events = await api.em().find(AuditEvent, { objectId: device.endEntity.id }, { orderBy: { id: 'asc' } })
    const kinds = events.map(({ eventType }) => eventType)
    expect(kinds.slice(0, 3)).toEqual(['PASSWORD_CREATED', 'PASSWORD_DELETED', 'PASSWORD_CREATED'])
  })

  test('without a body there is nothing to delete', async () => {
    expect(refusalOf(await device.owner.delete(passwordsPath))).toEqual([400, 'INVALID_JSON'])
  })
})

describe('what is told', () => {
  const one = () => `${passwordsPath}/end-entities/${device.endEntity.id}/policies/${device.policy.id}`
  const all = () => `${passwordsPath}/end-entities/${device.endEntity.id}/`

  test('that there is a password, and when it was used; never the password', async () => {
    const password = await device.givePassword()
    const { status, body } = await device.owner.get(one())
    expect([status, body]).toEqual([
      200,
      {
        id: (await passwordRow(api.em(), device)).id,
        ...device.pair,
        endEntityCommonName: device.endEntity.commonName,
        policyName: device.policy.name,
        lastUsedDate: null,
        metadata: expect.objectContaining({ version: 1 }),
      },
    ])
    const before = Date.now()
    await device.passes(password)
    const used = (await device.owner.get(one())).body
    expect(Date.parse(used.lastUsedDate)).toBeGreaterThanOrEqual(before)
    expect(used.metadata).toEqual(body.metadata)
    expect((await device.owner.get(all())).body).toMatchObject({ content: [used], totalElements: 1 })
  })

  test('a list of its own for each end entity, by page', async () => {
    const em = api.em()
    const policies = [
      await makePolicy(em, device.realm, { name: 'A' }),
      await makePolicy(em, device.realm, { name: 'B' }),
    ]
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    await (await makeDevice(api)).givePassword()
    for (const { id: policyId } of policies)
      await admin.post(passwordsPath, { endEntityId: device.endEntity.id, policyId })
    const { body } = await device.owner.get(`${all()}?size=1&sort=policyName,desc`)
    expect([body.content[0].policyName, body.totalElements, body.totalPages]).toEqual(['B', 2, 2])
  })

  test('no password: 404', async () => {
    expect(refusalOf(await device.owner.get(one()))).toEqual([404, 'END_ENTITY_PASSWORD_NOT_FOUND'])
    expect((await device.owner.get(all())).body.content).toEqual([])
  })

  test('of what is unknown, nothing; without a right, nothing', async () => {
    const [other, stranger] = [randomUUID(), await api.user()]
    const of = (endEntityId: string, policyId: string) => `/end-entities/${endEntityId}/policies/${policyId}`
    const { endEntityId, policyId } = device.pair
    const { owner } = device
    expect(refusalOf(await owner.get(passwordsPath + of(other, policyId)))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    expect(refusalOf(await owner.get(passwordsPath + of(endEntityId, other)))).toEqual([404, 'POLICY_NOT_FOUND'])
    expect(refusalOf(await owner.get(`${passwordsPath}/end-entities/${other}`))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    for (const path of [one(), all()]) {
      expect(refusalOf(await stranger.get(path))).toEqual([403, 'ACCESS_DENIED'])
      expect((await api.anonymous.get(path)).status).toBe(401)
    }
  })
})

describe.each(names)('%s', name => {
  const refusal = async (pair: object = device.pair) => refusalOf((await calls(pair)[name]?.()) as never)

  test('what is unknown is 404', async () => {
    const other = randomUUID()
    expect(await refusal({ ...device.pair, endEntityId: other })).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    expect(await refusal({ ...device.pair, policyId: other })).toEqual([404, 'POLICY_NOT_FOUND'])
    if (name !== 'create') expect(await refusal()).toEqual([404, 'END_ENTITY_PASSWORD_NOT_FOUND'])
  })

  test('what is archived is 409', async () => {
    const password = await device.givePassword()
    await archive(EndEntity, device.endEntity.id)
    expect(await refusal()).toEqual([409, 'ENTITY_ARCHIVED'])
    await api.em().nativeUpdate(EndEntity, { id: device.endEntity.id }, { archived: false })
    await archive(Policy, device.policy.id)
    expect(await refusal()).toEqual([409, 'ENTITY_ARCHIVED'])
    await api.em().nativeUpdate(Policy, { id: device.policy.id }, { archived: false })
    expect(await device.passes(password)).toBe(true)
  })

  test('an id that is none, another media type and no token are refused', async () => {
    expect(await refusal({ ...device.pair, endEntityId: 'x' })).toEqual([400, 'INVALID_IDENTIFIER'])
    const path = name === 'reset' ? reset : passwordsPath
    const method = name === 'delete' ? 'delete' : 'post'
    const form = { raw: 'a=b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
    expect((await device.owner[method](path, undefined, form)).status).toBe(415)
    expect((await api.anonymous[method](path, device.pair)).status).toBe(401)
    expect((await device.gateway[method](path, device.pair)).status).toBe(403)
  })
})
