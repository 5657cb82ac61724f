// The time-skipping Temporal server of the tests: a Java program from Maven, kept in the cache.
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fromMaven } from './maven.mjs'

const version = '1.38.0'

/** True when the recorded wrapper script is still there. */
export const testServerCurrent = record => existsSync(record.testServer ?? '')

// The SDK kills its direct child only, so the shell must become the Java process.
const wrapperScript = `#!/bin/sh
here=$(dirname "$0")
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Xmx256m -cp "$here/jars/*" io.temporal.testserver.TestServer "$@"
`

const writeWrapper = part => {
  writeFileSync(join(part, 'temporal-test-server'), wrapperScript)
  chmodSync(join(part, 'temporal-test-server'), 0o755)
}

/** The path of the wrapper script; gets the jars when they are not in the cache. */
export const findTestServer = async () => {
  const folder = await fromMaven({
    what: `Time-skipping Temporal server ${version}`,
    size: '38 MB',
    why: 'that the tests of timers need',
    name: `temporal-test-server-${version}`,
    pom: 'embedded/temporal-test-server/pom.xml',
    goal: part => ['dependency:copy-dependencies', `-DoutputDirectory=${join(part, 'jars')}`],
    finish: writeWrapper,
  })
  return join(folder, 'temporal-test-server')
}
