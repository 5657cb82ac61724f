// The whole service in this process: the API of a test file and a worker on a task queue of their own.
import { randomBytes, randomUUID } from 'node:crypto'
import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { openDirectory } from '../../activities/directory/keycloak.ts'
import { createActivities } from '../../activities/index.ts'
import { firstStart } from '../../activities/first-start.ts'
import { MailStarts } from '../../activities/mail/starting.ts'
import { parseNetworks } from '../../activities/outside/addresses.ts'
import type { Services } from '../../activities/services.ts'
import type { Dependencies } from '../../api/kernel/dependencies.ts'
import { connectTemporal } from '../../api/kernel/temporal.ts'
import { openStorage } from '../../storage/orm.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { createDataConverter } from '../../worker/payload-codec.ts'
import { createRuns } from '../../worker/runs.ts'
import { createWorker } from '../../worker/worker.ts'
import { startApi, type Api } from './api.ts'
import { directorySettings, ownNamespace as namespace, stack } from './stack.ts'

/** The payload key of all test runs; recorded histories are encrypted under it. */
export const testPayloadKeys = new Map([['test', Buffer.alloc(32, 7)]])

const quiet = (): void => {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
  } catch {
    // Another test file of this process has installed it.
  }
}

/** What a test may want to be otherwise. */
export interface ServiceOptions {
  /** Changes what the activities work with, such as a clock that the test moves. */
  readonly services?: Partial<Services>
  /** Changes what the API works with. */
  readonly deps?: Partial<Dependencies>
  /** Without a worker nothing that takes time happens, until `startWorker` is called. */
  readonly withoutWorker?: boolean
  /** The worker reaches the database under another role than the API, so that their statements can be told apart. */
  readonly ownStorage?: boolean
}

/** Starts the service; `stop()` it after the tests. */
export const startService = async (options: ServiceOptions = {}) => {
  const { services: own, deps, withoutWorker = false, ownStorage = false } = options
  quiet()
  const taskQueue = `test-${randomUUID()}`
  const dataConverter = createDataConverter(testPayloadKeys)
  const address = stack.temporalAddress()
  const temporal = connectTemporal({ address, namespace, taskQueue, dataConverter })
  const api = await startApi({ deps: { temporal, ...deps } })
  const connection = await NativeConnection.connect({ address })
  const client = new Client({ connection, namespace, dataConverter })
  const runs = createRuns(client, taskQueue)
  const orm = ownStorage ? await openStorage({ url: api.databaseUrl }) : api.deps.orm
  const services: Services = {
    orm,
    seal: api.deps.seal,
    settings: api.deps.settings,
    runs,
    mailStarts: new MailStarts({ orm, runs, warn: () => {} }),
    clock: () => new Date(),
    baseUrl: 'http://localhost',
    privateNetworks: parseNetworks('127.0.0.1,::1'),
    directory: openDirectory(directorySettings()),
    ...own,
  }
  await firstStart(services, [])
  const activities = createActivities(services)

  /** Starts a worker and answers how to stop it. */
  const startWorker = async (): Promise<() => Promise<void>> => {
    const bundle = { codePath: stack.workflowBundle() }
    const worker = await createWorker({ connection, namespace, taskQueue, dataConverter, activities, bundle })
    const running = worker.run()
    return async () => {
      worker.shutdown()
      await running
    }
  }
  const stopWorker = withoutWorker ? undefined : await startWorker()

  const stop = async (): Promise<void> => {
    await stopWorker?.()
    await services.mailStarts.end()
    if (ownStorage) await orm.close()
    await api.stop()
    await connection.close()
  }
  const builtInCa = () => api.em().findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  return { ...api, api, client, taskQueue, services, activities, builtInCa, startWorker, stop }
}
export type Service = Awaited<ReturnType<typeof startService>>

/** What a run tells operators of itself, which is what the UI asks for the page of a run. */
export const detailsOf = async ({ client }: Pick<Service, 'client'>, workflowId: string): Promise<string> => {
  const handle = client.workflow.getHandle(workflowId)
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')
  return currentDetails
}

/** A user who may do everything below one new realm, with a policy and an end entity in it. */
export const makeScene = async (service: Service, policyMembers: Record<string, unknown> = {}) => {
  const owner = await service.user({ GLOBAL: ['REALMS_CREATE'] })
  const name = randomBytes(6).toString('hex')
  const must = async (reply: Promise<{ status: number; body: { id: string } }>): Promise<string> => {
    const { status, body } = await reply
    if (status !== 201) throw new Error(`The scene could not be made: ${status} ${JSON.stringify(body)}`)
    return body.id
  }
  const realmId = await must(owner.post('/api/v1/realms', { name: `Realm ${name}` }))
  const policyId = await must(
    owner.post('/api/v1/policies', {
      realmId,
      name: `Policy ${name}`,
      certificateProviderId: (await service.builtInCa()).id,
      certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
      allowedKeyPairModes: ['SERVER_GEN', 'PKCS10', 'PUBLIC_KEY'],
      ...policyMembers,
    }),
  )
  /** A new end entity: with this common name (a host of its own unless stated), or with these members. */
  const newEndEntity = (
    subject: string | Record<string, unknown> = `host-${randomBytes(4).toString('hex')}.example.org`,
  ): Promise<string> =>
    must(
      owner.post('/api/v1/end-entities', {
        realmId,
        ...(typeof subject === 'string' ? { commonName: subject } : subject),
      }),
    )
  const endEntityId = await newEndEntity()
  const newRequest = async (members: Record<string, unknown> = {}): Promise<string> =>
    must(
      owner.post('/api/v1/cert-requests', {
        policyId,
        endEntityId,
        validFor: 'SIX_MONTHS',
        keyPairMode: 'SERVER_GEN',
        keyGenParamsDto: { cryptoAlgorithm: 'EC' },
        ...members,
      }),
    )
  return { owner, realmId, policyId, endEntityId, newEndEntity, newRequest }
}
export type Scene = Awaited<ReturnType<typeof makeScene>>
export type { Api }
