// Starting the runs of mails after the commit of their event.
import { log } from '@temporalio/activity'
import { sendMailsRun } from '../../workflows/starts.ts'
import type { Services } from '../services.ts'

/** What queuing mails about something in a realm came to. */
export interface QueuedMails {
  readonly groupId: string | null
  readonly realmId: string | null
  /** Whether nothing is added to it any more. */
  readonly isWhole?: boolean
}

/** Starts the run of each group without waiting for it: who waits for the event must not wait for its mails. */
export const startMails = ({ runs }: Services, queued: readonly QueuedMails[]): void => {
  for (const { groupId, realmId, isWhole } of queued) {
    if (groupId === null) continue
    // The reconciler starts what is not started here.
    runs
      .start(sendMailsRun(groupId, realmId, isWhole))
      .catch((error: unknown) => log.warn('a run of mails was not started', { groupId, error }))
  }
}
