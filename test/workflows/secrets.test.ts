// What the Temporal server keeps: the whole life of certificates, read back from the histories of all its runs.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { certRequestWorkflowId, issueWorkflowId, providerWorkflowId } from '../../workflows/ids.ts'
import { until } from '../support/issuing.ts'
import { makeScene, startService, type Service } from '../support/service.ts'
import { historyToText } from './history-json.ts'
import { isEncrypted, payloadsIn, textOf, type Found } from './payloads.ts'

let service: Service

interface Kept {
  readonly types: string[]
  readonly raw: string
  readonly payloads: Found[]
  readonly texts: string[]
}
let kept: Kept
const secrets: Record<string, string> = {}
let names: { commonName: string; requestId: string }

const must = async (answer: Promise<{ status: number; body: unknown }>) => {
  const { status, body } = await answer
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
  // Bodies of several shapes.
  // oxlint-disable-next-line typescript/no-explicit-any
  return body as any
}

const readHistories = async (taskQueue: string): Promise<Kept> => {
  const result: Kept = { types: [], raw: '', payloads: [], texts: [] }
  let raw = ''
  for await (const { workflowId, runId, type } of service.client.workflow.list({
    query: `TaskQueue = '${taskQueue}'`,
  })) {
    const history = await service.client.workflow.getHandle(workflowId, runId).fetchHistory()
    result.types.push(type)
    raw += historyToText(history)
    result.payloads.push(...payloadsIn(history, type))
  }
  for (const found of result.payloads) result.texts.push(await textOf(found))
  return { ...result, raw }
}

beforeAll(async () => {
  service = await startService()
  const scene = await makeScene(service, { requiresManualApproval: true })
  const token = await service.issuer.userToken(scene.owner.subject)
  const owner = service.as(token)
  const [commonName, requestId] = [`secret-host.example.org`, await scene.newRequest()]
  names = { commonName, requestId }

  await must(owner.patch(`/api/v1/cert-requests/${requestId}/approve`))
  const { certificate } = await must(owner.post(`/api/v1/certificates/cert-requests/${requestId}`))
  const key = await must(owner.get(`/api/v1/certificates/${certificate.id}/download-private-key`))
  const keystore = await must(owner.get(`/api/v1/certificates/${certificate.id}/pkcs12`))

  const ordered = await scene.newRequest({ endEntityId: await scene.newEndEntity(commonName) })
  const { orderId } = await must(owner.post(`/api/v2/certificates/cert-requests/${ordered}`))
  await must(owner.patch(`/api/v1/cert-requests/${ordered}/approve`))
  await until('the order is completed', async () => {
    const { status } = await must(owner.get(`/api/v2/orders/${orderId}`))
    return status === 'COMPLETED'
  })
  const declined = await scene.newRequest()
  await must(owner.patch(`/api/v1/cert-requests/${declined}/decline`))
  const again = await owner.patch(`/api/v1/cert-requests/${declined}/approve`)
  expect(again.status).toBe(409)

  const { taskQueue } = await service.client.workflow.getHandle(issueWorkflowId(requestId)).describe()
  const provider = await service.builtInCa()
  const start = { taskQueue, args: [provider.id] }
  await service.client.workflow.execute('checkProvider', {
    workflowId: providerWorkflowId('check', provider.id),
    ...start,
  })
  await service.client.workflow.execute('prepareProvider', {
    workflowId: providerWorkflowId('prepare', provider.id),
    ...start,
  })
  await service.client.workflow.execute('reconcile', { workflowId: `reconcile-${provider.id}`, taskQueue })
  await service.client.workflow.execute('recordExpiries', { workflowId: `expiry-${provider.id}`, taskQueue })

  const pkcs8 = Buffer.from(key.pemPrivateKey.replace(/-----.*?-----|\s/g, ''), 'base64')
  Object.assign(secrets, {
    pem: 'PRIVATE KEY',
    // The inner part: the beginning is the same for all keys, the ends depend on what stands beside.
    base64: pkcs8.toString('base64').slice(48, 96),
    base64url: pkcs8.toString('base64url').slice(48, 96),
    hex: pkcs8.toString('hex').slice(80, 140),
    password: keystore.password,
    keystore: keystore.keystore.slice(100, 160),
    token,
    signature: token.split('.')[2] ?? '',
  })
  kept = await readHistories(taskQueue)
}, 120_000)
afterAll(() => service.stop())

test('the histories of the whole life are there', () => {
  expect(new Set(kept.types)).toEqual(
    new Set([
      'certRequest',
      'issueCertificates',
      'orderCertificates',
      'checkProvider',
      'prepareProvider',
      'reconcile',
      'recordExpiries',
    ]),
  )
  expect(kept.raw).toContain(certRequestWorkflowId(names.requestId))
  expect(kept.texts.some(text => text.includes(names.requestId))).toBe(true)
})

test.each(['pem', 'base64', 'base64url', 'hex', 'password', 'keystore', 'token', 'signature'])(
  'no history holds the %s of a secret, neither as it stands nor decrypted',
  form => {
    const secret = secrets[form] ?? ''
    expect(secret.length).toBeGreaterThan(8)
    expect(kept.raw.includes(secret)).toBe(false)
    expect(kept.texts.filter(text => text.includes(secret))).toEqual([])
  },
)

test('no history names the subject of a certificate in the clear', () => {
  expect(kept.raw).not.toContain(names.commonName)
})

test('every payload is encrypted, but for the search attributes', () => {
  const plain = kept.payloads.filter(found => !isEncrypted(found)).map(({ path }) => path)
  // The SDK's own note of which version of the code a run took.
  const ofVersions = /\.markerRecordedEventAttributes\.details\.patch-data\./
  expect(plain.filter(path => !path.includes('searchAttributes') && !ofVersions.test(path))).toEqual([])
  expect(kept.payloads.filter(isEncrypted).length).toBeGreaterThan(20)
})

test('failure texts are encrypted as well', async () => {
  const workflowId = providerWorkflowId('check', 'no-uuid')
  const { taskQueue } = await service.client.workflow.getHandle(issueWorkflowId(names.requestId)).describe()
  const handle = await service.client.workflow.start('checkProvider', { workflowId, taskQueue, args: ['no-uuid'] })
  await expect(handle.result()).rejects.toThrow()
  const history = await handle.fetchHistory()
  const texts = await Promise.all(payloadsIn(history).map(textOf))
  expect(texts.some(text => text.includes('invalid input syntax for type uuid'))).toBe(true)
  expect(historyToText(history)).not.toContain('invalid input syntax')
})

test('the search would find a secret', async () => {
  const workflowId = `leak-${names.requestId}`
  const { taskQueue } = await service.client.workflow.getHandle(issueWorkflowId(names.requestId)).describe()
  await service.client.workflow.execute('reconcile', { workflowId, taskQueue, args: [secrets['pem']] as never })
  const leaked = await readHistories(taskQueue)
  expect(leaked.texts.some(text => text.includes('PRIVATE KEY'))).toBe(true)
  expect(leaked.raw.includes('PRIVATE KEY')).toBe(false)
})
