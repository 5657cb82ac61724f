// Devices enrol over SCEP while worker, API, Temporal, PostgreSQL, identity provider and the gateway itself go and come back:
// each that repeats itself ends with one certificate.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder, OrderItem } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { approved, issued, ran, report, type Tally } from './reckoning.ts'
import { startScep, type Scep } from './scep-scene.ts'

const size = 16
const longestPauseMs = 1500

let installation: Installation
let scep: Scep | undefined

beforeAll(async () => {
  installation = await openInstallation()
}, 120_000)
afterEach(async () => {
  await scep?.stop()
  scep = undefined
}, 60_000)
afterAll(() => installation.stop(), 60_000)

/** A part that can go and come back. */
interface Mortal {
  readonly die: () => Promise<void>
  readonly rise: () => Promise<void>
}

const killed = async (part: { kill: () => Promise<void>; exited: Promise<string> }): Promise<void> => {
  await part.kill()
  expect(await part.exited).toContain('SIGKILL')
}

/** What goes, in this order. */
const mortals = ({ relay, gateway, startGateway }: Scep): readonly Mortal[] => {
  const { running } = installation
  const workers: { dead?: (typeof running)['worker'] } = {}
  return [
    { die: () => killed(running.api), rise: () => installation.startApi() },
    {
      die: async () => {
        workers.dead = running.worker
        await killed(running.worker)
      },
      rise: async () => {
        await installation.startWorker()
        // Temporal is not there for a worker that starts while it is dead.
        await eventually('the worker is ready', async () => running.worker.lastLines().includes('the worker is ready'))
        if (workers.dead) await giveUp(workers.dead)
      },
    },
    { die: () => killed(gateway()), rise: startGateway },
    { die: () => killed(running.temporal), rise: () => installation.startTemporal() },
    {
      // The new process of the gateway has no token yet.
      die: async () => {
        await relay.close()
        await killed(gateway())
      },
      rise: async () => {
        const started = startGateway()
        await pause(longestPauseMs)
        await relay.openAgain()
        await started
      },
    },
    { die: () => killed(running.postgres), rise: () => installation.startPostgres() },
  ]
}

/** Lets what a dead worker had begun fail at once instead of after a minute. */
const giveUp = async (worker: { pid: number }): Promise<void> => {
  const { client } = installation
  for await (const { workflowId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' }))
    await installation.giveUpAttempts(workflowId, worker as Parameters<Installation['giveUpAttempts']>[1])
}

/** The requests of the devices: the signer of the policy has one as well. */
const requestsOf = ({ scene }: Scep): Promise<CertRequest[]> =>
  installation.em().find(CertRequest, { endEntityId: { $in: scene.endEntityIds } })

/** Answers each request of the devices as it comes, whatever dies meanwhile. */
const approveAll = (scep: Scep): Promise<true> =>
  eventually('all requests are approved', async () => {
    const requests = await requestsOf(scep)
    const open = requests.filter(({ userResponses }) => userResponses.length === 0)
    for (const { id } of open) await installation.call('PATCH', `/api/v1/cert-requests/${id}/approve`).catch(() => {})
    return requests.length === size && open.length === 0
  })

/** One request, one certificate, and that one at the device. */
const enrolled = async (scep: Scep, leaves: ReadonlyMap<string, Buffer>): Promise<Tally[]> => {
  const { endEntityIds } = scep.scene
  const requests = await requestsOf(scep)
  const certificates = await installation.em().find(Certificate, { endEntityId: { $in: endEntityIds } })
  const text = (id: string, der: Uint8Array): string => `${id} ${Buffer.from(der).toString('base64')}`
  return [
    { what: 'request of a device', expected: endEntityIds, seen: requests.map(row => row.endEntityId) },
    { what: 'certificate of a device', expected: endEntityIds, seen: certificates.map(row => row.endEntityId) },
    {
      what: 'certificate at a device',
      expected: certificates.map(row => text(row.endEntityId, row.der)),
      seen: [...leaves].map(([id, der]) => text(id, der)),
    },
  ]
}

const ordersOf = async (requestIds: string[]): Promise<string[]> => {
  const items = await installation.em().find(OrderItem, { certRequestId: { $in: requestIds } })
  const ids = [...new Set(items.map(({ orderId }) => orderId))]
  await eventually('the orders are completed', async () => {
    const open = await installation.em().count(CertificateOrder, { id: { $in: ids }, status: 'RUNNING' })
    return open === 0
  })
  return ids
}

test.each([
  ['SCEP enrolments while each part is killed', false],
  ['SCEP enrolments with approval while each part is killed', true],
])(
  '%s',
  async (fault, requiresManualApproval) => {
    const { em, client } = installation
    const chance = chanceFor(fault)
    const started = await startScep(installation, size, { requiresManualApproval })
    scep = started
    const { devices } = started
    const parts = mortals(started)
    // The devices come one after the other, so that each death meets some in the middle of something.
    let deaths = 0
    const enrolling = devices.map(async ({ id, enrol }, index) => {
      await eventually('its turn comes', async () => deaths >= (index % (parts.length + 1)) - 0.5)
      await pause(chance() * 300)
      return [id, await enrol()] as const
    })
    const works = Promise.all([Promise.all(enrolling), requiresManualApproval ? approveAll(started) : true])
    for (const { die, rise } of parts) {
      await pause(chance() * longestPauseMs)
      deaths += 1
      await die()
      await pause(chance() * longestPauseMs)
      await rise()
      await installation.ready()
    }
    const [ends] = await works
    const leaves = new Map(ends)
    const again = new Map(await Promise.all(devices.map(async ({ id, enrol }) => [id, await enrol()] as const)))
    const requestIds = (await requestsOf(started)).map(({ id }) => id)
    const orderIds = await ordersOf(requestIds)
    const sum = (of: 'broken' | 'pending') => devices.reduce((all, { seen }) => all + seen[of], 0)
    process.stdout.write(`fault: ${fault}: ${sum('broken')} without an answer, ${sum('pending')} told to wait\n`)
    expect(sum('broken')).toBeGreaterThan(0)
    const tallies = [
      ...(await enrolled(started, leaves)),
      ...(await enrolled(started, again)),
      ...(await issued(em(), requestIds)),
      ...(requiresManualApproval ? await approved(em(), requestIds) : []),
      ...(await ran(client, [...orderIds, ...(requiresManualApproval ? requestIds.map(certRequestWorkflowId) : [])])),
    ]
    report({ fault, items: size, kills: parts.length }, tallies)
  },
  540_000,
)
