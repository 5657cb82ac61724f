// The passwords of end entities (contract 12): made for many at once, changed, and removed; each is recorded.
import type { EntityManager } from '@mikro-orm/postgresql'
import { LockMode } from '@mikro-orm/postgresql'
import type { AuditEventType } from '../domain/audit.ts'
import { nameOf } from '../domain/end-entity-rules.ts'
import { passwordAlphabet } from '../domain/password-rules.ts'
import { recordMany, type Fact } from './audit.ts'
import { insertNew } from './insert-rows.ts'
import { passwordUse } from './key-uses.ts'
import { randomText } from './random-text.ts'
import { metadataOf, type Metadata } from './rows/columns.ts'
import { EndEntityPassword } from './rows/end-entity-password.ts'
import type { EndEntity } from './rows/end-entity.ts'
import type { Policy } from './rows/policy.ts'
import { stampOf } from './rows/stamp.ts'
import type { Seal } from './seal.ts'
import { makeVerifier } from './verifier.ts'

/** A password and what judges it; the text is told to who asked and kept sealed alone. */
export interface NewPassword {
  readonly text: string
  readonly verifier: string
}

/** Makes a password of so many characters. */
export const makePassword = async (length: number): Promise<NewPassword> => {
  const text = randomText(passwordAlphabet, length)
  return { text, verifier: await makeVerifier(text) }
}

/** The end entity and the policy that a password is for. */
export interface Pair {
  readonly endEntity: EndEntity
  readonly policy: Policy
}

/** How sentences name an end entity with a policy. */
export const pairText = ({ endEntity, policy }: Pair): string =>
  `of end entity ${nameOf(endEntity.fields)} for policy ${policy.name}`

/** What happened to a password. */
export const passwordFact = (pair: Pair, type: AuditEventType, what: string): Fact => ({
  type,
  objectId: pair.endEntity.id,
  realmId: pair.endEntity.realmId,
  what: `Password ${pairText(pair)} ${what}`,
})

interface Keeping {
  readonly seal: Seal
  readonly now: Date
}

const keptAs = ({ text, verifier }: NewPassword, seal: Seal, pair: { endEntityId: string; policyId: string }) => ({
  ...pair,
  sealed: seal.seal(Buffer.from(text), passwordUse(pair)),
  verifier,
})

// Two calls that share end entities store them in one order, so that they cannot deadlock.
const byId = (one: EndEntity, other: EndEntity): number => (one.id < other.id ? -1 : 1)

/** Gives all these end entities a password for a policy; answers null, and stores none, when one of them has one. */
export const storePasswords = async (
  em: EntityManager,
  { endEntities, policy, password }: { endEntities: readonly EndEntity[]; policy: Policy; password: NewPassword },
  { seal, now }: Keeping,
): Promise<Metadata | null> => {
  const stamp = stampOf(em, now)
  const rows = endEntities.toSorted(byId).map(endEntity => ({
    id: crypto.randomUUID(),
    ...stamp,
    ...keptAs(password, seal, { endEntityId: endEntity.id, policyId: policy.id }),
  }))
  const stored = await insertNew(em, EndEntityPassword, rows)
  if (stored.size < rows.length) return null
  const facts = endEntities.map(endEntity => passwordFact({ endEntity, policy }, 'PASSWORD_CREATED', 'created'))
  await recordMany(em, facts, { now })
  return metadataOf({ ...stamp, version: 1 })
}

const whereIs = ({ endEntity, policy }: Pair) => ({ endEntityId: endEntity.id, policyId: policy.id })

/** A password in the clear. */
export interface OpenedPassword {
  /** UTF-8; the caller wipes it. */
  readonly password: Buffer
  /** What judges the same password. */
  readonly verifier: string
  readonly locked: boolean
}

/** Opens the password of an end entity for a policy; null where there is none. */
export const openPassword = async (
  em: EntityManager,
  seal: Seal,
  { endEntityId, policyId, now }: { endEntityId: string; policyId: string; now: Date },
): Promise<OpenedPassword | null> => {
  const row = await em.findOne(EndEntityPassword, { endEntityId, policyId })
  if (!row) return null
  const { sealed, verifier, lockedUntil } = row
  const password = seal.unseal(sealed, passwordUse(row))
  return { password, verifier, locked: Boolean(lockedUntil && lockedUntil > now) }
}

/** The end entities among these that have a password for a policy. */
export const withPassword = async (
  em: EntityManager,
  endEntities: readonly EndEntity[],
  policy: Policy,
): Promise<ReadonlySet<string>> => {
  const endEntityId = { $in: endEntities.map(({ id }) => id) }
  const rows = await em.find(EndEntityPassword, { endEntityId, policyId: policy.id }, { fields: ['endEntityId'] })
  return new Set(rows.map(row => row.endEntityId))
}

/** Replaces a password and forgets failures and lock; null when there is none. */
export const replacePassword = (
  em: EntityManager,
  { password, ...pair }: Pair & { password: NewPassword },
  { seal, now }: Keeping,
): Promise<Metadata | null> =>
  em.transactional(async transaction => {
    const lockMode = LockMode.PESSIMISTIC_WRITE
    const row = await transaction.findOne(EndEntityPassword, whereIs(pair), { lockMode })
    if (!row) return null
    const unlocked = { failures: 0, failingSince: null, lockedUntil: null }
    const kept = keptAs(password, seal, { endEntityId: row.endEntityId, policyId: row.policyId })
    Object.assign(row, kept, unlocked)
    await recordMany(transaction, [passwordFact(pair, 'PASSWORD_RESET', 'reset')], { now })
    await transaction.flush()
    return row.metadata
  })

/** Removes a password; answers whether there was one. */
export const removePassword = (em: EntityManager, pair: Pair, now: Date): Promise<boolean> =>
  em.transactional(async transaction => {
    if ((await transaction.nativeDelete(EndEntityPassword, whereIs(pair))) === 0) return false
    await recordMany(transaction, [passwordFact(pair, 'PASSWORD_DELETED', 'deleted')], { now })
    return true
  })
