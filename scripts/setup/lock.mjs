// One set-up at a time: a lock file that names its owner.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { claimFile, identityOf } from '../../embedded/processes/claim.mjs'
import { say } from './speech.mjs'

const pollMs = 250
const sayAgainMs = 30_000

const waitForOwner = () => {
  let saidAt = 0
  return async ({ pid }) => {
    if (Date.now() - saidAt > sayAgainMs) {
      say(`Another set-up is running (process ${pid}); waiting for it to end.`)
      saidAt = Date.now()
    }
    await wait(pollMs)
  }
}

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/** Waits for the lock of a folder and answers the function that gives it back. */
export const takeLock = async folder => {
  const path = join(folder, 'setup.lock')
  await claimFile(path, identityOf(process.pid), {
    ownerOf: owner => (owner?.pid ? owner : undefined),
    whileOwned: waitForOwner(),
  })
  const release = () => rmSync(path, { force: true })
  for (const [signal, code] of Object.entries(exitCodes)) {
    process.once(signal, () => {
      release()
      process.exit(code)
    })
  }
  return release
}
