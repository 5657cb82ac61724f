// The linters of others for `npm run test:judges`: zlint, built by Go, and pkilint, installed by pip; kept in the cache.
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inCache } from './cache.mjs'
import { projectFolder } from './record.mjs'
import { SetupError, offlineAdvice, runLong } from './speech.mjs'
import { onPath } from './tools.mjs'

const judges = join(projectFolder, 'test/judges')
const requirements = join(judges, 'requirements.txt')
const zlintModule = join(judges, 'zlint')
const zlintProgram = 'github.com/zmap/zlint/v3/cmd/zlint'

/** What the files that pin a program say: another pin is another place in the cache. */
const pinOf = (...files) => {
  const digest = createHash('sha256')
  for (const file of files) digest.update(readFileSync(file))
  return digest.digest('hex').slice(0, 12)
}

/** True when the recorded programs are still there, and still those that are pinned. */
export const judgesCurrent = ({ judges: found }) =>
  found !== undefined && found.pins === pinsOfAll() && existsSync(found.zlint) && existsSync(found.pkilint)

const pinsOfAll = () => pinOf(requirements, join(zlintModule, 'go.mod'), join(zlintModule, 'go.sum'))

/** Runs the command that makes a judge. */
const runMaker = (name, command, options) =>
  runLong(name, command, options).catch(error => {
    throw new SetupError(`${name} could not be made. ${error.message}${offlineAdvice(error.message)}`)
  })

const mustHave = (command, why) => {
  if (onPath(command) === undefined) throw new SetupError(`${command} is missing: ${why}`)
}

const findZlint = () => {
  const build = async folder => {
    mustHave('go', 'zlint, which judges certificates in tests, is built by it. Install Go 1.24 or later.')
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' }
    const program = join(folder, 'zlint')
    await runMaker('zlint', ['go', 'build', '-trimpath', '-o', program, zlintProgram], { cwd: zlintModule, env })
    return program
  }
  const name = `zlint-${pinOf(join(zlintModule, 'go.mod'), join(zlintModule, 'go.sum'))}`
  return inCache(name, { what: 'zlint', how: 'building it from the Go module proxy (about a minute)', make: build })
}

// Wheels are made for one version of Python.
const pythonVersion = () => {
  mustHave('python3', 'pkilint, which judges certificates in tests, runs by it. On Debian: apt-get install python3-pip')
  const text = 'import sys; print("%d.%d" % sys.version_info[:2])'
  return execFileSync('python3', ['-c', text], { encoding: 'utf8', timeout: 20_000 }).trim()
}

const findPkilint = () => {
  const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:']
  const install = async folder => {
    await runMaker('pkilint', ['python3', '-m', 'pip', 'install', ...options, '--target', folder, '-r', requirements])
    return folder
  }
  const name = `pkilint-${pinOf(requirements)}-python-${pythonVersion()}`
  return inCache(name, { what: 'pkilint', how: 'installing it by pip (7 MB)', make: install })
}

/** The program of zlint, and the folder of the packages of pkilint. */
export const findJudges = async () => ({
  zlint: await findZlint(),
  pkilint: await findPkilint(),
  pins: pinsOfAll(),
})
