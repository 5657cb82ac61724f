// Starting what the records ask for and nobody runs.
import { isOrder, providerWorkflowId } from '../workflows/ids.ts'
import { waitingRun } from '../workflows/starts.ts'
import { CertRequest } from '../storage/rows/cert-request.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { CertificateOrder } from '../storage/rows/certificate-order.ts'
import type { MissingRun, Services } from './services.ts'

/** Younger rows are left alone: their own call is about to start the run. */
const graceMs = 30_000
const atMost = 5000
/** So many starts are under way at once: most runs are there already, and asking for each in turn would take too long. */
const lanes = 16

const issuingRuns = async ({ orm }: Services, before: Date): Promise<MissingRun[]> => {
  const rows = await orm.em
    .fork()
    .find(CertRequest, { runId: { $ne: null, $like: 'issue/%' }, runSince: { $lt: before } }, { limit: atMost })
  const byRun = Map.groupBy(rows, row => row.runId ?? '')
  return [...byRun].map(([id, requests]) => ({
    workflow: 'issueCertificates',
    id,
    args: [requests.map(request => request.id)],
  }))
}

const orderRuns = async ({ orm }: Services, before: Date): Promise<MissingRun[]> => {
  const rows = await orm.em
    .fork()
    .find(CertificateOrder, { status: 'RUNNING', startedDate: { $lt: before } }, { orderBy: { startedDate: 'desc' } })
  return rows.filter(({ id }) => isOrder(id)).map(({ id }) => ({ workflow: 'orderCertificates', id, args: [id] }))
}

const waitingRuns = async ({ orm, settings }: Services, before: Date): Promise<MissingRun[]> => {
  const waitDays = await settings.integer('order.max-wait-days')
  const since = new Date(before.getTime() - 24 * 60 * 60 * 1000)
  const rows = await orm.em.fork().find(
    CertRequest,
    {
      certRequestStatus: { $in: ['PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION'] },
      archived: false,
      createdDate: { $lt: before, $gt: since },
    },
    { limit: atMost, orderBy: { createdDate: 'desc' } },
  )
  return rows.map(request => ({ workflow: 'certRequest', ...waitingRun(request, waitDays) }))
}

const unpreparedProviders = async ({ orm }: Services, before: Date): Promise<MissingRun[]> => {
  const rows = await orm.em
    .fork()
    .find(
      CertificateProvider,
      { certificateProviderType: 'LOCAL', issuingCaId: null, archived: false, createdDate: { $lt: before } },
      { limit: atMost },
    )
  return rows.map(({ id }) => ({ workflow: 'prepareProvider', id: providerWorkflowId('prepare', id), args: [id] }))
}

const startAll = async ({ runs }: Services, missing: readonly MissingRun[]): Promise<number> => {
  const queue = missing.values()
  let started = 0
  const lane = async (): Promise<void> => {
    for (const run of queue) if (await runs.start(run)) started += 1
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return started
}

export const reconcileActivities = (services: Services) => ({
  /** Idempotency key: the workflow id of each run; one that is there already is left alone. */
  startMissingRuns: async (): Promise<{ started: number }> => {
    const before = new Date(services.clock().getTime() - graceMs)
    const runs = [
      ...(await issuingRuns(services, before)),
      ...(await orderRuns(services, before)),
      ...(await waitingRuns(services, before)),
      ...(await unpreparedProviders(services, before)),
    ]
    return { started: await startAll(services, runs) }
  },
})
