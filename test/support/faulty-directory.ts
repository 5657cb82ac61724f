// A service whose worker reaches the identity provider over a way that can be broken, for the tests of what fails there.
import { openDirectory } from '../../activities/directory/keycloak.ts'
import { startFaultyProxy } from './faulty-proxy.ts'
import { openIdentities } from './identities.ts'
import { startService } from './service.ts'
import { directorySettings, stack } from './stack.ts'

/** Starts it; `store` asks the identity provider without detour. `stop()` it at the end. */
export const startFaultyDirectory = async () => {
  const { origin, pathname } = new URL(stack.directoryUrl())
  const proxy = await startFaultyProxy(origin)
  const directory = openDirectory({ ...directorySettings(), url: `${proxy.url}${pathname}` })
  const service = await startService({ services: { directory } })
  const store = await openIdentities()
  const stop = async (): Promise<void> => {
    await proxy.stop()
    await store.close()
    await service.stop()
  }
  return { service, proxy, store, stop }
}

/** A running one. */
export type FaultyDirectory = Awaited<ReturnType<typeof startFaultyDirectory>>
