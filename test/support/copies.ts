// Very many certificates, copied inside the database: what tells them apart is made of a number.
import { randomUUID } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'

const columnsOf = async (em: EntityManager, table: string): Promise<string> => {
  const [row] = await em.execute<{ columns: string }[]>(
    `select string_agg(column_name, ', ') as columns from information_schema.columns
      where table_schema = 'public' and table_name = ? and is_generated = 'NEVER'`,
    [table],
  )
  return row?.columns ?? ''
}

/** Copies a certificate and its request so many times. */
export const copyCertificate = async (em: EntityManager, certificateId: string, count: number): Promise<void> => {
  const prefix = randomUUID()
  const id = (kind: string): string => `md5('${prefix} ${kind} ' || i)::uuid`
  const copies: [string, string, string][] = [
    [
      'cert_request',
      'c.id = (select cert_request_id from certificate where id = ?)',
      `'id', ${id('request')}, 'certificate_id', ${id('certificate')}`,
    ],
    [
      'certificate',
      'c.id = ?',
      `'id', ${id('certificate')}, 'cert_request_id', ${id('request')}, 'fingerprint', md5('${prefix}' || i) || md5(i::text)`,
    ],
  ]
  for (const [table, source, changes] of copies) {
    const columns = await columnsOf(em, table)
    await em.execute(
      `insert into ${table} (${columns}) select ${columns} from (
         select (jsonb_populate_record(c, jsonb_build_object(${changes}))).*
           from ${table} c, generate_series(1, ?) i where ${source}) copies`,
      [count, certificateId],
    )
  }
}
