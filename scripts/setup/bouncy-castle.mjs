// Bouncy Castle for `npm run test:java`: its jar from Maven, kept in the cache.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fromMaven } from './maven.mjs'

const version = '1.82'

/** True when the recorded jar is still there. */
export const bouncyCastleCurrent = record => existsSync(record.bouncyCastle ?? '')

/** The path of the jar; gets it when it is not in the cache. */
export const findBouncyCastle = async () => {
  const folder = await fromMaven({
    what: `Bouncy Castle ${version}`,
    size: '9 MB',
    why: 'which the tests of ML-DSA have as a judge',
    name: `bouncy-castle-${version}`,
    pom: 'test/clients/bouncy-castle/pom.xml',
    goal: part => ['dependency:copy-dependencies', `-DoutputDirectory=${part}`],
    finish: () => Promise.resolve(),
  })
  return join(folder, `bcprov-jdk18on-${version}.jar`)
}
