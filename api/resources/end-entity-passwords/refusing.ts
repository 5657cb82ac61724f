// Refusing whoever claims to be an end entity: every refusal looks the same.
import { setTimeout } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Pair } from '../../../storage/end-entity-passwords.ts'
import { refusePassword } from '../../../storage/password-judging.ts'
import type { Attempt } from '../../../storage/scep-challenges.ts'
import type { Settings } from '../../../storage/settings.ts'

/**
 * Every refusal hashes once and asks the database the same; which rows are there and change differs, and takes less than
 * this: nobody can tell by the time what was wrong.
 */
const refusalMs = 50

const ruleIn = async (settings: Settings) => ({
  maxFailures: await settings.integer('password.max-failures'),
  lockMinutes: await settings.integer('password.lock-minutes'),
})

/** Counts a try that was refused, in the time that each takes. */
export const refuseSlowly = async (
  em: EntityManager,
  settings: Settings,
  { attempt, pair }: { attempt: Attempt; pair: Pair | null },
): Promise<void> => {
  await Promise.all([refusePassword(em, { attempt, pair, rule: await ruleIn(settings) }), setTimeout(refusalMs)])
}
