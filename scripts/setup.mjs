// Gets everything that `npm start`, the tests or `npm run check` need. Plain JavaScript for Node 18 and later; safe to run again.
import { checkCompiler, checkTools } from './setup/tools.mjs'
import { dependenciesCurrent, installDependencies } from './setup/dependencies.mjs'
import { takeLock } from './setup/lock.mjs'
import { cacheFolder, readRecord, writeRecord } from './setup/record.mjs'
import { SetupError, say, seconds } from './setup/speech.mjs'
import { bouncyCastleCurrent, findBouncyCastle } from './setup/bouncy-castle.mjs'
import { findJudges, judgesCurrent } from './setup/judges.mjs'
import { findKeycloak, keycloakCurrent } from './setup/keycloak.mjs'
import { findPkits, pkitsCurrent } from './setup/pkits.mjs'
import { findTemporalCli, temporalCliCurrent } from './setup/temporal-cli.mjs'
import { findTestServer, testServerCurrent } from './setup/test-server.mjs'

const duty = process.argv[2]
/** The tests with a real Keycloak, with Bouncy Castle, with linters, and those of PKITS, need all that the tests need. */
const tests = ['test', 'keycloak', 'java', 'judges', 'pkits'].includes(duty)

/** True when the record of the last set-up still holds, which is the case at nearly every start. */
const current = record =>
  dependenciesCurrent(record) &&
  (duty === 'check' || temporalCliCurrent(record)) &&
  (!tests || testServerCurrent(record)) &&
  (duty !== 'keycloak' || keycloakCurrent(record)) &&
  (duty !== 'java' || bouncyCastleCurrent(record)) &&
  (duty !== 'pkits' || pkitsCurrent(record)) &&
  (duty !== 'judges' || judgesCurrent(record))

const setUp = async () => {
  const started = Date.now()
  await installDependencies(readRecord())
  if (duty !== 'check') writeRecord({ temporalCli: await findTemporalCli() })
  if (tests) writeRecord({ testServer: await findTestServer() })
  if (duty === 'keycloak') writeRecord({ keycloak: await findKeycloak() })
  if (duty === 'java') writeRecord({ bouncyCastle: await findBouncyCastle() })
  if (duty === 'pkits') writeRecord({ pkits: await findPkits() })
  if (duty === 'judges') writeRecord({ judges: await findJudges() })
  say(`Set-up done in ${seconds(started)}.`)
}

const main = async () => {
  if (!['start', 'test', 'keycloak', 'java', 'judges', 'pkits', 'check'].includes(duty))
    throw new SetupError(
      'Say what to set up: `setup.mjs start`, `test`, `keycloak`, `java`, `judges`, `pkits` or `check`.',
    )
  if (tests) checkTools()
  if (duty === 'java') checkCompiler()
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
