// The API as a process that is asked to end: who waits is told so and gets his certificate later, and no answer invites to another
// request.
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
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

/** Calls over a connection that is kept: what the answer is, and what it says of the connection. */
const callOn = async (agent: Agent, method: string, path: string) => {
  const headers = { Authorization: `Bearer ${await tokenFor(admin)}` }
  const asked = request(`${service.started.addresses.baseUrl}${path}`, { method, agent, headers }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, connection: answer.headers.connection, body: await json(answer) }
}

/** Does something while the worker does nothing. */
const whileNobodyWorks = async <T>(work: () => Promise<T>): Promise<T> => {
  const { pid } = service.running.worker
  process.kill(pid, 'SIGSTOP')
  return work().finally(() => process.kill(pid, 'SIGCONT'))
}

test('who waits for a certificate when the API ends is told that its run goes on, and gets it from the next one', async () => {
  const [id = ''] = await requestAll(service, await makeScene(service, 1))
  const agent = new Agent({ keepAlive: true })
  expect(await callOn(agent, 'GET', '/api/v1/realms/')).toMatchObject({ status: 200, connection: 'keep-alive' })
  await whileNobodyWorks(async () => {
    const waiting = callOn(agent, 'POST', issuePath(id))
    await claimed(id)
    await stopApi()
    // The last answer of its connection: the next request goes to another process.
    expect(await waiting).toMatchObject({ status: 422, connection: 'close', body: { apiError: 'ISSUE_PENDING' } })
  })
  agent.destroy()
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
