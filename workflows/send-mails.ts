// The mails of one event, or of several that share a run: sent, and tried again with growing pauses until their time is over (contract 8).
import { ActivityFailure, isCancellation, log, setCurrentDetails, sleep } from '@temporalio/workflow'
import { mailPatienceMs } from '../domain/mails.ts'
import { mailing, probes, records } from './activities.ts'
import { mailCheckWorkflowId, mailWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'
import { tellState } from './run-state.ts'

/** How the mails of a run stand. */
export interface MailProgress {
  readonly queued: number
  readonly sent: number
  readonly failed: number
}

const minuteMs = 60_000

/** The pause behind a pass: one minute, and twice as much each time, up to an hour. */
const pauseAfter = (pass: number): number => Math.min(2 ** pass, 60) * minuteMs

/** How long a mail waits for more certificates of its batch: these pauses, about ten minutes. */
const gatheringPauses = [2, 5, 10, 20, 40, 80, 160, 320].map(seconds => seconds * 1000)

/** Waits for the batch that the mail tells of, as long as it goes on. */
const gather = async (groupId: string): Promise<string> => {
  for (const pause of gatheringPauses) {
    const { queuedDate, gathering } = await records.openMails({ groupId, patient: true })
    if (!gathering) return queuedDate
    setCurrentDetails('Waits for the rest of the batch')
    await sleep(pause, { summary: 'wait for the rest of the batch' })
  }
  return (await records.openMails({ groupId, patient: false })).queuedDate
}

type PassEnd = Awaited<ReturnType<typeof mailing.sendMails>>

/**
 * How long a run waits for a place at a worker that sends for others, about: many runs that begin at once must not be taken
 * for a mail server that is away. Behind the last of these pauses it is a pass like any that came to nothing.
 */
const placePauses = [2, 4, 8, 15, 30, 60].map(seconds => seconds * 1000)

/** The next mails, as soon as a worker has a place: of those who wait, not all ask again at the same moment. */
const sendNext = async (groupId: string, after: string | null): Promise<PassEnd> => {
  for (const pause of placePauses) {
    const end = await mailing.sendMails({ groupId, after })
    if (end.busy !== true) return end
    await sleep(pause * (0.5 + Math.random()), { summary: 'wait for a worker that has a place' })
  }
  return mailing.sendMails({ groupId, after })
}

/** One attempt at each queued mail; a server that takes none ends it early. Answers how they stand, when that was told. */
const pass = async (groupId: string): Promise<MailProgress | undefined> => {
  for (let after: string | null = null; ;) {
    const { last, over, settled } = await sendNext(groupId, after)
    if (over || last === null) return settled
    after = last
  }
}

/** What an activity cannot do now, such as a mail that the worker cannot make, it may do under a later version. */
const tried = async (groupId: string): Promise<MailProgress | undefined> => {
  try {
    return await pass(groupId)
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error
    log.warn('a pass over mails failed', { groupId })
    return undefined
  }
}

const describe = ({ queued, sent, failed }: MailProgress): string => `${sent} sent, ${failed} failed, ${queued} queued`

/** What went at once has no state. */
const ended = (progress: MailProgress, passes: number): MailProgress => {
  if (progress.failed > 0) tellState('FAILED')
  else if (passes > 0) tellState('SENT')
  return progress
}

/**
 * Sends the mails of a group and of those that its run carries; what is not sent 72 hours after its event is recorded as
 * failed. A group that is whole, as whoever queued it knows, has nothing to gather: where all goes well its run is one step.
 */
export async function sendMails(groupId: string, isWhole = false): Promise<MailProgress> {
  mustBeRun(mailWorkflowId(groupId))
  let queuedDate = isWhole ? undefined : await gather(groupId)
  for (let passes = 0; ; passes++) {
    const progress = (await tried(groupId)) ?? (await records.settleMails({ groupId }))
    setCurrentDetails(describe(progress))
    if (progress.queued === 0) return ended(progress, passes)
    if (passes === 0) tellState('RETRYING')
    queuedDate ??= (await records.openMails({ groupId, patient: false })).queuedDate
    const leftMs = Date.parse(queuedDate) + mailPatienceMs - Date.now()
    if (leftMs <= 0) break
    await sleep(Math.min(pauseAfter(passes), leftMs), {
      summary: `wait for the mail server, ${progress.queued} queued`,
    })
  }
  const progress = await records.giveUpMails({ groupId })
  setCurrentDetails(describe(progress))
  tellState('FAILED')
  return progress
}

/** What became of a test mail. */
export interface MailCheck {
  /** What the operator needs to know; null when the server took the mail. */
  readonly problem: string | null
}

/** Sends a test mail to a user. */
export async function checkMailServer(userId: string): Promise<MailCheck> {
  mustBeRun(mailCheckWorkflowId(userId))
  return probes.sendTestMail({ userId })
}
