// Judging passwords of end entities (contract 12). A try counts when its verdict is written, not when it is made: writing
// goes one by one for each password, so that of a hundred tries at once no more than the setting allows are heard.
import type { EntityManager } from '@mikro-orm/postgresql'
import { recordEvenly, recordMany } from './audit.ts'
import { passwordFact, type Pair } from './end-entity-passwords.ts'
import { EndEntityPassword } from './rows/end-entity-password.ts'
import { refuseChallenge, type Attempt } from './scep-challenges.ts'

const minuteMs = 60_000

/** How many failures within how many minutes lock a password, for as many. */
export interface LockRule {
  readonly maxFailures: number
  readonly lockMinutes: number
}

/** What judges the password of an end entity for a policy; undefined when there is none. */
export const findVerifier = async (
  em: EntityManager,
  { endEntityId, policyId }: Attempt,
): Promise<string | undefined> =>
  (await em.findOne(EndEntityPassword, { endEntityId, policyId }, { fields: ['verifier'] }))?.verifier

/**
 * Records that a verifier fitted, and forgets failures; answers false, and does nothing, when the password is locked, or
 * where none fitted: that costs the same.
 */
export const acceptPassword = (em: EntityManager, attempt: Attempt, judged: Judged): Promise<boolean> =>
  em.transactional(async transaction => {
    const { endEntityId, policyId, now } = attempt
    const rows = await transaction.execute<object[]>(
      `update end_entity_password
          set last_used_date = ?, failures = 0, failing_since = null, locked_until = null
        where end_entity_id = ? and policy_id = ? and verifier = ? and coalesce(locked_until <= ?, true)
          and exists (select 1 from end_entity e where e.id = end_entity_id and not e.archived)
        returning id`,
      [now, endEntityId, policyId, judged.verifier ?? null, now],
    )
    if (rows.length === 0 || !judged.pair) return false
    await recordMany(
      transaction,
      [passwordFact(judged.pair, 'PASSWORD_AUTHENTICATED', `accepted${attempt.shownBy ?? ''}`)],
      { now },
    )
    return true
  })

/** Whose password it is, and the verifier that it fits; undefined when it fits none. */
export interface Judged {
  readonly pair: Pair | null
  readonly verifier: string | undefined
}

interface Guess {
  readonly rule: LockRule
  readonly isGuess: boolean
}

/** Whether the password is locked by it; null when it was not counted. */
const count = async (em: EntityManager, attempt: Attempt, { rule, isGuess }: Guess): Promise<boolean | null> => {
  const { endEntityId, policyId, now } = attempt
  const lockMs = rule.lockMinutes * minuteMs
  const since = new Date(now.getTime() - lockMs)
  const failures = 'case when failing_since > ? then failures + 1 else 1 end'
  const [row] = await em.execute<{ locked: boolean }[]>(
    `update end_entity_password
        set failures = ${failures},
            failing_since = case when failing_since > ? then failing_since else ?::timestamptz end,
            locked_until = case when ${failures} >= ? then ?::timestamptz end
      where end_entity_id = ? and policy_id = ? and coalesce(locked_until <= ?, true) and ?
      returning locked_until is not null as locked`,
    [since, since, now, since, rule.maxFailures, new Date(now.getTime() + lockMs), endEntityId, policyId, now, isGuess],
  )
  return row?.locked ?? null
}

/**
 * Counts a try that was refused, and locks the password when it was the last one. What is locked, or not there, is not
 * counted and no event: so there are at most as many events as tries are allowed. A challenge that is no longer good is
 * no guess: a device may go on sending it. Whatever is refused, the statements are the same.
 */
export const refusePassword = (
  em: EntityManager,
  { attempt, pair, rule }: { attempt: Attempt; pair: Pair | null; rule: LockRule },
): Promise<void> =>
  em.transactional(async transaction => {
    const { isChallenge, facts } = await refuseChallenge(transaction, attempt, pair)
    const locked = await count(transaction, attempt, { rule, isGuess: !isChallenge })
    const { now, shownBy = '' } = attempt
    if (locked !== null && pair) facts.push(passwordFact(pair, 'PASSWORD_REJECTED', `refused${shownBy}`))
    if (locked && pair) facts.push(passwordFact(pair, 'PASSWORD_LOCKED', `locked for ${rule.lockMinutes} minutes`))
    await recordEvenly(transaction, facts, now)
  })
