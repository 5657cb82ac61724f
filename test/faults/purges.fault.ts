// A purge of 50,000 archived certificates, whose worker is killed again and again in the middle; and one that nobody disturbs,
// to say how long it takes.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityManager } from '@mikro-orm/postgresql'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Purge, PurgeItem } from '../../storage/rows/purge.ts'
import { Workbench } from '../pki/openssl.ts'
import { requestAll } from '../stories/scene.ts'
import { copyCertificate } from '../support/copies.ts'
import { readCrl } from '../support/revoking.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'

const fault = 'worker killed in a purge'
const size = 50_000
const kills = 6
const longestDelayMs = 3000
/** Filling the table takes minutes on a busy machine, and so does the purge. */
const longestMs = 1_800_000

const bench = new Workbench()
let installation: Installation

beforeAll(async () => {
  installation = await openInstallation()
}, 120_000)
afterAll(async () => {
  await installation.stop()
  await bench.clear()
}, 60_000)

const first = async <T extends object>(sql: string, values: readonly unknown[]): Promise<T> => {
  const [row] = await installation.em().execute<T[]>(sql, [...values])
  if (!row) throw new Error(`Nothing was answered: ${sql}`)
  return row
}

interface Archived {
  readonly realmId: string
  /** Of those that a list has to name when they are gone. */
  readonly serialNumbers: ReadonlySet<string>
}

const archived = `archived = true, archived_date = now(), archived_by_type = 'SYSTEM', archived_with = ?::uuid`

/**
 * What belongs to each certificate of a realm: a serial number, a key and a grant; every other one is revoked, the rest has
 * expired, and all is archived with the realm.
 */
const furnish = [
  `insert into private_key (id, sealed, created_date)
   select md5('key ' || id)::uuid, '\\x00', now() from certificate where realm_id = ?::uuid`,
  `update certificate set private_key_id = md5('key ' || id)::uuid, serial_number = '1' || substr(md5(id::text), 2),
     revocation_date = case when substr(id::text, 1, 1) < '8' then now() end,
     revocation_reason = case when substr(id::text, 1, 1) < '8' then 'SUPERSEDED' end,
     valid_not_after = case when substr(id::text, 1, 1) < '8' then valid_not_after else now() - interval '1 day' end,
     ${archived} where realm_id = ?::uuid`,
  ...['cert_request', 'end_entity', 'policy'].map(table => `update ${table} set ${archived} where realm_id = ?::uuid`),
  `update realm set ${archived.replace('?::uuid', 'null')} where id = ?::uuid`,
  `insert into permission_grant (principal_id, scope, resource_id, permissions)
   select realm_id, 'CERTIFICATE', id, '{READ}' from certificate where realm_id = ?::uuid`,
]

/** Fills the table without its dearest index, which is made anew then. */
const withoutSearch = async (fill: (em: EntityManager) => Promise<void>): Promise<void> => {
  const { definition } = await first<{ definition: string }>(
    `select pg_get_indexdef('certificate_search'::regclass) as definition`,
    [],
  )
  await installation.orm.em.fork().transactional(async em => {
    // Nothing is looked for that is known to be there: a table that grows in one transaction has no plan that fits.
    await em.execute('set local session_replication_role = replica')
    await em.execute('drop index certificate_search')
    await fill(em)
    await em.execute(definition)
  })
  await installation.em().execute('analyze')
}

/** A realm with so many certificates, all of them archived with it. */
const makeArchived = async (): Promise<Archived> => {
  const { realmId, ...scene } = await installation.makeScene(1)
  const requests = await requestAll(installation, { realmId, ...scene })
  const { body } = await installation.call('POST', '/api/v1/certificates/cert-requests', requests)
  const [{ id }] = body.certificates
  await withoutSearch(async em => {
    await copyCertificate(em, id, size - 1)
    for (const sql of furnish)
      await em.execute(
        sql,
        Array.from(sql.matchAll(/\?/g), () => realmId),
      )
  })
  const rows = await installation
    .em()
    .execute<{ serial: string }[]>(
      `select serial_number as serial from certificate where realm_id = ? and revocation_date is not null`,
      [realmId],
    )
  return { realmId, serialNumbers: new Set(rows.map(({ serial }) => serial)) }
}

const counts = (realmId: string) =>
  first(
    `select (select count(*)::int from certificate where realm_id = ?) as certificates,
            (select count(*)::int from cert_request where realm_id = ?) as requests,
            (select count(*)::int from private_key where sealed = '\\x00') as keys,
            (select count(*)::int from permission_grant where principal_id = ?) as grants`,
    [realmId, realmId, realmId],
  )
const none = { certificates: 0, requests: 0, keys: 0, grants: 0 }

/** How many deletions in a realm were recorded, and of how many resources. */
const recorded = (realmId: string) =>
  first(
    `select count(*)::int as events, count(distinct object_id)::int as resources from audit_event
      where realm_id = ? and event_type = 'ENTITY_DELETED'`,
    [realmId],
  )

const latest = () => installation.em().findOneOrFail(Purge, { id: { $ne: null } }, { orderBy: { startedDate: 'desc' } })
const isClosed = async (): Promise<boolean> => (await installation.em().count(Purge, { closedDate: null })) === 0

/** Waits for the end as long as it comes nearer. */
const untilClosed = async (): Promise<void> => {
  let before = -1
  while (!(await isClosed()))
    before = await eventually('the purge goes on', async () => {
      const { deleted, along } = await latest()
      return (deleted + along > before || (await isClosed())) && deleted + along
    })
}

/** The serial numbers of the list that anybody fetches now, once nothing is left to tell. */
const listed = async (): Promise<Set<string>> => {
  const em = installation.em()
  const { issuingCaId } = await em.findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  await em.execute(`update kept_revocation set crl_pending = true where serial_number in
    (select min(serial_number) from kept_revocation)`)
  await eventually('a list is made', async () => {
    const { n } = await first<{ n: number }>('select count(*)::int as n from kept_revocation where crl_pending', [])
    return n === 0
  })
  const response = await fetch(`${installation.started.addresses.baseUrl}/pki/crl/${issuingCaId}.crl`)
  return new Set((await readCrl(bench, Buffer.from(await response.arrayBuffer()))).entries.keys())
}

test(
  '50,000 archived certificates are deleted once each, however often the worker dies',
  async () => {
    const chance = chanceFor(fault)
    const { realmId, serialNumbers } = await makeArchived()
    expect(await counts(realmId)).toEqual({ certificates: size, requests: size, keys: size, grants: size })
    const until = encodeURIComponent(new Date().toISOString())
    const asked = installation.call('DELETE', `/api/v1/admin/archived?entity=CERTIFICATE&until=${until}`)
    const seen: number[] = []
    for (let kill = 0; kill < kills; kill += 1) {
      await eventually('it goes on', async () => {
        const [purge] = await installation.em().find(Purge, {})
        return purge && purge.deleted > (seen.at(-1) ?? 0)
      })
      await pause(chance() * longestDelayMs)
      const { worker } = installation.running
      await worker.kill()
      expect(await worker.exited).toContain('SIGKILL')
      seen.push((await latest()).deleted)
      await installation.startWorker()
      await installation.giveUpAttempts((await latest()).id, worker)
    }
    expect((await asked).status).toBe(204)
    expect(seen[0]).toBeLessThan(size)
    await untilClosed()
    process.stdout.write(`fault: ${fault}: killed at ${seen.join(', ')} of ${size}\n`)

    expect(await latest()).toMatchObject({ total: size, deleted: size, along: size, skipped: 0 })
    expect(await counts(realmId)).toEqual(none)
    expect(await recorded(realmId)).toEqual({ events: 2 * size, resources: 2 * size })
    expect(await installation.em().count(PurgeItem, {})).toBe(0)
    const entries = await listed()
    expect([...serialNumbers.difference(entries)]).toEqual([])
    expect([...entries.difference(serialNumbers)]).toEqual([])
  },
  longestMs,
)

test(
  'so long a realm of 50,000 certificates takes',
  async () => {
    const { realmId } = await makeArchived()
    const begin = performance.now()
    const path = '/api/v1/admin/batch-delete?entity=REALM'
    const { status } = await installation.call('POST', path, { deleteEntityRequestDtoList: [realmId] })
    expect(status).toBe(204)
    await untilClosed()
    const seconds = ((performance.now() - begin) / 1000).toFixed(0)
    process.stdout.write(`a realm of ${size} certificates was deleted in ${seconds} s\n`)
    expect(await counts(realmId)).toEqual(none)
    const all = 2 * size + 3
    expect(await recorded(realmId)).toEqual({ events: all, resources: all })
  },
  longestMs,
)
