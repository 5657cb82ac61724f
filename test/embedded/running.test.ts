// One start at a time in a data folder, and what becomes of parts that end or are left behind.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProcess, stopRemaining } from '../../embedded/processes/process.ts'
import { claimRun } from '../../embedded/processes/run-file.ts'
import { readSecrets } from '../../embedded/secrets.ts'
import { makeSupervisor } from '../../embedded/processes/supervisor.ts'
import { until } from '../../embedded/processes/until.ts'

let folder: string

const at = (name: string) => join(folder, name)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'certwright-running-'))
})

afterEach(async () => {
  await stopRemaining()
  rmSync(folder, { recursive: true })
})

const part = (name: string, script: string) =>
  startProcess({ name, command: ['/bin/sh', '-c', script], logFile: at(`logs/${name}.log`) })

test('a second start in the same folder is refused with the process to stop', async () => {
  await claimRun(at('run.json'))
  await expect(claimRun(at('run.json'))).rejects.toThrow(`running already (process ${process.pid})`)
})

test('what a killed start left running is ended by the next one', async () => {
  const orphan = spawn('/bin/sleep', ['600'], { detached: true })
  const ended = once(orphan, 'exit')
  const runFile = await claimRun(at('run.json'))
  runFile.add('Worker', orphan.pid ?? 0)
  const run = JSON.parse(readFileSync(at('run.json'), 'utf8')) as { main: { start: string } }
  writeFileSync(at('run.json'), JSON.stringify({ ...run, main: { ...run.main, start: 'of another process' } }))
  await claimRun(at('run.json'))
  await ended
  expect(orphan.signalCode).toBe('SIGINT')
})

test('another process that has the id of a recorded part is left alone', async () => {
  const other = spawn('/bin/sleep', ['600'])
  const main = { name: 'main', pid: process.pid, start: 'earlier' }
  const parts = [{ name: 'Worker', pid: other.pid, start: 'earlier' }]
  writeFileSync(at('run.json'), JSON.stringify({ main, parts }))
  await claimRun(at('run.json'))
  expect(other.exitCode ?? other.signalCode).toBe(null)
  other.kill()
})

test('of two starts at once one gets through', async () => {
  const claims = await Promise.allSettled([claimRun(at('run.json')), claimRun(at('run.json'))])
  expect(claims.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test('a run file that was half written blocks nothing', async () => {
  writeFileSync(at('run.json'), '{"main":')
  const runFile = await claimRun(at('run.json'))
  runFile.remove()
  expect(existsSync(at('run.json'))).toBe(false)
})

test('the end of a part is reported with its reason and the end of its log', async () => {
  const supervisor = makeSupervisor(await claimRun(at('run.json')))
  supervisor.watch(part('Worker', 'echo "out of order"; exit 3'))
  await expect(supervisor.failed).rejects.toThrow(/Worker ended with exit code 3[^]*worker.log[^]*out of order/i)
})

test('parts are stopped in the reverse order of their start, and that is no failure', async () => {
  const supervisor = makeSupervisor(await claimRun(at('run.json')))
  const order: string[] = []
  for (const name of ['PostgreSQL', 'Worker', 'API']) {
    const process = part(name, 'exec sleep 600')
    const stop = () => {
      order.push(name)
      return process.stop()
    }
    supervisor.watch({ ...process, stop })
  }
  supervisor.keep(async () => void order.push('mail'))
  await supervisor.stopAll()
  expect(order).toEqual(['mail', 'API', 'Worker', 'PostgreSQL'])
  const news = await Promise.race([supervisor.failed.catch(() => 'failed'), Promise.resolve('silent')])
  expect(news).toBe('silent')
})

test('a part that cannot be started is reported', async () => {
  const missing = startProcess({ name: 'Temporal', command: [at('none')], logFile: at('none.log') })
  expect(await missing.exited).toMatch(/Temporal could not be started: .*ENOENT/)
})

test('waiting for a part ends when it dies', async () => {
  const dying = part('API', 'echo "no database" >&2; exit 1')
  const waiting = until({ part: dying, timeoutMs: 10_000 }, () => Promise.reject(new Error('not yet')))
  await expect(waiting).rejects.toThrow(/API ended with exit code 1[^]*no database/)
})

test('secrets are made once, for the owner only', () => {
  const first = readSecrets(at('secrets.json'))
  expect(readSecrets(at('secrets.json'))).toEqual(first)
  expect(statSync(at('secrets.json')).mode & 0o777).toBe(0o600)
  expect(first.masterKeys).toMatch(/^k1:[A-Za-z0-9+/]{43}=$/)
})
