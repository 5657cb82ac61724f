// What activities work with in these tests: a database of its own, the built-in CA, and a clock and a list of runs
// that the test holds in its hand.
import { randomBytes, randomUUID } from 'node:crypto'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { openDirectory } from '../../activities/directory/keycloak.ts'
import { createActivities } from '../../activities/index.ts'
import { firstStart } from '../../activities/first-start.ts'
import { MailStarts } from '../../activities/mail/starting.ts'
import type { Runs, Services } from '../../activities/services.ts'
import type { ValidFor } from '../../domain/enums.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder, OrderItem } from '../../storage/rows/certificate-order.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import type { EndEntity } from '../../storage/rows/end-entity.ts'
import { openStorage } from '../../storage/orm.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import { Seal } from '../../storage/seal.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { Settings } from '../../storage/settings.ts'
import {
  certRequestWorkflowId,
  issueWorkflowId,
  mailCheckWorkflowId,
  mailWorkflowId,
  orderWorkflowId,
  providerWorkflowId,
} from '../../workflows/ids.ts'
import type { Start } from '../../workflows/starts.ts'
import { freshDatabase } from '../support/database.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

/** Services over a fresh database; `started` is what the activities asked to run. */
export const openFixture = async (own: Partial<Services> = {}) => {
  const orm = await openStorage({ url: await freshDatabase(), connections: 20 })
  const started: Start[] = []
  const seal = own.seal ?? new Seal(new Map([['test', randomBytes(32)]]))
  const runs: Runs = {
    start: async run => {
      started.push(run)
      return true
    },
    end: async () => {},
  }
  const services: Services = {
    orm,
    seal,
    settings: new Settings(orm.em, { seal, freshForMs: 0 }),
    runs,
    mailStarts: new MailStarts({ orm, runs, warn: () => {} }),
    clock: () => new Date(),
    baseUrl: 'http://localhost',
    directory: openDirectory(undefined),
    privateNetworks: [],
    ...own,
  }
  await firstStart(services, [])
  return { orm, services, started, activities: createActivities(services), em: () => orm.em.fork() }
}
export type Fixture = Awaited<ReturnType<typeof openFixture>>

/** The run that an input names, as the workflows start it. */
const runNamedBy = (input: unknown): string => {
  const { certRequestId, providerId, orderId, runId, groupId, userId } = Object(input) as Readonly<
    Record<string, string | undefined>
  >
  if (certRequestId !== undefined) return certRequestWorkflowId(certRequestId)
  if (providerId !== undefined) return providerWorkflowId('prepare', providerId)
  if (groupId !== undefined) return mailWorkflowId(groupId)
  if (userId !== undefined) return mailCheckWorkflowId(userId)
  return orderId ?? runId ?? 'some-run'
}

/** An activity's surroundings in a run of this id. */
export const surroundings = (workflowId: string, attempt = 1) =>
  new MockActivityEnvironment(
    { attempt, workflowExecution: { workflowId, runId: randomUUID() } },
    { logger: new DefaultLogger('ERROR') },
  )

/** Runs an activity as a worker would, in the run that its input names unless stated. */
export const run = <I, R>(activity: (input: I) => Promise<R>, input: I, workflowId = runNamedBy(input)): Promise<R> =>
  surroundings(workflowId).run(activity, input)

/** A policy over the built-in CA and an end entity that it suits. */
export const makeScene = async (orm: MikroORM, members: Partial<Policy> = {}) => {
  const em = orm.em.fork()
  const realm = await makeRealm(em)
  const { id } = await em.findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  const policy = await makePolicy(em, realm, {
    certificateProviderId: id,
    certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}',
    ...members,
  })
  const endEntity = await makeEndEntity(em, realm, { commonName: `cn ${randomUUID()}`.slice(0, 40) })
  return { realm, policy, endEntity }
}
export type Scene = Awaited<ReturnType<typeof makeScene>>

/** What a test may want of a request beside the usual: an approved one that the service makes an EC key for. */
export interface RequestMembers {
  readonly runId?: string | null
  readonly endEntity?: EndEntity
  readonly status?: CertRequest['certRequestStatus']
  readonly dualControl?: boolean
  readonly requesterMayApprove?: boolean
  readonly validFor?: ValidFor
}

/** A request, claimed by its own issuing run unless stated. */
export const newRequest = async (
  em: EntityManager,
  scene: Scene,
  members: RequestMembers = {},
): Promise<CertRequest> => {
  const { policy, realm } = scene
  const endEntity = members.endEntity ?? scene.endEntity
  const id = randomUUID()
  const runId = members.runId === undefined ? issueWorkflowId(id) : members.runId
  em.create(CertRequest, {
    id,
    realmId: realm.id,
    policyId: policy.id,
    policyName: policy.name,
    endEntityId: endEntity.id,
    endEntityCommonName: endEntity.commonName ?? null,
    endEntityAlias: null,
    validFor: members.validFor ?? 'SIX_MONTHS',
    keyPairMode: 'SERVER_GEN',
    keyGenParamsDto: { cryptoAlgorithm: 'EC' },
    certRequestStatus: members.status ?? 'APPROVED',
    requiresManualApproval: members.status === 'PENDING_APPROVAL',
    dualControl: members.dualControl ?? false,
    requesterMayApprove: members.requesterMayApprove ?? true,
    userResponses: [],
    runId,
    runSince: runId === null ? null : new Date(),
  })
  await em.flush()
  return em.findOneOrFail(CertRequest, id, { refresh: true })
}

/** A running order of these many requests. */
export const newOrder = async (em: EntityManager, scene: Scene, members: readonly RequestMembers[]) => {
  const orderId = orderWorkflowId(randomUUID())
  em.create(CertificateOrder, {
    id: orderId,
    createdBy: randomUUID(),
    multiple: true,
    omitArtifacts: true,
    status: 'RUNNING',
  })
  await em.flush()
  const requests: CertRequest[] = []
  for (const [position, member] of members.entries()) {
    const request = await newRequest(em, scene, { ...member, runId: orderId })
    requests.push(request)
    em.create(OrderItem, { orderId, certRequestId: request.id, position, status: 'RUNNING' })
  }
  await em.flush()
  return { orderId, requests }
}

/** The certificates of a request. */
export const certificatesOf = (em: EntityManager, { id }: CertRequest): Promise<Certificate[]> =>
  em.fork().find(Certificate, { certRequestId: id })

/** The present row of a request. */
export const reread = (em: EntityManager, { id }: { id: string }): Promise<CertRequest> =>
  em.fork().findOneOrFail(CertRequest, id)

/** Stores a setting, seen at once. */
export const set = async ({ orm }: Fixture, settingsKey: string, value: string | null): Promise<void> => {
  const em = orm.em.fork()
  const row = (await em.findOne(Setting, { settingsKey })) ?? em.create(Setting, { settingsKey, value })
  row.value = value
  await em.flush()
}
