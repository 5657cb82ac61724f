// The schedule that reminds of certificates which expire (contract 8).
import { ActivityFailure, continueAsNew, log, patched, setCurrentDetails, workflowInfo } from '@temporalio/workflow'
import { records } from './activities.ts'
import { chunksOf, fewAtOnce } from './chunks.ts'
import { tellState } from './run-state.ts'

/** So many mails to each address at most in one run; the next run goes on. */
const maxChunks = 20

/** So many realms that failed are named to operators. */
const mostNamed = 20

/** A longer history goes on as a new run, behind the realms that are done; unless the order says otherwise. */
const usualHistory = 2000

/** What the runs before have done: `after` is the last realm of it. */
export interface RemindersSoFar {
  readonly after?: string
  readonly realms?: number
  readonly reminded?: number
  readonly failed?: number
  /** Some of the realms that failed. */
  readonly named?: readonly string[]
  readonly longestHistory?: number
}

const remind = async (realmId: string): Promise<number> => {
  let reminded = 0
  for (let chunk = 0; chunk < maxChunks; chunk++) {
    const done = await records.remindRealm({ realmId })
    reminded += done.reminded
    if (!done.more) break
  }
  return reminded
}

/** The realms behind one of them, in parts; one part where runs of versions before began with all at once. */
const partsBehind = (all: readonly string[], after = ''): readonly (readonly string[])[] => {
  const left = all.filter(id => id > after)
  const [first = [], ...others] = chunksOf(left)
  if (others.length === 0) return [first]
  return patched('reminders go on as a new run') ? [first, ...others] : [left]
}

/** Reminds each realm of what expires; a realm that fails does not keep the others waiting, the next run tries it again. */
export async function remindOfExpiries(so: RemindersSoFar = {}): Promise<{ reminded: number; failed: number }> {
  const all = await records.realmsToRemind()
  const { longestHistory = usualHistory } = so
  const total = { reminded: so.reminded ?? 0, failed: so.failed ?? 0 }
  const named = [...(so.named ?? [])]
  let done = so.realms ?? 0
  const describe = (): string => {
    const told = named.length > 0 ? `; failed: ${named.slice(0, mostNamed).join(', ')}` : ''
    return `${done} of ${all.length} realms, ${total.reminded} certificates${told}`
  }
  const remindOne = async (realmId: string): Promise<void> => {
    try {
      const reminded = await remind(realmId)
      total.reminded += reminded
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error
      log.warn('a realm was not reminded', { realmId })
      total.failed += 1
      named.push(realmId)
    }
    done += 1
    setCurrentDetails(describe())
  }
  for (const part of partsBehind(all, so.after)) {
    await fewAtOnce(part, remindOne)
    const after = part.at(-1)
    if (after === undefined || after === all.at(-1) || workflowInfo().historyLength <= longestHistory) continue
    const next = { ...total, after, realms: done, named: named.slice(0, mostNamed), longestHistory }
    await continueAsNew<typeof remindOfExpiries>(next)
  }
  if (total.failed > 0) tellState('FAILED')
  return total
}
