// Starting what the records ask for and nobody runs.
import pLimit from 'p-limit'
import { kindOf } from '../authority/providers/kinds.ts'
import {
  claimedRequests,
  openRevocations,
  providersWithoutCa,
  rolloverProviders,
  runningOrders,
  waitingRequests,
} from '../storage/missing-runs.ts'
import { openPurges } from '../storage/purges.ts'
import { forgottenRuns } from '../storage/outbox.ts'
import { purgeRun } from '../workflows/purge-starts.ts'
import {
  certRequestRun,
  issueRun,
  orderRun,
  prepareProviderRun,
  rolloverRun,
  revokeRun,
  sendMailsRun,
  type Start,
} from '../workflows/starts.ts'
import type { Services } from './services.ts'

/** Younger rows are left alone: their own call is about to start the run. */
const graceMs = 30_000

/** So many starts are under way at once: most runs are there already, and asking for one after the other would take too long. */
const startsAtOnce = 16

const missingRuns = async ({ orm, settings, clock }: Services): Promise<Start[]> => {
  const em = orm.em.fork()
  const before = new Date(clock().getTime() - graceMs)
  const waitDays = await settings.integer('order.max-wait-days')
  const claimed = [...(await claimedRequests(em, before))].map(([runId, requests]) => issueRun(runId, requests))
  const orders = (await runningOrders(em, before)).map(orderRun)
  const waiting = (await waitingRequests(em, before)).map(request => certRequestRun(request, waitDays))
  const unprepared = (await providersWithoutCa(em, before)).filter(row => kindOf(row).lacksPreparation(row))
  const revocations = (await openRevocations(em, before)).map(revokeRun)
  const purges = (await openPurges(em, before)).map(purgeRun)
  const mails = (await forgottenRuns(em, before)).map(({ groupId, realmId }) => sendMailsRun(groupId, realmId, true))
  const preparations = unprepared.map(({ id }) => prepareProviderRun(id))
  const rollovers = (await rolloverProviders(em, before)).map(({ id }) => rolloverRun(id))
  return [...claimed, ...orders, ...waiting, ...revocations, ...purges, ...preparations, ...rollovers, ...mails]
}

/** Finding and starting the runs that a crash left behind. */
export const reconcileActivities = (services: Services) => ({
  /** Idempotency key: the workflow id of each run; one that is there already is left alone. */
  startMissingRuns: async (): Promise<{ started: number }> => {
    const missing = await missingRuns(services)
    const started = await pLimit(startsAtOnce).map(missing, run => services.runs.start(run))
    return { started: started.filter(Boolean).length }
  },
})
