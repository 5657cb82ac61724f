// The API as a process that is asked to end: who waits is told so, who was cut off gets his certificate, and no answer invites to
// another request.
import { Agent, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { makeScene, requestAll } from '../stories/scene.ts'
import { until } from '../support/issuing.ts'
import { startProcesses, type Answer, type Processes } from '../support/processes.ts'
import { tokenFor } from '../support/stack.ts'
import { demoPrincipals } from '../../embedded/environment.ts'
import { realmSecrets } from '../support/keycloak.ts'

let service: Processes

beforeAll(async () => {
  service = await startProcesses()
}, 120_000)
afterAll(() => service.stop(), 60_000)

const admin = { clientId: demoPrincipals.adminClientId, secret: realmSecrets.ADMIN_CLIENT_SECRET, serviceAccountId: '' }
const issuePath = (id: string): string => `/api/v1/certificates/cert-requests/${id}`
const issue = (id: string): Promise<Answer> => service.call('POST', issuePath(id))
const rowOf = (id: string): Promise<CertRequest> => service.orm.em.fork().findOneOrFail(CertRequest, { id })
const claimed = (id: string): Promise<boolean> =>
  until('the request is claimed', async () => (await rowOf(id)).runId !== null)
const issued = (id: string): Promise<boolean> =>
  until('the certificate is there', async () => (await rowOf(id)).certificateId !== null)

const stopApi = async (): Promise<void> => {
  process.kill(service.running.api.pid, 'SIGTERM')
  expect(await service.running.api.exited).toBe('API ended with exit code 0')
}

/** Does something while the worker does nothing. */
const whileNobodyWorks = async <T>(work: () => Promise<T>): Promise<T> => {
  const { pid } = service.running.worker
  process.kill(pid, 'SIGSTOP')
  return work().finally(() => process.kill(pid, 'SIGCONT'))
}

test('who waits for a certificate when the API ends is told that its run goes on, and gets it from the next one', async () => {
  const [id = ''] = await requestAll(service, await makeScene(service, 1))
  await whileNobodyWorks(async () => {
    const waiting = issue(id)
    await claimed(id)
    await stopApi()
    expect(await waiting).toMatchObject({ status: 422, body: { apiError: 'ISSUE_PENDING' } })
  })
  await service.startApi()
  await issued(id)
  expect(await issue(id)).toMatchObject({ status: 201, body: { certRequestStatus: 'ISSUED' } })
  expect(await issue(id)).toMatchObject({ status: 409, body: { apiError: 'ALREADY_ISSUED' } })
}, 180_000)

test('a certificate whose caller went away meanwhile is handed out to the next call', async () => {
  const [id = ''] = await requestAll(service, await makeScene(service, 1))
  const answered = `"path":"${issuePath(id)}"`
  await whileNobodyWorks(async () => {
    const leaving = new AbortController()
    const headers = { Authorization: `Bearer ${await tokenFor(admin)}` }
    const url = `${service.started.addresses.baseUrl}${issuePath(id)}`
    const call = fetch(url, { method: 'POST', headers, signal: leaving.signal })
    await claimed(id)
    leaving.abort()
    await expect(call).rejects.toThrow('aborted')
  })
  await until('its call has ended', async () => service.running.api.lastLines().includes(answered))
  expect(await rowOf(id)).toMatchObject({ certRequestStatus: 'ISSUED', undelivered: true })
  expect((await issue(id)).status).toBe(201)
}, 180_000)

test('while the API ends, each answer is the last of its connection, and nobody is reset on one that was kept', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const headers = { Authorization: `Bearer ${await tokenFor(admin)}` }
  const seen: string[] = []
  const call = (): Promise<string> =>
    new Promise(resolve => {
      const url = `${service.started.addresses.baseUrl}/api/v1/realms/`
      const asked = request(url, { agent, headers }, answer => {
        answer.resume().on('end', () => resolve(`${answer.statusCode} ${answer.headers.connection}`))
      })
      // Who comes anew as the door closes is not let in, by a refusal or a reset; who was in is not thrown out.
      asked.on('error', ({ message }) => resolve(asked.reusedSocket ? `thrown out: ${message}` : 'not let in'))
      asked.end()
    })
  const calls = async (): Promise<void> => {
    for (let last = ''; last !== 'not let in'; seen.push(last)) last = await call()
  }
  const all = [1, 2, 3, 4].map(calls)
  await until('answers have come', async () => seen.length > 20)
  await stopApi()
  await Promise.all(all)
  agent.destroy()
  expect([...new Set(seen)].toSorted()).toEqual(['200 close', '200 keep-alive', 'not let in'])
  await service.startApi()
}, 180_000)
