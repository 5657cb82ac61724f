// Gets everything that `npm start`, `npm test` or `npm run check` needs. Plain JavaScript for Node 18 and later; safe to run again.
import { checkTools } from './setup/tools.mjs'
import { dependenciesCurrent, installDependencies } from './setup/dependencies.mjs'
import { takeLock } from './setup/lock.mjs'
import { cacheFolder, readRecord, writeRecord } from './setup/record.mjs'
import { SetupError, say, seconds } from './setup/speech.mjs'
import { findTemporalCli, temporalCliCurrent } from './setup/temporal-cli.mjs'
import { findTestServer, testServerCurrent } from './setup/test-server.mjs'

const duty = process.argv[2]

/** True when the record of the last set-up still holds, which is the case at nearly every start. */
const current = record =>
  dependenciesCurrent(record) &&
  (duty === 'check' || temporalCliCurrent(record)) &&
  (duty !== 'test' || testServerCurrent(record))

const setUp = async () => {
  const started = Date.now()
  await installDependencies(readRecord())
  if (duty !== 'check') writeRecord({ temporalCli: await findTemporalCli() })
  if (duty === 'test') writeRecord({ testServer: await findTestServer() })
  say(`Set-up done in ${seconds(started)}.`)
}

const main = async () => {
  if (!['start', 'test', 'check'].includes(duty))
    throw new SetupError('Say what to set up: `setup.mjs start`, `setup.mjs test` or `setup.mjs check`.')
  if (duty === 'test') checkTools()
  if (current(readRecord())) return
  const release = await takeLock(cacheFolder())
  try {
    if (!current(readRecord())) await setUp()
  } finally {
    release()
  }
}

main().catch(error => {
  say(`Set-up failed: ${error instanceof SetupError ? error.message : error.stack}`)
  process.exit(1)
})
