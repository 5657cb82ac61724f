// The time-skipping Temporal server of the tests: a Java program from Maven, kept in the cache.
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, projectFolder } from './record.mjs'
import { SetupError, offlineAdvice, runLong, say, seconds } from './speech.mjs'
import { onPath } from './tools.mjs'

const version = '1.38.0'
const folder = () => join(cacheFolder(), `temporal-test-server-${version}`)
const wrapper = () => join(folder(), 'temporal-test-server')

/** True when the recorded wrapper script is still there. */
export const testServerCurrent = record => existsSync(record.testServer ?? '')

// The SDK kills its direct child only, so the shell must become the Java process.
const wrapperScript = `#!/bin/sh
here=$(dirname "$0")
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Xmx256m -cp "$here/jars/*" io.temporal.testserver.TestServer "$@"
`

const copyJars = async part => {
  const pom = join(projectFolder, 'embedded/temporal-test-server/pom.xml')
  const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${join(part, 'jars')}`]
  await runLong('Maven', ['mvn', '-q', '-B', '-f', pom, ...goal])
}

/** The path of the wrapper script; gets the jars when they are not in the cache. */
export const findTestServer = async () => {
  if (existsSync(wrapper())) return wrapper()
  if (onPath('mvn') === undefined) {
    throw new SetupError(
      `Maven is missing: it brings the time-skipping Temporal server (${version}, 38 MB) that the tests of timers need. ` +
        'Install it, on Debian or Ubuntu: apt-get install maven',
    )
  }
  const started = Date.now()
  say(`Time-skipping Temporal server: getting ${version} by Maven (38 MB) …`)
  const part = `${folder()}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { recursive: true })
  await copyJars(part).catch(error => {
    throw new SetupError(`The time-skipping server could not be got. ${error.message}${offlineAdvice(error.message)}`)
  })
  writeFileSync(join(part, 'temporal-test-server'), wrapperScript)
  chmodSync(join(part, 'temporal-test-server'), 0o755)
  rmSync(folder(), { recursive: true, force: true })
  renameSync(part, folder())
  say(`Time-skipping Temporal server: ready in ${seconds(started)}.`)
  return wrapper()
}
