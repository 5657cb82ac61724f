// The rollover of a provider's CA: the next one is made at once, and takes over when its time has come (contract 10.6).
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import { longestWaitMs } from '../domain/rollover-rules.ts'
import { signing } from './activities.ts'
import { providerWorkflowId } from './ids.ts'
import { rolloverChanged } from './messages.ts'
import { mustBeRun } from './own-run.ts'

/** A longer history goes on as a new run: the records tell what is left. */
const longestHistory = 2000

/** The records have the time; clocks may differ by some of it. */
const shortestWaitMs = 1000

const waitMs = (takeOverDate: string): number =>
  Math.min(longestWaitMs, Math.max(shortestWaitMs, Date.parse(takeOverDate) - Date.now()))

/** Carries out the rollover of a provider to its end; it looks at the records when it is told of a change, and each day. */
export async function rollOver(providerId: string): Promise<void> {
  mustBeRun(providerWorkflowId('rollover', providerId))
  let changes = 0
  const advance = async () => {
    const { nextCaId, takeOverDate } = await signing.advanceRollover({ providerId })
    setCurrentDetails(takeOverDate === null ? 'Nothing is planned' : `CA ${nextCaId} takes over on ${takeOverDate}`)
    return takeOverDate
  }
  setHandler(rolloverChanged, async () => {
    changes += 1
    await advance()
  })
  for (;;) {
    const seen = changes
    const takeOverDate = await advance()
    if (takeOverDate === null && seen === changes) break
    if (takeOverDate !== null) await condition(() => changes > seen, waitMs(takeOverDate))
    await condition(allHandlersFinished)
    if (workflowInfo().historyLength > longestHistory) await continueAsNew<typeof rollOver>(providerId)
  }
  await condition(allHandlersFinished)
}
