// One-time SCEP challenges (contract 12.1): made, and spent on one thing alone. Of the secret a hash is kept; with
// 142 random bits it needs no slow one.
import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { challengeAlphabet, challengeLength, challengeText } from '../domain/password-rules.ts'
import { recordMany, type Fact } from './audit.ts'
import { pairText, type Pair } from './end-entity-passwords.ts'
import { takeKeyedLocks } from './lock.ts'
import { randomText } from './random-text.ts'
import { ScepChallenge } from './rows/scep-challenge.ts'

const minuteMs = 60_000

/** So long after it was spent the same thing is let through at least: a reply may have been lost at the last moment. */
const replayMs = 60 * minuteMs

/** SHA-256 over the secret of a challenge, hex: what is kept of it. */
export const hashOfChallenge = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** What happened to a challenge. */
export const challengeFact = (pair: Pair, type: Fact['type'], what: string): Fact => ({
  type,
  objectId: pair.endEntity.id,
  realmId: pair.endEntity.realmId,
  what: `SCEP challenge ${pairText(pair)} ${what}`,
})

/** A challenge, which only who asked for it gets to see. */
export interface NewChallenge {
  readonly challenge: string
  readonly expiresDate: Date
}

/** Makes a challenge; those before it that nobody has spent end. */
export const makeChallenge = (
  em: EntityManager,
  pair: Pair,
  { now, minutes }: { readonly now: Date; readonly minutes: number },
): Promise<NewChallenge> =>
  em.transactional(async transaction => {
    const owner = { endEntityId: pair.endEntity.id, policyId: pair.policy.id }
    await takeKeyedLocks(transaction, 'SCEP_CHALLENGE', [`${owner.endEntityId}/${owner.policyId}`])
    const open = { ...owner, spentDate: null, expiresDate: { $gt: now } }
    await transaction.nativeUpdate(ScepChallenge, open, { expiresDate: now })
    const secret = randomText(challengeAlphabet, challengeLength)
    const expiresDate = new Date(now.getTime() + minutes * minuteMs)
    transaction.create(ScepChallenge, { ...owner, hash: hashOfChallenge(secret), expiresDate })
    const until = `created, valid until ${expiresDate.toISOString()}`
    await recordMany(transaction, [challengeFact(pair, 'CHALLENGE_CREATED', until)], { now })
    await transaction.flush()
    return { challenge: challengeText(owner.endEntityId, secret), expiresDate }
  })

/** One try to authenticate. */
export interface Attempt {
  readonly endEntityId: string
  readonly policyId: string
  readonly secret: string
  /** What a challenge is spent on; null: on nothing that could come again. */
  readonly transaction: string | null
  /** What the password was shown by, where it was not sent itself: ` by …`. */
  readonly shownBy?: string
  readonly now: Date
}

const placeOf = ({ secret, endEntityId, policyId }: Attempt): string[] => [
  hashOfChallenge(secret),
  endEntityId,
  policyId,
]

/** Of two who spend it at the same time one waits for the other, and then finds it spent. */
const spend = async (em: EntityManager, attempt: Attempt): Promise<boolean> => {
  const { now, transaction } = attempt
  const rows = await em.execute<object[]>(
    `update scep_challenge set spent_date = ?, spent_on = ?, expires_date = greatest(expires_date, ?)
      where hash = ? and end_entity_id = ? and policy_id = ? and expires_date > ? and spent_date is null
        and exists (select 1 from end_entity e where e.id = end_entity_id and not e.archived)
      returning hash`,
    [now, transaction, new Date(now.getTime() + replayMs), ...placeOf(attempt), now],
  )
  return rows.length > 0
}

const spentOnThis = async (em: EntityManager, attempt: Attempt): Promise<Date | null> => {
  const rows = await em.execute<{ date: string }[]>(
    `select spent_date as date from scep_challenge
      where hash = ? and end_entity_id = ? and policy_id = ? and expires_date > ? and spent_on = ?
        and exists (select 1 from end_entity e where e.id = end_entity_id and not e.archived)`,
    [...placeOf(attempt), attempt.now, attempt.transaction],
  )
  return rows[0] ? new Date(rows[0].date) : null
}

/**
 * When the challenge was spent that is good for this: one that nobody had spent, and now is, or one that was spent on the
 * same thing; null where the secret is none. The pair is null when there is no such end entity.
 */
export const passChallenge = (em: EntityManager, attempt: Attempt, pair: Pair | null): Promise<Date | null> =>
  em.transactional(async transaction => {
    if (!(await spend(transaction, attempt))) return spentOnThis(transaction, attempt)
    const facts = pair ? [challengeFact(pair, 'CHALLENGE_SPENT', 'spent')] : []
    await recordMany(transaction, facts, { now: attempt.now })
    return attempt.now
  })

/** Whether a secret is a challenge at all, and what is to be recorded of its refusal. */
export interface RefusedChallenge {
  readonly isChallenge: boolean
  readonly facts: Fact[]
}

/** Notes that a challenge was refused, which is an event the first time. */
export const refuseChallenge = async (
  em: EntityManager,
  attempt: Attempt,
  pair: Pair | null,
): Promise<RefusedChallenge> => {
  const rows = await em.execute<{ first: boolean }[]>(
    `update scep_challenge c set refused_date = coalesce(c.refused_date, ?)
       from (select hash, refused_date is null as first from scep_challenge where hash = ? for update) as before
      where c.hash = before.hash and c.end_entity_id = ? and c.policy_id = ?
      returning before.first`,
    [attempt.now, ...placeOf(attempt)],
  )
  const facts = pair && rows[0]?.first ? [challengeFact(pair, 'CHALLENGE_REJECTED', 'refused')] : []
  return { isChallenge: rows.length > 0, facts }
}
