// The path validation suite of NIST for `npm run test:pkits`: the files of a Debian package, or of the same from PyPI.
import { cpSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inCache } from './cache.mjs'
import { runLong, say, SetupError } from './speech.mjs'
import { onPath } from './tools.mjs'

// The version of Debian 12; the suite is that of 2011 in each.
const version = '38.0.4'
const wheelHash = '8b57a65a847c5f699f390ddfbb7cd7d1a2bbb3f2e0a11f6e32c5c1dca7db5d90'
const debian = 'python3-cryptography-vectors'
const inside = 'cryptography_vectors/x509/PKITS_data'

/** True when the recorded suite is still there. */
export const pkitsCurrent = record => existsSync(record.pkits ?? '')

/** Without root: the package is got and taken apart, not installed. */
const fromDebian = async part => {
  await runLong('apt-get', ['apt-get', 'download', debian], { cwd: part })
  const file = readdirSync(part).find(name => name.endsWith('.deb'))
  await runLong('dpkg-deb', ['dpkg-deb', '-x', join(part, file), part])
  return join(part, 'usr/lib/python3/dist-packages', inside)
}

const fromPyPi = async part => {
  const requirements = join(part, 'requirements.txt')
  writeFileSync(requirements, `cryptography_vectors==${version} --hash=sha256:${wheelHash}\n`)
  const get = [
    'python3',
    '-m',
    'pip',
    'download',
    '-q',
    '--no-deps',
    '--require-hashes',
    '-d',
    part,
    '-r',
    requirements,
  ]
  await runLong('pip', get)
  const file = readdirSync(part).find(name => name.endsWith('.whl'))
  await runLong('unzip', ['python3', '-m', 'zipfile', '-e', join(part, file), part])
  return join(part, inside)
}

const ways = [
  { command: 'apt-get', way: fromDebian },
  { command: 'python3', way: fromPyPi },
]

const get = async part => {
  const problems = []
  for (const { command, way } of ways.filter(one => onPath(one.command) !== undefined)) {
    try {
      return await way(part)
    } catch (error) {
      say(`PKITS: ${command} did not serve.`)
      problems.push(error.message)
    }
  }
  const advice = `Install it, on Debian or Ubuntu: apt-get install ${debian}`
  throw new SetupError(
    `PKITS could not be got; apt-get or python3 with pip brings it. ${advice}\n${problems.join('\n')}`,
  )
}

/** The folder of certificates and revocation lists; gets it when neither the machine nor the cache has it. */
export const findPkits = async () => {
  const installed = join('/usr/lib/python3/dist-packages', inside)
  if (existsSync(join(installed, 'certs'))) return installed
  const make = async folder => {
    const found = await get(folder)
    const kept = join(folder, 'kept')
    for (const kind of ['certs', 'crls']) cpSync(join(found, kind), join(kept, kind), { recursive: true })
    return kept
  }
  return inCache(`pkits-${version}`, { what: 'PKITS', how: 'getting it (30 MB)', make })
}
