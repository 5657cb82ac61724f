// Stopping a process in the middle of a transaction: what it has begun is then neither done nor undone.
import type { EntityManager } from '@mikro-orm/postgresql'
import { pause } from './installation.ts'

/** So long no living process of ours leaves a transaction alone. */
const silenceMs = 1000
/** So often it is looked whether the statement is through that the server was at. */
const looks = 5

/** The transactions of API and worker that have written something, and whether they wait for their process. */
const openTransactions = async (em: EntityManager): Promise<ReadonlyMap<string, boolean>> => {
  const rows = await em.execute<{ name: string; idle: boolean }[]>(
    `select pid || ' ' || xact_start as name, state like 'idle in transaction%' as idle from pg_stat_activity
      where usename = 'certwright_service' and backend_xid is not null`,
  )
  return new Map(rows.map(({ name, idle }) => [name, idle]))
}

/** Whether a process that was just stopped is in the middle of a transaction: one that stays open is no living one's. */
export const isInTransaction = async (em: EntityManager): Promise<boolean> => {
  await pause(20)
  let open = [...(await openTransactions(em)).keys()]
  for (let look = 0; look < looks && open.length > 0; look += 1) {
    await pause(silenceMs)
    const now = await openTransactions(em)
    if (open.some(name => now.get(name))) return true
    open = open.filter(name => now.has(name))
  }
  return false
}
