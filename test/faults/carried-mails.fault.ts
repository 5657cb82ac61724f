// The worker is killed while the mails of many events are on their way: no run has them yet, and half of a run is sent.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { WorkflowNotFoundError } from '@temporalio/client'
import { MailGroup } from '../../storage/rows/mail.ts'
import { mailWorkflowId } from '../../workflows/ids.ts'
import { requestAll } from '../stories/scene.ts'
import { eventually, openInstallation, type Installation } from './installation.ts'
import { issued, mailed, report, toldOfCertificates } from './reckoning.ts'

const fault = 'worker killed between an event and its mails'
const size = 80
const clients = 6
/** Slow enough for a run to be met half way. */
const mailTakesMs = 200

let installation: Installation

beforeAll(async () => {
  installation = await openInstallation({
    mail: { onRcptTo: (_, __, done) => void setTimeout(done, mailTakesMs) },
  })
}, 120_000)
afterAll(() => installation.stop(), 60_000)

/** Issues one after the other, in some lanes; what a dead worker leaves pending is issued by the next. */
const issueEach = async (ids: readonly string[]): Promise<void> => {
  const queue = [...ids]
  const lane = async (): Promise<void> => {
    for (let id = queue.shift(); id; id = queue.shift())
      await installation.call('POST', `/api/v1/certificates/cert-requests/${id}`)
  }
  await Promise.all(Array.from({ length: clients }, lane))
}

const killWorker = async (): Promise<void> => {
  const { worker } = installation.running
  await worker.kill()
  expect(await worker.exited).toContain('SIGKILL')
}

/** The open groups that no run has. */
const withoutRun = async (): Promise<string[]> => {
  const open = await installation.em().find(MailGroup, { closedDate: null })
  const runs = open.map(async ({ id, carriedBy }) => {
    const handle = installation.client.workflow.getHandle(mailWorkflowId(carriedBy ?? id))
    const isThere = await handle.describe().catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return null
      throw error
    })
    return isThere ? [] : [id]
  })
  return (await Promise.all(runs)).flat()
}

/** The runs that have sent some of their mails and not yet others. */
const halfSent = async (): Promise<string[]> => {
  const rows = await installation.em().execute<{ id: string }[]>(
    `select g.carried_by as id from mail_group g join mail m on m.group_id = g.id where g.carried_by is not null
      group by 1 having count(*) filter (where status = 'SENT') > 0 and count(*) filter (where status = 'QUEUED') > 0`,
  )
  return rows.map(({ id }) => id)
}

test('the mail of each event goes out once, wherever on its way the worker dies', async () => {
  const { em, client, mail } = installation
  const ids = await requestAll(installation, await installation.makeScene(size))
  const calls = issueEach(ids)

  let kills = 0
  let collected: string[] = []
  // A start may come between the look and the kill.
  while (collected.length === 0 && kills < 4) {
    await eventually('mails wait for a run together', async () => (await withoutRun()).length > 2)
    await killWorker()
    kills += 1
    collected = await withoutRun()
    await installation.startWorker()
  }

  const halves = await eventually('half of a run is sent', async () => {
    const runs = await halfSent()
    return runs.length > 0 && runs
  })
  const { worker } = installation.running
  await killWorker()
  kills += 1
  const left = (await halfSent()).filter(id => halves.includes(id))
  await installation.startWorker()
  for (const id of left) await installation.giveUpAttempts(mailWorkflowId(id), worker)

  await calls
  await eventually('all is issued', async () => (await toldOfCertificates(em())) === size)
  await installation.untilMailed()
  process.stdout.write(`fault: ${fault}: ${collected.length} without a run, ${left.length} runs half sent\n`)
  expect(collected.length).toBeGreaterThan(0)
  expect(left.length).toBeGreaterThan(0)
  report({ fault, items: size, kills }, [...(await issued(em(), ids)), ...(await mailed(em(), mail))])
  const runs = (await em().find(MailGroup, {})).map(({ id, carriedBy }) => carriedBy ?? id)
  expect(new Set(runs).size).toBeLessThan(size)
  for (const id of new Set(runs))
    expect((await client.workflow.getHandle(mailWorkflowId(id)).describe()).status.name).toBe('COMPLETED')
}, 540_000)
