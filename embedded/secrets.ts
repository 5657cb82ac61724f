// The generated secrets of one embedded installation and the file that keeps them.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The secrets of one embedded installation; losing them makes its sealed data unreadable. */
export interface Secrets {
  readonly postgresPassword: string
  /** Of the database role that API and worker have. */
  readonly servicePassword: string
  readonly payloadKeys: string
  readonly masterKeys: string
  readonly adminPassword: string
  readonly adminClientSecret: string
  readonly clientSecret: string
  /** Of the client by which the worker makes API clients. */
  readonly directoryClientSecret: string
  /** In the address at which the Temporal UI decodes payloads. */
  readonly codecKey: string
}

const word = (): string => randomBytes(24).toString('base64url')
const key = (): string => `k1:${randomBytes(32).toString('base64')}`

const make = (): Secrets => ({
  postgresPassword: word(),
  servicePassword: word(),
  payloadKeys: key(),
  masterKeys: key(),
  adminPassword: word(),
  adminClientSecret: word(),
  clientSecret: word(),
  directoryClientSecret: word(),
  codecKey: word(),
})

/** Writes a file that only its owner may read, whole or not at all. */
export const writePrivately = (file: string, content: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.part`, content, { mode: 0o600 })
  renameSync(`${file}.part`, file)
}

/** Reads the secrets; makes and keeps those that are missing. */
export const readSecrets = (file: string): Secrets => {
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<Secrets>) : {}
  const secrets = { ...make(), ...kept }
  writePrivately(file, `${JSON.stringify(secrets, null, 2)}\n`)
  return secrets
}
