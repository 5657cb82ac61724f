// Keycloak for `npm run test:keycloak`: the distribution from Maven, made ready for a quick start, kept in the cache.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fromMaven } from './maven.mjs'
import { runLong, SetupError } from './speech.mjs'

// The version of docker-compose.yml and of the client library.
const version = '26.4.7'

/** True when the recorded distribution is still there. */
export const keycloakCurrent = record => existsSync(record.keycloak ?? '')

const homeOf = folder => join(folder, `keycloak-${version}`)

// Keycloak compiles its configuration, which takes a minute; with this every start is without.
const build = async part => {
  const options = ['--db=dev-mem', '--http-relative-path=/auth']
  await runLong('Keycloak', ['sh', join(homeOf(part), 'bin/kc.sh'), 'build', ...options]).catch(error => {
    throw new SetupError(`Keycloak could not be prepared; it needs Java 17 or later. ${error.message}`)
  })
}

/** The folder of Keycloak; gets it when it is not in the cache. */
export const findKeycloak = async () =>
  homeOf(
    await fromMaven({
      what: `Keycloak ${version}`,
      size: '160 MB',
      why: 'which the tests of a real identity provider need',
      name: `keycloak-${version}`,
      pom: 'keycloak/pom.xml',
      goal: part => [
        'dependency:unpack-dependencies',
        `-DoutputDirectory=${part}`,
        `-DmarkersDirectory=${part}/markers`,
      ],
      finish: build,
    }),
  )
