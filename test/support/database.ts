// A database of its own for every test process, copied from a template that is migrated once.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Client } from 'pg'
import { migrateFor, openStorage } from '../../storage/orm.ts'
import { stack } from './stack.ts'

const adminUrl = () => stack.databaseAdminUrl()

const urlOf = (database: string): string => {
  const url = new URL(adminUrl())
  url.pathname = `/${database}`
  return url.href
}

/** The template's name tells which migrations are in it. */
const templateName = (): string => {
  const folder = new URL('../../storage/migrations/', import.meta.url)
  const hash = createHash('sha256')
  for (const file of readdirSync(folder).sort()) hash.update(file).update(readFileSync(new URL(file, folder)))
  return `certwright_template_${hash.digest('hex').slice(0, 10)}`
}

/** The role that the service has in tests, as in production: it owns nothing. */
const serviceRole = { name: 'certwright_service', password: 'test' } as const

/** The URL of a fresh database for that role. */
export const serviceUrlOf = (ownerUrl: string): string => {
  const url = new URL(ownerUrl)
  url.username = serviceRole.name
  url.password = serviceRole.password
  return url.href
}

const makeServiceRole = async (admin: Client): Promise<void> => {
  const { name, password } = serviceRole
  const { rowCount } = await admin.query('select 1 from pg_roles where rolname = $1', [name])
  if (!rowCount) await admin.query(`create role ${name} login password '${password}'`)
}

const makeTemplate = async (admin: Client, name: string): Promise<void> => {
  const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [name])
  if (rowCount) return
  const { rows: old } = await admin.query(`select datname from pg_database where datname like 'certwright_template_%'`)
  for (const { datname } of old) await admin.query(`drop database if exists ${datname} with (force)`)
  const draft = `${name}_draft`
  await makeServiceRole(admin)
  await admin.query(`create database ${draft}`)
  const orm = await openStorage({ url: urlOf(draft) })
  await migrateFor(orm, serviceRole.name)
  await orm.close()
  await admin.query(`alter database ${draft} rename to ${name}`)
}

/** Makes an empty migrated database with this name (replacing an older one) and answers the URL of its owner. */
export const freshDatabase = async (name = `certwright_${process.env['JEST_WORKER_ID'] ?? 'dev'}`): Promise<string> => {
  const admin = new Client({ connectionString: adminUrl() })
  await admin.connect()
  try {
    const template = templateName()
    await admin.query('select pg_advisory_lock(7234002)')
    await makeTemplate(admin, template)
    await admin.query(`drop database if exists ${name} with (force)`)
    await admin.query(`create database ${name} template ${template}`)
  } finally {
    await admin.end()
  }
  return urlOf(name)
}
