// A setting that is changed at one API process acts at another and at the worker within 10 s, with real processes.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { apiReady, startApi } from '../../embedded/processes/application.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { until } from '../support/issuing.ts'
import { callerOf, startProcesses, type Processes } from '../support/processes.ts'
import { makeScene, requestAll } from './scene.ts'

const logFolder = mkdtempSync(join(tmpdir(), 'certwright-second-api-'))
let processes: Processes
let second: RunningProcess
let secondCall: Processes['call']

beforeAll(async () => {
  processes = await startProcesses()
  const { started } = processes
  const ports = { API_PORT: await freePort(), API_METRICS_PORT: await freePort() }
  second = startApi({ logFolder }, { ...started, config: { ...started.config, ...ports } })
  const url = `http://127.0.0.1:${ports.API_PORT}`
  secondCall = callerOf(url)
  await apiReady(second, url)
})
afterAll(async () => {
  await second.stop()
  await processes.stop()
  rmSync(logFolder, { recursive: true, force: true })
})

const links = 'http://pki.example.org/links'
const allowedMs = 10_000

/** Issues the certificate of a request and answers where it says that its issuer is found. */
const issue = async (requestId: string): Promise<string> => {
  const { status, body } = await processes.call('POST', `/api/v1/certificates/cert-requests/${requestId}`)
  expect(status).toBe(201)
  return new X509Certificate(body.certificatePem.pemCertificate).infoAccess ?? ''
}
const set = async (settingsKey: string, value: string): Promise<number> => {
  expect((await processes.call('PATCH', '/api/v1/configuration', { settingsKey, value })).status).toBe(200)
  return Date.now()
}

test('the worker puts the new address of links into certificates', async () => {
  const [first = '', ...others] = await requestAll(processes, await makeScene(processes, 20))
  expect(await issue(first)).not.toContain(links)
  const changed = await set('pki.base-url', links)
  await until('a certificate holds the new address', async () => {
    const next = others.pop()
    if (next === undefined) throw new Error('No certificate held the new address.')
    return (await issue(next)).includes(links)
  })
  expect(Date.now() - changed).toBeLessThan(allowedMs)
})

test('the other API lists by the new bound', async () => {
  const scene = await makeScene(processes, 1)
  await issue((await requestAll(processes, scene))[0] ?? '')
  const listed = async (): Promise<number> => {
    const { status, body } = await secondCall('GET', `/api/v1/certificates/realms/${scene.realmId}/expiring?size=5`)
    expect(status).toBe(200)
    return body.content.length as number
  }
  expect(await listed()).toBe(0)
  const changed = await set('certificate.expiring-soon-days', '400')
  await until('the certificate is listed', async () => (await listed()) === 1)
  expect(Date.now() - changed).toBeLessThan(allowedMs)
})
