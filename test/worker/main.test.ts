// The worker as a process: it starts, says what is wrong with its configuration, and ends cleanly.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { startProcess, type RunningProcess } from '../../embedded/processes/process.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { until } from '../support/issuing.ts'
import { makeScene, requestAll } from '../stories/scene.ts'

const size = 1500
let service: Processes
let folder: string
let extra: RunningProcess | undefined

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'certwright-worker-'))
  service = await startProcesses()
}, 120_000)
afterEach(async () => {
  await extra?.stop()
  extra = undefined
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true })
}, 60_000)

const certificates = () => service.orm.em.fork().count(Certificate)

/** The way a worker ended: its exit code, not the signal that asked it to. */
const endOf = async (worker: RunningProcess): Promise<string> => {
  await until('the worker has ended', async () => worker.ended())
  return worker.exited
}

test('a worker that is asked to end in the middle of issuing ends cleanly, and the next one finishes the order', async () => {
  const ids = await requestAll(service, await makeScene(service, size))
  const { body } = await service.call('POST', '/api/v2/certificates/cert-requests?omitArtifacts=true', ids)
  await until('the first certificates are there', async () => (await certificates()) > 0)
  const { worker } = service.running
  process.kill(worker.pid, 'SIGTERM')
  const atTheSignal = await certificates()
  expect(atTheSignal).toBeLessThan(size)
  // A second signal, as impatient people and service managers send, changes nothing.
  process.kill(worker.pid, 'SIGINT')
  expect(await endOf(worker)).toBe('Worker ended with exit code 0')
  expect(worker.lastLines()).not.toMatch(/"level":[56]0|Error/)

  const em = service.orm.em.fork()
  const issued = await em.count(Certificate)
  // Two CAs and their OCSP signers have keys as well.
  expect(await em.count(PrivateKey)).toBe(issued + 4)
  await service.startWorker()
  // A slow machine takes long for the rest, but something comes all the time.
  for (let known = issued; known < size;)
    known = await until('there is another certificate', async () => {
      const count = await certificates()
      return count > known && count
    })
  await until('the order is completed', async () => {
    const order = await service.call('GET', `/api/v2/orders/${body.orderId}`)
    return order.body.status === 'COMPLETED'
  })
  expect(await certificates()).toBe(size)
}, 300_000)

const start = (environment: Record<string, string>) =>
  (extra = startProcess({
    name: 'Worker',
    command: [process.execPath, join(import.meta.dirname, '../../worker/main.ts')],
    environment: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    logFile: join(folder, 'worker.log'),
  }))

test('a worker without keys says which are missing and ends', async () => {
  const worker = start({ LOG_LEVEL: 'info' })
  expect(await endOf(worker)).toBe('Worker ended with exit code 2')
  const log = readFileSync(join(folder, 'worker.log'), 'utf8')
  expect(log).toContain('The configuration of the worker is wrong')
  expect(log).toContain('PAYLOAD_KEYS')
  expect(log).toContain('MASTER_KEYS')
})

test('a wrong key is refused without being printed', async () => {
  const secret = Buffer.alloc(16, 5).toString('base64')
  const worker = start({ PAYLOAD_KEYS: `k:${secret}`, MASTER_KEYS: `k:${Buffer.alloc(32).toString('base64')}` })
  expect(await endOf(worker)).toBe('Worker ended with exit code 2')
  const log = worker.lastLines()
  expect(log).toContain('A key is written <id>:<base64 of 32 bytes>.')
  expect(log).not.toContain(secret)
})
