// Which keys are known to others: those of certificates, and those of certificates that are about to be deleted.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../../domain/enums.ts'
import { compromisedAmong, keepCompromised } from '../../storage/compromised-keys.ts'
import { openStorage } from '../../storage/orm.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CompromisedKey } from '../../storage/rows/compromised-key.ts'
import { statement } from '../../storage/statement.ts'
import { freshDatabase } from '../support/database.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

let orm: MikroORM
beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
})
afterAll(() => orm.close())

const newHash = (): string => randomBytes(32).toString('hex')

const asked = statement<{ found: string[] }>(`select ${compromisedAmong('$1::text[]')} as found`)
const among = async (...hashes: string[]): Promise<string[]> =>
  ((await asked.all(orm.em.fork(), [hashes]))[0]?.found ?? []).toSorted()

/** Certificates of these keys, each revoked for its reason. */
const revoked = async (
  em: EntityManager,
  all: readonly [hash: string, reason: RevocationReason | null][],
): Promise<string[]> => {
  const realm = await makeRealm(em)
  const [policy, endEntity] = [await makePolicy(em, realm), await makeEndEntity(em, realm)]
  const ids: string[] = []
  for (const [publicKeyHash, revocationReason] of all) {
    const revocationDate = revocationReason && new Date()
    ids.push((await makeCertificate(em, policy, { endEntity, publicKeyHash, revocationReason, revocationDate })).id)
  }
  return ids
}

test('a key is found by its certificate, by what was kept of it, and once by both', async () => {
  const em = orm.em.fork()
  const [one, other, fine, unrevoked] = [newHash(), newHash(), newHash(), newHash()]
  const ids = await revoked(em, [
    [one, 'KEY_COMPROMISE'],
    [one, 'KEY_COMPROMISE'],
    [other, 'SUPERSEDED'],
    [other, 'KEY_COMPROMISE'],
    [fine, 'CERTIFICATE_HOLD'],
    [unrevoked, null],
  ])
  const all = [one, other, fine, unrevoked]
  const compromised = [one, other].toSorted()
  expect(await among(...all)).toEqual(compromised)
  await keepCompromised(em, ids)
  expect(await among(...all)).toEqual(compromised)
  await keepCompromised(em, ids)
  await em.nativeDelete(Certificate, { id: { $in: ids } })
  expect(await among(...all)).toEqual(compromised)
  expect(await em.count(CompromisedKey, { publicKeyHash: { $in: all } })).toBe(2)
  expect(await among(fine, unrevoked, newHash())).toEqual([])
  expect(await among()).toEqual([])
})

test('purges that keep the same keys at the same time wait for each other and both end', async () => {
  const em = orm.em.fork()
  const hashes = Array.from({ length: 20 }, newHash)
  const compromised = (all: readonly string[]) =>
    all.map((hash): [string, RevocationReason] => [hash, 'KEY_COMPROMISE'])
  const [mine, theirs] = [await revoked(em, compromised(hashes)), await revoked(em, compromised(hashes.toReversed()))]
  const keep = (ids: readonly string[]) => orm.em.fork().transactional(tx => keepCompromised(tx, ids))
  await Promise.all([keep(mine), keep(theirs), keep(mine), keep(theirs)])
  expect(await among(...hashes)).toEqual(hashes.toSorted())
})

test('keys are found by indexes, however many they are', async () => {
  const em = orm.em.fork()
  await em.execute(
    `insert into compromised_key select encode(sha256(convert_to(n::text, 'UTF8')), 'hex') from generate_series(1, 20000) n`,
  )
  await em.execute('analyze compromised_key')
  await em.transactional(async tx => {
    // There are few certificates here, which are read as quickly without an index.
    await tx.execute('set local enable_seqscan = off')
    const explained = statement<{ 'QUERY PLAN': string }>(`explain select ${compromisedAmong('$1::text[]')}`)
    const plan = (await explained.all(tx, [[newHash(), newHash()]])).map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('compromised_key_pkey')
    expect(plan).toContain('certificate_public_key_hash_index')
    expect(plan).not.toContain('Seq Scan')
  })
})
