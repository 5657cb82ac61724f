// An identity provider of a test alone: nobody else makes users and clients in it meanwhile.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../embedded/processes/ports.ts'
import { startIdentityProvider, type IdentityProvider } from '../../embedded/servers/identity-provider.ts'
import { freshDatabase } from './database.ts'
import { stack } from './stack.ts'

/** Starts it with a database of this name; `stop()` also removes its key. */
export const startOwnIdentityProvider = async (name: string): Promise<IdentityProvider> => {
  const folder = mkdtempSync(join(tmpdir(), 'certwright-identity-'))
  const provider = await startIdentityProvider({
    port: await freePort(),
    databaseUrl: await freshDatabase(`identity_${name}_${process.env['JEST_WORKER_ID']}`),
    keyFile: join(folder, 'key.json'),
    smtpPort: stack.smtpPort(),
  })
  const stop = async () => {
    await provider.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { ...provider, stop }
}
