// Reads what `scripts/setup.mjs` found on this machine.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The program of zlint, and the folder of the packages of pkilint. */
export interface Judges {
  readonly zlint: string
  readonly pkilint: string
}

interface Found {
  readonly temporalCli?: string | null
  readonly testServer?: string | null
  readonly keycloak?: string | null
  readonly pkits?: string | null
  readonly bouncyCastle?: string | null
  readonly judges?: Judges
}

const found = (): Found => {
  const file =
    process.env['CERTWRIGHT_SETUP_RECORD'] ?? join(import.meta.dirname, '../node_modules/.cache/certwright/setup.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Found
  } catch {
    return {}
  }
}

const orAdvice = (path: string | null | undefined, what: string, duty: string): string => {
  if (path) return path
  throw new Error(`Set-up has not found ${what}: run \`node scripts/setup.mjs ${duty}\` first.`)
}

/** The path of the Temporal CLI that set-up found. */
export const temporalCli = (): string => orAdvice(found().temporalCli, 'the Temporal CLI', 'start')

/** The path of the time-skipping server that set-up found. */
export const timeSkippingServer = (): string =>
  orAdvice(found().testServer, 'the time-skipping Temporal server', 'test')

/** The folder of the Keycloak that set-up found. */
export const keycloakHome = (): string => orAdvice(found().keycloak, 'Keycloak', 'keycloak')

/** The folder of the path validation suite of NIST that set-up found. */
export const pkitsFolder = (): string => orAdvice(found().pkits, 'PKITS', 'pkits')

/** The jar of Bouncy Castle that set-up found. */
export const bouncyCastle = (): string => orAdvice(found().bouncyCastle, 'Bouncy Castle', 'java')

/** The linters of others that set-up found. */
export const judgesFound = (): Judges => {
  const { judges } = found()
  if (judges) return judges
  throw new Error('Set-up has not found zlint and pkilint: run `node scripts/setup.mjs judges` first.')
}
