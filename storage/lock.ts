// Locks that are held until the transaction ends: rows, and the advisory locks of PostgreSQL by name.
import { LockMode, type EntityClass, type EntityManager } from '@mikro-orm/postgresql'
import { statement } from './statement.ts'

/** The numbers of the locks that exist once; every running version shares them. */
const numbers = {
  /** One process brings the schema up to date. */
  MIGRATION: 7234001,
  /** One process makes what the first start makes. */
  FIRST_START: 7234002,
  /** Who holds ADMIN is asked and changed by one transaction at a time. */
  ADMIN: 7234003,
  /** Each import sees what the one before it has stored. */
  IMPORT: 7234004,
  /** Settings are judged together and changed by one transaction at a time. */
  SETTINGS: 7234020,
} as const

/** The hash seeds of the locks that exist once for each key; they keep equal keys of different kinds apart. */
const seeds = {
  /** The key is the subject or client id of a token: one call makes the record of a principal. */
  PRINCIPAL: 7,
  /** The key is a realm and an alias: two end entities never get the same one. */
  ALIAS: 11,
  /** The key is a policy and an end entity: one transaction at a time stores certificates that have to be unique. */
  ACTIVE_CERTIFICATE: 12,
  /** The key is an API client: what is done to it and what is undone come one after the other. */
  API_CLIENT: 21,
  /** The key is a CA: one transaction at a time makes its next CRL. */
  CRL: 13,
  /** The key is an end entity and a policy: a new challenge ends those before it. */
  SCEP_CHALLENGE: 24,
  /** The key is a policy: one transaction at a time makes its next signer. */
  POLICY_SIGNER: 22,
  /** The key is a CA: one transaction at a time makes its next OCSP signer. */
  OCSP_SIGNER: 14,
  /** The key is a user: what is done to it and what is undone come one after the other. */
  USER: 31,
  /** The key is a kind of principals: an attempt at a step of their import sees what the one before it has stored. */
  IMPORT_STEP: 32,
  /** The key is an e-mail address: one registration at a time takes it. */
  USER_ADDRESS: 30,
  /** The key is a realm: what is archived in it, or comes back, does so one after the other. */
  ARCHIVE: 25,
  /** The key is a user: one transaction at a time makes or finds the end entity of the RA certificates. */
  RA_CERTIFICATE: 26,
} as const

/** Waits for the advisory lock with this name. */
export const takeLock = async (em: EntityManager, name: keyof typeof numbers): Promise<void> => {
  await em.execute('select pg_advisory_xact_lock(?)', [numbers[name]])
}

/** The kinds of the locks that exist once for each key. */
export type KeyedLock = keyof typeof seeds

// Those of active certificates before those of aliases, as all versions take them.
const locking = statement(
  `select pg_advisory_xact_lock(key) from
     (select distinct seed, hashtextextended(wanted.key, seed) as key
        from unnest($1::bigint[], $2::text[]) as wanted(seed, key) order by seed desc, key) as keys`,
)

/** Waits for advisory locks of several kinds at once, in one order for all transactions, so that they cannot deadlock. */
export const takeLocks = async (
  em: EntityManager,
  wanted: Readonly<Partial<Record<KeyedLock, readonly string[]>>>,
): Promise<void> => {
  const locks = (Object.keys(wanted) as KeyedLock[]).flatMap(name =>
    (wanted[name] ?? []).map(key => ({ seed: seeds[name], key })),
  )
  if (locks.length === 0) return
  await locking.all(em, [locks.map(({ seed }) => seed), locks.map(({ key }) => key)])
}

/** Waits for the advisory locks of these keys, in one order for all transactions, so that they cannot deadlock. */
export const takeKeyedLocks = (em: EntityManager, name: KeyedLock, keys: readonly string[]): Promise<void> =>
  takeLocks(em, { [name]: keys })

/** Reads a row that exists and keeps others from changing it. */
export const lockRow = <T extends { id: string }>(em: EntityManager, entity: EntityClass<T>, id: string): Promise<T> =>
  em.findOneOrFail(entity, { id } as never, { lockMode: LockMode.PESSIMISTIC_WRITE }) as Promise<T>

/** The same of a row that may be gone. */
export const findLocked = <T extends { id: string }>(
  em: EntityManager,
  entity: EntityClass<T>,
  id: string,
): Promise<T | null> =>
  em.findOne(entity, { id } as never, { lockMode: LockMode.PESSIMISTIC_WRITE }) as Promise<T | null>
