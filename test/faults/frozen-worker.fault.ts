// A worker is frozen in the middle of its activities past its heartbeat, another takes over, and the first wakes up again.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { Mail } from '../../storage/rows/mail.ts'
import { Revocation } from '../../storage/rows/revocation.ts'
import { requestAll } from '../stories/scene.ts'
import { isInTransaction } from './catching.ts'
import { chanceFor } from './chance.ts'
import { attemptStarted } from '../support/attempts.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { issued, mailed, ran, report, revoked } from './reckoning.ts'

const fault = 'worker frozen past its heartbeat, and woken'
const sizes = { issues: 250, revocations: 250, mails: 50 }
const mailTakesMs = 400

let installation: Installation
let second: RunningProcess | undefined

beforeAll(async () => {
  installation = await openInstallation({
    mail: { onRcptTo: (_, __, done) => void setTimeout(done, mailTakesMs) },
  })
}, 120_000)
afterAll(async () => {
  await second?.stop()
  await installation.stop()
}, 60_000)

const order = async (ids: string[]): Promise<string> => {
  const path = '/api/v2/certificates/cert-requests?omitArtifacts=true'
  const { status, body } = await installation.call('POST', path, ids)
  expect(status).toBe(201)
  return body.orderId
}
const untilOrdersEnd = () =>
  eventually('the orders are completed', async () => {
    return (await installation.em().count(CertificateOrder, { status: 'RUNNING' })) === 0
  })

/** Stops a process in the middle of a transaction that holds what others wait for: at moment after moment, until it is. */
const freeze = async ({ pid }: RunningProcess): Promise<void> => {
  const chance = chanceFor(fault)
  for (let moment = 0; moment < 500; moment += 1) {
    process.kill(pid, 'SIGSTOP')
    if (await isInTransaction(installation.em())) return
    process.kill(pid, 'SIGCONT')
    await pause(chance() * 20)
  }
  throw new Error('The worker was in no transaction at any of these moments.')
}

/** The activities under way, by name. */
const underWay = async (): Promise<Set<string>> => {
  const names = new Set<string>()
  const { client } = installation
  for await (const { workflowId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    const { raw } = await client.workflow.getHandle(workflowId).describe()
    const begun = (raw.pendingActivities ?? []).filter(({ state }) => Number(state) === attemptStarted)
    for (const { activityType } of begun) names.add(activityType?.name ?? '')
  }
  return names
}

test('what a frozen worker had begun is done once by another, also after it wakes', async () => {
  const { em, running, call, client, mail } = installation
  const addresses = Array.from({ length: sizes.mails }, (_, index) => `reader-${index}@example.org`)
  const old = await requestAll(installation, await installation.makeScene(sizes.revocations))
  const told = await requestAll(installation, await installation.makeScene(1, {}, addresses))
  const fresh = await requestAll(installation, await installation.makeScene(sizes.issues))
  const orders = [await order(old)]
  await untilOrdersEnd()
  const certificateIds = (await em().find(Certificate, {})).map(({ id }) => id)

  const { worker } = running
  orders.push(await order(told))
  await eventually('some mails are out', async () => mail.mails.filter(({ to }) => to.startsWith('reader')).length > 3)
  orders.push(await order(fresh))
  const body = { certificateIds, revocationReason: 'SUPERSEDED' }
  const asked = call('POST', '/api/v1/certificates/batch-revoke', body)
  await freeze(worker)
  const frozen = await underWay()
  expect(await em().count(Mail, { status: 'QUEUED' })).toBeGreaterThan(0)
  second = await installation.startSecondWorker()
  await untilOrdersEnd()
  await eventually('all is revoked', async () => (await em().count(Revocation, { closedDate: null })) === 0)
  await installation.untilMailed()
  process.stdout.write(`fault: ${fault}: under way were ${[...frozen].join(', ')}\n`)
  expect(frozen.size).toBeGreaterThan(0)

  process.kill(worker.pid, 'SIGCONT')
  // It ends once it has done all that it had begun.
  await worker.stop()
  const answer = await asked
  // Done, or pending: what a caller hears is never that something unexpected happened.
  const codes = new Set(answer.body.errors?.map(({ apiError }: { apiError: string }) => apiError))
  process.stdout.write(`fault: ${fault}: the caller of the revocation heard ${answer.status} ${[...codes].join()}\n`)
  expect(answer.status).toBe(200)
  expect(codes.isSubsetOf(new Set(['REVOCATION_PENDING']))).toBe(true)
  await eventually('the revocation is asked for and done', async () => {
    const open = await em().count(Certificate, { id: { $in: certificateIds }, revocationDate: null })
    if (open > 0) await call('POST', '/api/v1/certificates/batch-revoke', body)
    return open === 0
  })
  await eventually('a CRL tells all', async () => {
    return (await em().count(Certificate, { id: { $in: certificateIds }, crlPending: true })) === 0
  })
  await installation.untilMailed()
  report({ fault, items: sizes.issues + sizes.revocations + sizes.mails, kills: 1 }, [
    ...(await issued(em(), [...old, ...told, ...fresh])),
    ...(await revoked(em(), certificateIds)),
    ...(await mailed(em(), mail)),
    ...(await ran(client, orders)),
  ])
}, 540_000)
