// The set-up script: where it finds the Temporal CLI, and that a second run has nothing to do.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'

const root = join(import.meta.dirname, '../..')
const offline = "globalThis.fetch = () => Promise.reject(new Error('offline'))"
const alone = `
  import programs from 'node:child_process'
  import { syncBuiltinESMExports } from 'node:module'
  const refuse = () => { throw new Error('A program was started.') }
  for (const name of ['spawn', 'exec', 'execFile', 'spawnSync', 'execSync', 'execFileSync']) programs[name] = refuse
  syncBuiltinESMExports()`

let folder: string

const at = (...names: string[]) => join(folder, ...names)

// The record says that the packages are in place, so that no test can touch node_modules.
const forgetAll = () => {
  const lockFile = readFileSync(join(root, 'package-lock.json'))
  writeFileSync(at('record.json'), JSON.stringify({ lockHash: createHash('sha256').update(lockFile).digest('hex') }))
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'certwright-setup-'))
  mkdirSync(at('bin'))
  mkdirSync(at('cache/certwright'), { recursive: true })
  forgetAll()
})

afterEach(() => rmSync(folder, { recursive: true }))

const program = (name: string, output: string) =>
  writeFileSync(at('bin', name), `#!/bin/sh\necho "${output}"\n`, { mode: 0o755 })

const start = (duty: string, variables: Record<string, string> = {}, preload = offline) => {
  const environment = {
    PATH: at('bin'),
    XDG_CACHE_HOME: at('cache'),
    CERTWRIGHT_SETUP_RECORD: at('record.json'),
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(preload)}"`,
    ...variables,
  }
  const child = spawn(process.execPath, [join(root, 'scripts/setup.mjs'), duty], { env: environment })
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const output = text(child.stdout)
  return { child, done: async () => ({ code: await ended, output: await output }) }
}

const setUp = (duty: string, variables?: Record<string, string>, preload?: string) =>
  start(duty, variables, preload).done()

const recorded = () => JSON.parse(readFileSync(at('record.json'), 'utf8')) as { temporalCli?: string | null }
const cached = () => at('cache/certwright/temporal-1.8.2')
const lock = () => at('cache/certwright/setup.lock')

test('the second set-up has nothing to do, says nothing and starts no other program', async () => {
  writeFileSync(cached(), '')
  program('temporal', 'temporal version 1.9.1 (Server 1.32.0)')
  expect((await setUp('start')).code).toBe(0)
  expect(await setUp('start', {}, `${offline}\n${alone}`)).toEqual({ code: 0, output: '' })
  forgetAll()
  // So it is told where there is something to do.
  expect((await setUp('start', {}, `${offline}\n${alone}`)).output).toContain('A program was started.')
})

test('a fitting Temporal CLI on PATH is used', async () => {
  program('temporal', 'temporal version 1.9.1 (Server 1.32.0)')
  expect((await setUp('start')).code).toBe(0)
  expect(recorded().temporalCli).toBe(at('bin/temporal'))
})

test('an old Temporal CLI on PATH is passed over with the reason', async () => {
  program('temporal', 'temporal version 1.7.3 (Server 1.31.0)')
  writeFileSync(cached(), '')
  const { output } = await setUp('start')
  expect(output).toContain('is version 1.7.3, 1.8 or later is needed')
  expect(recorded().temporalCli).toBe(cached())
})

test('with TEMPORAL_ADDRESS nothing is got', async () => {
  expect((await setUp('start', { TEMPORAL_ADDRESS: '127.0.0.1:7233' })).code).toBe(0)
  expect(recorded().temporalCli).toBeUndefined()
})

test('without any way to the Temporal CLI one message names each way and what to do', async () => {
  const { code, output } = await setUp('start')
  expect(code).toBe(1)
  const message = output.slice(output.indexOf('Set-up failed'))
  expect(message).toContain('no `temporal` on PATH')
  expect(message).toContain('nothing in the cache')
  expect(message).toContain('the download failed (offline)')
  expect(message).toContain('no Go toolchain')
  expect(message).toContain('install Go 1.26 or later')
})

test('a download with another checksum than the pinned one is thrown away', async () => {
  const preload = "globalThis.fetch = async () => new Response('something else')"
  const { code, output } = await setUp('start', {}, preload)
  expect(code).toBe(1)
  expect(output).toContain('not the pinned one; it was thrown away')
  expect(existsSync(cached())).toBe(false)
})

test('a failed build says how it ended and leaves nothing behind', async () => {
  writeFileSync(at('bin/go'), '#!/bin/sh\necho "dial tcp: no such host" >&2\nexit 1\n', { mode: 0o755 })
  const { code, output } = await setUp('start')
  expect(code).toBe(1)
  expect(output).toContain('10 to 30 minutes')
  expect(output).toContain('connect to the internet')
  expect(existsSync(cached())).toBe(false)
})

test('a build is kept in the cache and never repeated', async () => {
  const build = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho built > "$2"\n'
  writeFileSync(at('bin/go'), build, { mode: 0o755 })
  expect((await setUp('start')).code).toBe(0)
  writeFileSync(at('bin/go'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  forgetAll()
  expect((await setUp('start')).code).toBe(0)
  expect(readFileSync(cached(), 'utf8')).toBe('built\n')
})

const goThatTakesTime = `#!/bin/sh
if [ "$1" = list ]; then
  echo 'go: downloading github.com/spf13/cobra v1.9.1' >&2
  echo 'go: downloading go.temporal.io/api v1.5.0' >&2
  /bin/sleep 1
  printf 'internal/cpu\\nnet/http\\ngithub.com/google/uuid\\nfmt\\n'
  exit
fi
echo internal/cpu >&2
/bin/sleep 1
while [ "$1" != -o ]; do shift; done
echo built > "$2"
`

const quickTimers = `${offline}; const real = setInterval; globalThis.setInterval = work => real(work, 100)`

test('a build tells how many modules are downloaded and how many packages are compiled, of how many', async () => {
  writeFileSync(at('bin/go'), goThatTakesTime, { mode: 0o755 })
  const { code, output } = await start('start', {}, quickTimers).done()
  expect(code).toBe(0)
  const name = 'building the Temporal CLI, once on this machine'
  expect(output).toMatch(new RegExp(`${name}: 2 of \\d+ modules downloaded, \\d+ s\n`))
  expect(output).toMatch(new RegExp(`${name}: 1 of 4 packages \\(25 %\\), \\d+ s\n`))
})

test('a failed build tells the fault and not the packages that were compiled before', async () => {
  const fault = '#!/bin/sh\necho internal/cpu >&2\necho "no space left on device" >&2\nexit 1\n'
  writeFileSync(at('bin/go'), fault, { mode: 0o755 })
  const { output } = await setUp('start')
  expect(output).toContain('ended with 1:\nno space left on device')
  expect(output).not.toContain('internal/cpu')
})

test('the set-up of the tests names each missing tool and its package', async () => {
  const { code, output } = await setUp('test')
  expect(code).toBe(1)
  expect(output).toContain('openssl is missing')
  expect(output).toContain('java is missing')
  expect(output).toContain('apt-get install openssl default-jre-headless')
})

test('the set-up of the tests asks for Maven when the time-skipping server is not there', async () => {
  program('openssl', '')
  program('java', '')
  writeFileSync(cached(), '')
  const { code, output } = await setUp('test')
  expect(code).toBe(1)
  expect(output).toContain('apt-get install maven')
})

const ownStart = () => readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ')[19]

test('a set-up waits for the one that is running', async () => {
  writeFileSync(cached(), '')
  writeFileSync(lock(), JSON.stringify({ pid: process.pid, start: ownStart() }))
  const { child, done } = start('start')
  await new Promise(resolve => child.stdout.once('data', resolve))
  await wait(500)
  expect(child.exitCode).toBe(null)
  rmSync(lock())
  const { code, output } = await done()
  expect(code).toBe(0)
  expect(output).toContain(`Another set-up is running (process ${process.pid}); waiting for it to end.`)
})

test('the lock of a dead process, or of another one with its id, is taken over', async () => {
  writeFileSync(cached(), '')
  for (const owner of [{ pid: 4_194_303, start: '1' }, { pid: process.pid, start: '1' }, 'rubbish']) {
    writeFileSync(lock(), JSON.stringify(owner))
    forgetAll()
    expect((await setUp('start')).code).toBe(0)
    expect(existsSync(lock())).toBe(false)
  }
})

test('of many set-ups at once exactly one builds', async () => {
  symlinkSync('/bin/sleep', at('bin/sleep'))
  const build = `#!/bin/sh\n[ "$1" = build ] || exit 1\necho run >> ${at('builds')}\nsleep 1\nwhile [ "$1" != -o ]; do shift; done\necho built > "$2"\n`
  writeFileSync(at('bin/go'), build, { mode: 0o755 })
  const all = await Promise.all([1, 2, 3, 4].map(() => setUp('start')))
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  expect(readFileSync(at('builds'), 'utf8')).toBe('run\n')
})

test('checking needs the packages of the lock file and no server', async () => {
  expect(await setUp('check')).toEqual({ code: 0, output: '' })
  expect(JSON.parse(readFileSync(at('record.json'), 'utf8'))).toEqual({ lockHash: expect.any(String) })
})

test('an unknown duty is refused', async () => {
  expect((await setUp('everything')).output).toContain('setup.mjs start')
})
