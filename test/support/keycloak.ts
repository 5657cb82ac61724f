// A real Keycloak with the realm that docker compose imports, for the tests that are run against it as well as against the
// embedded identity provider (`npm run test:keycloak`).
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import KeycloakAdminClient from '@keycloak/keycloak-admin-client'
import { startProcess, type RunningProcess } from '../../embedded/processes/process.ts'
import { until } from '../../embedded/processes/until.ts'
import { keycloakHome } from '../../embedded/setup-record.ts'

const administrator = { username: 'admin', password: 'the-password-of-all-tests' }
/** The realm of keycloak/realm.json. */
const realm = 'certwright'
/** The secrets that its file is filled with. */
export const realmSecrets = {
  ADMIN_CLIENT_SECRET: 'the-secret-of-administrators',
  SCEP_CLIENT_SECRET: 'the-secret-of-gateways',
  DIRECTORY_CLIENT_SECRET: 'the-secret-of-workers',
}
const startTimeoutMs = 600_000

const environmentOf = (importFolder: string, smtpPort: number): NodeJS.ProcessEnv => ({
  ...process.env,
  KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
  KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
  ...realmSecrets,
  KEYCLOAK_SMTP_HOST: '127.0.0.1',
  KEYCLOAK_SMTP_PORT: String(smtpPort),
  KEYCLOAK_SMTP_FROM: 'identity@example.org',
  JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
  // As --import-realm, from a folder of our own: the installation is shared by all checkouts.
  JAVA_OPTS_APPEND: [
    '-XX:TieredStopAtLevel=1',
    '-Dkeycloak.migration.action=import -Dkeycloak.migration.provider=dir -Dkeycloak.migration.strategy=IGNORE_EXISTING',
    `-Dkeycloak.migration.dir=${importFolder} -Dkeycloak.migration.replace-placeholders=true`,
  ].join(' '),
})

const commandOf = (port: number): [string, ...string[]] => [
  'sh',
  join(keycloakHome(), 'bin/kc.sh'),
  'start',
  '--optimized',
  '--http-enabled=true',
  '--http-host=127.0.0.1',
  `--http-port=${port}`,
  `--hostname=http://127.0.0.1:${port}/auth`,
  '--cache=local',
]

const ready = async (part: RunningProcess, issuer: string): Promise<void> => {
  await until({ part, timeoutMs: startTimeoutMs }, async () => {
    const { ok, status } = await fetch(`${issuer}/.well-known/openid-configuration`)
    if (!ok) throw new Error(`It answered ${status}.`)
  })
}

/** Starts Keycloak on this port, with its files below the folder. */
export const startKeycloak = async (
  folder: string,
  { port, smtpPort }: { readonly port: number; readonly smtpPort: number },
) => {
  const importFolder = join(folder, 'realms')
  mkdirSync(importFolder)
  copyFileSync(join(import.meta.dirname, '../../keycloak/realm.json'), join(importFolder, 'certwright-realm.json'))
  const part = startProcess({
    name: 'Keycloak',
    command: commandOf(port),
    environment: environmentOf(importFolder, smtpPort),
    logFile: join(folder, 'logs/keycloak.log'),
  })
  const url = `http://127.0.0.1:${port}/auth`
  const issuer = `${url}/realms/${realm}`
  await ready(part, issuer)
  return { url, issuer, tokenUrl: `${issuer}/protocol/openid-connect/token`, pid: part.pid, stop: part.stop }
}

/** Its administrator, logged in anew. */
export const keycloakAdmin = async (url: string): Promise<KeycloakAdminClient> => {
  const admin = new KeycloakAdminClient({ baseUrl: url, realmName: 'master' })
  await admin.auth({ grantType: 'password', clientId: 'admin-cli', ...administrator })
  admin.setConfig({ realmName: realm })
  return admin
}
