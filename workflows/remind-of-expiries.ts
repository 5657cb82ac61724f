// The schedule that reminds of certificates which expire (contract 8).
import { ActivityFailure, log, setCurrentDetails } from '@temporalio/workflow'
import { records } from './activities.ts'
import { fewAtOnce } from './chunks.ts'
import { tellState } from './run-state.ts'

/** So many mails to each address at most in one run; the next run goes on. */
const maxChunks = 20

/** So many realms that failed are named to operators. */
const mostNamed = 20

const remind = async (realmId: string): Promise<number> => {
  let reminded = 0
  for (let chunk = 0; chunk < maxChunks; chunk++) {
    const done = await records.remindRealm({ realmId })
    reminded += done.reminded
    if (!done.more) break
  }
  return reminded
}

/** Reminds each realm of what expires; a realm that fails does not keep the others waiting, the next run tries it again. */
export async function remindOfExpiries(): Promise<{ reminded: number; failed: number }> {
  const realmIds = await records.realmsToRemind()
  const total = { reminded: 0, failed: 0 }
  const failed: string[] = []
  const describe = (): string => {
    const named = failed.length > 0 ? `; failed: ${failed.slice(0, mostNamed).join(', ')}` : ''
    return `${done} of ${realmIds.length} realms, ${total.reminded} certificates${named}`
  }
  let done = 0
  await fewAtOnce(realmIds, async realmId => {
    try {
      const reminded = await remind(realmId)
      total.reminded += reminded
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error
      log.warn('a realm was not reminded', { realmId })
      total.failed += 1
      failed.push(realmId)
    }
    done += 1
    setCurrentDetails(describe())
  })
  if (total.failed > 0) tellState('FAILED')
  return total
}
