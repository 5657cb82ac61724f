// Policies with realm and provider are kept, and yet nobody acts by what they were: each statement says which versions are there.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { openStorage } from '../../storage/orm.ts'
import { surroundingsOf, type Surroundings } from '../../storage/policy-surroundings.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { freshDatabase } from '../support/database.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

let orm: MikroORM
/** As another process would reach the same database. */
let others: MikroORM
let policyId: string
let realm: Realm

beforeAll(async () => {
  const url = await freshDatabase()
  orm = await openStorage({ url })
  others = await openStorage({ url })
})
afterAll(async () => {
  await orm.close()
  await others.close()
})
beforeEach(async () => {
  const em = orm.em.fork()
  realm = await makeRealm(em)
  policyId = (await makePolicy(em, realm)).id
})

const look = async (em: EntityManager = orm.em.fork()): Promise<Surroundings> => {
  const found = (await surroundingsOf(em, [policyId])).of.get(policyId)
  if (!found) throw new Error('There is no such policy.')
  return found
}

const data = (row: object): unknown => JSON.parse(JSON.stringify(row))

test('what is kept is what find reads', async () => {
  const { policy, realm: around, provider } = await look()
  const em = orm.em.fork()
  expect(data(policy)).toEqual(data(await em.findOneOrFail(Policy, policyId)))
  expect(data(around)).toEqual(data(await em.findOneOrFail(Realm, policy.realmId)))
  expect(data(provider)).toEqual(data(await em.findOneOrFail(CertificateProvider, policy.certificateProviderId)))
  expect([policy.createdDate, policy.place]).toEqual([expect.any(Date), { REALM: realm.id, POLICY: policyId }])
})

test('what has not changed is the same object, which nobody can change', async () => {
  const [one, other] = [await look(), await look()]
  expect([other.policy === one.policy, other.realm === one.realm, other.provider === one.provider]).toEqual([
    true,
    true,
    true,
  ])
  expect(() => Object.assign(one.policy, { archived: true })).toThrow(TypeError)
  expect(() => Object.assign(one.policy.cryptoRestrictions, { keySizes: [] })).toThrow(TypeError)
  expect(() => Object.assign(one.provider.settings, { keyAlgorithm: 'EC' })).toThrow(TypeError)
})

interface Change {
  readonly what: string
  readonly sql: string
  readonly seen: (found: Surroundings) => unknown
}

const provider = '(select certificate_provider_id from policy where id = $1)'

test.each<Change>([
  {
    what: 'the archived policy',
    sql: 'update policy set archived = true where id = $1',
    seen: at => at.policy.archived,
  },
  {
    what: 'the archived realm',
    sql: 'update realm set archived = true where id = (select realm_id from policy where id = $1)',
    seen: at => at.realm.archived,
  },
  {
    what: 'the archived provider',
    sql: `update certificate_provider set archived = true where id = ${provider}`,
    seen: at => at.provider.archived,
  },
  {
    what: 'the provider that has a CA now',
    sql: `update certificate_provider set issuing_ca_id = gen_random_uuid() where id = ${provider}`,
    seen: at => at.provider.issuingCaId !== null,
  },
  {
    what: 'the name of the realm, which is shown with the policy',
    sql: `update realm set name = 'Renamed' || id where id = (select realm_id from policy where id = $1)`,
    seen: at => at.policy.realmName === at.realm.name && at.realm.name.startsWith('Renamed'),
  },
])('$what is seen at once, whoever changed it and without being told', async ({ sql, seen }) => {
  expect(seen(await look())).toBe(false)
  await others.em.fork().execute(sql.replaceAll('$1', `'${policyId}'`))
  expect(seen(await look())).toBe(true)
})

test('what a transaction has changed is seen in it, and not once it is rolled back', async () => {
  await look()
  const change = orm.em.fork().transactional(async em => {
    await em.execute('update policy set archived = true where id = ?', [policyId])
    expect((await look(em)).policy.archived).toBe(true)
    expect((await look()).policy.archived).toBe(false)
    throw new Error('broken off')
  })
  await expect(change).rejects.toThrow('broken off')
  expect((await look()).policy.archived).toBe(false)
})

test('keys that were compromised are told along with it', async () => {
  const em = orm.em.fork()
  const policy = await em.findOneOrFail(Policy, policyId)
  const { id, publicKeyHash } = await makeCertificate(em, policy, { endEntity: await makeEndEntity(em, realm) })
  const compromised = async () => [...(await surroundingsOf(orm.em.fork(), [policyId], [publicKeyHash])).compromised]
  expect(await compromised()).toEqual([])
  const sql = `update certificate set revocation_date = now(), revocation_reason = 'KEY_COMPROMISE' where id = ?`
  await em.execute(sql, [id])
  expect(await compromised()).toEqual([publicKeyHash])
})
