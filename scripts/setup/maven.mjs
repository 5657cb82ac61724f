// Java programs of the tests: got by Maven into the cache, once for all checkouts.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, projectFolder } from './record.mjs'
import { SetupError, offlineAdvice, runLong, say, seconds } from './speech.mjs'
import { onPath } from './tools.mjs'

const mustHaveMaven = ({ what, size, why }) => {
  if (onPath('mvn') !== undefined) return
  throw new SetupError(
    `Maven is missing: it brings ${what} (${size}) ${why}. Install it, on Debian or Ubuntu: apt-get install maven`,
  )
}

const runMaven = ({ pom, goal }, part) =>
  runLong('Maven', ['mvn', '-q', '-B', '-f', join(projectFolder, pom), ...goal(part)])

/**
 * The folder of a program in the cache. When it is not there, Maven's goal fills a new folder, `finish` makes it complete,
 * and only then it gets its name.
 */
export const fromMaven = async program => {
  const { what, size, name, finish } = program
  const folder = join(cacheFolder(), name)
  if (existsSync(folder)) return folder
  mustHaveMaven(program)
  const started = Date.now()
  say(`${what}: getting it by Maven (${size}) …`)
  const part = `${folder}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { recursive: true })
  await runMaven(program, part).catch(error => {
    throw new SetupError(`${what} could not be got. ${error.message}${offlineAdvice(error.message)}`)
  })
  await finish(part)
  renameSync(part, folder)
  say(`${what}: ready in ${seconds(started)}.`)
  return folder
}
