// What archiving one resource reads: by indexes, however many requests and certificates there are.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { system } from '../../domain/principal.ts'
import { archive, unarchive } from '../../storage/archiving.ts'
import { openStorage } from '../../storage/orm.ts'
import { actAs } from '../../storage/rows/stamp.ts'
import { freshDatabase } from '../support/database.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

const others = 3000
const columns = `select string_agg(quote_ident(column_name), ', ') as all from information_schema.columns
  where table_name = 'certificate' and is_generated = 'NEVER' and column_name not in ('id', 'cert_request_id', 'fingerprint')`

let orm: MikroORM
let ids: Readonly<Record<'END_ENTITY' | 'CERT_REQUEST' | 'CERTIFICATE', string>>

/** The requests and certificates of another end entity: copies of these. */
const copyAll = async (em: EntityManager, of: { request: string; certificate: string; endEntity: string }) => {
  const [row] = await em.execute<{ all: string }[]>(columns)
  await em.execute(
    `with ids as materialized (select gen_random_uuid() as request, gen_random_uuid() as certificate, i from generate_series(1, ${others}) i),
      requests as (insert into cert_request select (jsonb_populate_record(r, jsonb_build_object(
        'id', ids.request, 'certificate_id', ids.certificate, 'end_entity_id', ?::uuid))).* from cert_request r, ids where r.id = ?)
     insert into certificate (id, cert_request_id, fingerprint, ${row?.all})
     select ids.certificate, ids.request, 'copy ' || ids.i, ${row?.all} from certificate c, ids where c.id = ?`,
    [of.endEntity, of.request, of.certificate],
  )
  await em.execute(`update certificate set end_entity_id = ?::uuid where id <> ?`, [of.endEntity, of.certificate])
}

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
  const em = orm.em.fork()
  const realm = await makeRealm(em)
  const policy = await makePolicy(em, realm)
  const [endEntity, other] = [await makeEndEntity(em, realm), await makeEndEntity(em, realm)]
  const { id: certificate, certRequestId: request } = await makeCertificate(em, policy, { endEntity })
  ids = { END_ENTITY: endEntity.id, CERT_REQUEST: request, CERTIFICATE: certificate }
  await em.execute(`update cert_request set certificate_id = ? where id = ?`, [certificate, request])
  await em.execute(`update certificate set valid_not_after = now() - interval '1 day'`)
  await copyAll(em, { request, certificate, endEntity: other.id })
  await em.execute('vacuum analyze cert_request, certificate, end_entity')
})
afterAll(() => orm.close())

/** The rows of the large tables that this connection has read of late. */
const rowsRead = async (em: EntityManager): Promise<number> => {
  const [row] = await em.execute<{ read: number }[]>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables
      where relname in ('cert_request', 'certificate')`,
  )
  return row?.read ?? 0
}

/** The rows that a transaction reads, which is then taken back. */
const readBy = async (work: (em: EntityManager) => Promise<unknown>): Promise<number> => {
  const em = orm.em.fork()
  await em.begin()
  actAs(em, system)
  const before = await rowsRead(em)
  await work(em)
  const read = (await rowsRead(em)) - before
  await em.rollback()
  return read
}

test.each(['END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'] as const)('%s: one, and brought back', async kind => {
  const archiving = { kind: kind, ids: [ids[kind]], now: new Date() }
  const read = await readBy(async em => {
    await archive(em, archiving)
    await unarchive(em, archiving)
  })
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThan(others / 10)
})
