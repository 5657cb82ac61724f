// The embedded PostgreSQL and Temporal servers survive crashes.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Connection } from '@temporalio/client'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { freePort } from '../../embedded/processes/ports.ts'
import { type PostgresSettings, startPostgres } from '../../embedded/servers/postgres.ts'
import { stopRemaining } from '../../embedded/processes/process.ts'
import { searchAttributes, prepareTemporal, startTemporal } from '../../embedded/servers/temporal.ts'
import { stack } from '../support/stack.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'certwright-servers-'))
  chmodSync(folder, 0o755)
})

afterEach(async () => {
  await stopRemaining()
  rmSync(folder, { recursive: true })
})

const query = async (url: string, sql: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

const settings = async (): Promise<PostgresSettings> => ({
  folder: join(folder, 'postgres'),
  port: await freePort(),
  password: "with 'odd' characters/@",
  logFile: join(folder, 'postgres.log'),
  durable: false,
  databases: ['certwright', 'identity'],
})

test('PostgreSQL 18 keeps what was committed when it is killed', async () => {
  const wanted = { ...(await settings()), durable: true }
  const first = await startPostgres(wanted)
  await query(first.url('certwright'), 'CREATE TABLE kept AS SELECT 42 AS answer')
  await first.kill()
  expect(first.ended()).toBe(true)
  const second = await startPostgres(wanted)
  expect((await query(second.url('certwright'), 'TABLE kept')).rows).toEqual([{ answer: 42 }])
  expect((await query(second.url('identity'), 'SHOW server_version')).rows[0].server_version).toMatch(/^18\./)
})

test('a postmaster.pid that names another living process does not block PostgreSQL', async () => {
  const wanted = await settings()
  const first = await startPostgres(wanted)
  const pidFile = join(wanted.folder, 'postmaster.pid')
  const stale = readFileSync(pidFile, 'utf8').replace(/^\d+/, String(process.pid))
  await first.kill()
  writeFileSync(pidFile, stale)
  const second = await startPostgres(wanted)
  expect(second.ended()).toBe(false)
})

test('PostgreSQL that nobody stopped is taken over', async () => {
  const wanted = await settings()
  const orphan = await startPostgres(wanted)
  const second = await startPostgres(wanted)
  expect(orphan.ended()).toBe(true)
  expect(second.pid).not.toBe(orphan.pid)
})

test('a PostgreSQL that cannot start says why', async () => {
  const wanted = await settings()
  await (await startPostgres(wanted)).stop()
  writeFileSync(join(wanted.folder, 'postgresql.conf'), 'no_such_setting = 1\n')
  await expect(startPostgres(wanted)).rejects.toThrow('no_such_setting')
})

const attributesOf = async (address: string, namespace: string) => {
  const connection = await Connection.connect({ address })
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  await connection.close()
  return Object.keys(customAttributes)
}

test('Temporal has its namespace and search attributes after a crash as well', async () => {
  const port = await freePort()
  const files = { databaseFile: join(folder, 'temporal.db'), logFile: join(folder, 'temporal.log') }
  const wanted = { program: stack.temporalCli(), port, ...files }
  const first = await startTemporal(wanted)
  await first.kill()
  const { address } = await startTemporal(wanted)
  expect(await attributesOf(address, 'certwright')).toEqual(expect.arrayContaining(Object.keys(searchAttributes)))
})

test('a Temporal server of the user gets namespace and search attributes, twice without harm', async () => {
  const namespace = `prepared-${process.pid}`
  await prepareTemporal(stack.temporalAddress(), namespace)
  await prepareTemporal(stack.temporalAddress(), namespace)
  expect(await attributesOf(stack.temporalAddress(), namespace)).toEqual(
    expect.arrayContaining(Object.keys(searchAttributes)),
  )
})
