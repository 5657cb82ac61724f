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

/** A supervisor with short pauses, what it says, and how each part of it is started again. */
const supervised = async () => {
  const said: string[] = []
  const persistence = { pauseMs: 10, longestPauseMs: 20, steadyMs: 60_000, attempts: 3 }
  const say = (line: string): void => void said.push(line)
  return { said, supervisor: makeSupervisor(await claimRun(at('run.json')), { persistence, say }) }
}
const soon = async (holds: () => boolean): Promise<void> => {
  for (let looks = 0; !holds(); looks += 1) {
    if (looks === 1000) throw new Error(`This never came true: ${holds.toString()}`)
    await new Promise(resolve => void setTimeout(resolve, 20))
  }
}
const never = (): never => {
  throw new Error('It was started again.')
}

test('the end of a part during the first start is reported with its reason and the end of its log', async () => {
  const { supervisor } = await supervised()
  supervisor.watch(part('Worker', 'echo "out of order"; exit 3'), never)
  await expect(supervisor.failed).rejects.toThrow(/Worker ended with exit code 3[^]*worker.log[^]*out of order/i)
  await supervisor.stopAll()
})

test('a part that is killed comes back while the other lives, and that is said', async () => {
  const { supervisor, said } = await supervised()
  const started: ReturnType<typeof part>[] = []
  const run = (): ReturnType<typeof part> => {
    started.push(part('Worker', 'exec sleep 600'))
    return started.at(-1) as ReturnType<typeof part>
  }
  const other = part('API', 'exec sleep 600')
  supervisor.watch(other, never)
  supervisor.watch(run(), run)
  supervisor.settle()
  for (const expected of [2, 3]) {
    await started.at(-1)?.kill()
    await soon(() => started.length === expected)
  }
  expect(said[0]).toMatch(/^Worker ended by SIGKILL\. Its log is .*Worker\.log\. It is started again in 0\.01 s\.$/)
  expect(other.ended()).toBe(false)
  const { parts } = JSON.parse(readFileSync(at('run.json'), 'utf8')) as { parts: { name: string; pid: number }[] }
  expect(parts.map(({ name, pid }) => [name, pid])).toEqual([
    ['API', other.pid],
    ['Worker', started.at(-1)?.pid],
  ])
  await supervisor.stopAll()
  expect([other, ...started].every(one => one.ended())).toBe(true)
  expect(said).toHaveLength(2)
})

test('a part that ends at once again and again ends all, with the end of its log', async () => {
  const { supervisor, said } = await supervised()
  const run = () => part('Worker', 'echo "out of order"; exit 3')
  supervisor.watch(run(), run)
  supervisor.settle()
  await expect(supervisor.failed).rejects.toThrow(/Worker ended with exit code 3[^]*worker.log[^]*out of order/i)
  expect(said.map(line => /in (\S+) s/.exec(line)?.[1])).toEqual(['0.01', '0.02', '0.02'])
  await supervisor.stopAll()
})

test('a part that cannot be started again is tried as often, and then ends all', async () => {
  const { supervisor, said } = await supervised()
  let tries = 0
  supervisor.watch(part('PostgreSQL', 'exit 1'), () => {
    tries += 1
    throw new Error('PostgreSQL did not get ready')
  })
  supervisor.settle()
  await expect(supervisor.failed).rejects.toThrow('PostgreSQL did not get ready')
  expect([tries, said.length]).toEqual([3, 3])
  await supervisor.stopAll()
})

test('a part that was being started while all stops is stopped as well', async () => {
  const { supervisor } = await supervised()
  const opened = Promise.withResolvers<void>()
  let late: ReturnType<typeof part> | undefined
  let isStarting = false
  supervisor.watch(part('PostgreSQL', 'exit 1'), async () => {
    isStarting = true
    await opened.promise
    return (late = part('PostgreSQL', 'exec sleep 600'))
  })
  supervisor.settle()
  await soon(() => isStarting)
  const stopped = supervisor.stopAll()
  opened.resolve()
  await stopped
  expect(late?.ended()).toBe(true)
})

test('parts are stopped in the reverse order of their start, and that is no failure', async () => {
  const { supervisor } = await supervised()
  const order: string[] = []
  for (const name of ['PostgreSQL', 'Worker', 'API']) {
    const process = part(name, 'exec sleep 600')
    const stop = () => {
      order.push(name)
      return process.stop()
    }
    supervisor.watch({ ...process, stop }, never)
  }
  supervisor.settle()
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
