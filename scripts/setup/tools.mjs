// Tools of the machine that the tests need beside Node.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { SetupError } from './speech.mjs'

/** The path of a command, or undefined. */
export const onPath = command =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter(folder => folder !== '')
    .map(folder => join(folder, command))
    .find(path => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

const neededTools = [
  ['openssl', 'certificates, CRLs and PKCS#12 files are checked by a second implementation', 'openssl'],
  ['java', 'timers are tested on the time-skipping Temporal server', 'default-jre-headless'],
]

const mustHave = tools => {
  const missing = tools.filter(([command]) => onPath(command) === undefined)
  if (missing.length === 0) return
  const reasons = missing.map(([command, why]) => `  ${command} is missing: ${why}`)
  const packages = missing.map(([, , name]) => name).join(' ')
  throw new SetupError(
    `the tests need tools that this machine lacks.\n${reasons.join('\n')}\nInstall them, on Debian or Ubuntu: apt-get install ${packages}`,
  )
}

const compiler = ['javac', 'Bouncy Castle judges our signatures by a program in Java', 'default-jdk-headless']

/** Ends set-up when the Java compiler is missing. */
export const checkCompiler = () => mustHave([compiler])

/** Ends set-up when a tool is missing, and names the package that brings it. */
export const checkTools = () => mustHave(neededTools)
