// Java programs of the tests: got by Maven into the cache, once for all checkouts.
import { join } from 'node:path'
import { inCache } from './cache.mjs'
import { projectFolder } from './record.mjs'
import { SetupError, offlineAdvice, runLong } from './speech.mjs'
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
export const fromMaven = program => {
  const { what, size, name, finish } = program
  const make = async part => {
    mustHaveMaven(program)
    await runMaven(program, part).catch(error => {
      throw new SetupError(`${what} could not be got. ${error.message}${offlineAdvice(error.message)}`)
    })
    await finish(part)
    return part
  }
  return inCache(name, { what, how: `getting it by Maven (${size})`, make })
}
