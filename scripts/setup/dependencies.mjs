// npm packages: installed when the lock file asks for other ones than those that are there.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder, readRecord, writeRecord } from './record.mjs'
import { SetupError, offlineAdvice, runLong, say, seconds } from './speech.mjs'

const lockFile = () => join(projectFolder, 'package-lock.json')
const lockHash = () => createHash('sha256').update(readFileSync(lockFile())).digest('hex')
const node = () => join(projectFolder, 'node_modules/.bin/node')

/** True when the record says that the packages of this very lock file are installed. */
export const dependenciesCurrent = record => record.lockHash === lockHash() && existsSync(node())

// npm keeps a lock file of what it really installed; it shows that somebody ran `npm install` by hand.
const installedByHand = () => {
  try {
    const wanted = JSON.parse(readFileSync(lockFile(), 'utf8')).packages
    const present = JSON.parse(readFileSync(join(projectFolder, 'node_modules/.package-lock.json'), 'utf8')).packages
    const same = path => wanted[path].version === present[path]?.version
    const missing = Object.keys(wanted).filter(path => path !== '' && !wanted[path].optional && !same(path))
    return missing.length === 0 && existsSync(node())
  } catch {
    return false
  }
}

/** Brings node_modules in line with the lock file, by `npm ci` when needed. */
export const installDependencies = async record => {
  if (dependenciesCurrent(record)) return
  if (installedByHand()) return writeRecord({ lockHash: lockHash() })
  const started = Date.now()
  const why = existsSync(join(projectFolder, 'node_modules')) ? 'the lock file changed' : 'node_modules is missing'
  say(`Dependencies: ${why}, running npm ci …`)
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  await runLong('npm ci', [npm, 'ci', '--include=dev', '--no-audit', '--no-fund'], { cwd: projectFolder }).catch(
    error => {
      throw new SetupError(`The npm packages could not be installed. ${error.message}${offlineAdvice(error.message)}`)
    },
  )
  if (!existsSync(node())) {
    throw new SetupError(
      `npm left out the Node of this platform (${process.platform}-${process.arch}). Optional packages must not be switched off ` +
        '(`npm config get omit`), and embedded/node/package.json names the platforms that there are.',
    )
  }
  writeRecord({ ...readRecord(), lockHash: lockHash() })
  say(`Dependencies: installed in ${seconds(started)}.`)
}
