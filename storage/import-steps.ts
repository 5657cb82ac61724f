// Steps of imports of principals, each written once: an attempt whose report was lost is answered with what it came to.
import type { EntityManager } from '@mikro-orm/postgresql'
import { takeKeyedLocks } from './lock.ts'
import { statement } from './statement.ts'

/** A step of the import of a kind; the steps of all runs differ. */
export interface Step {
  readonly kind: string
  readonly step: string
}

const known = statement<{ outcome: object }>('select outcome from import_step where kind = $1 and step = $2')
const keep = statement(
  `insert into import_step (kind, step, outcome) values ($1, $2, $3::jsonb)
   on conflict (kind) do update set step = excluded.step, outcome = excluded.outcome`,
)

/** Writes what a step has to, in the transaction of the EntityManager, or answers what it came to when it was written. */
export const writeOnce = async <T extends object>(
  em: EntityManager,
  { kind, step }: Step,
  write: () => Promise<T>,
): Promise<T> => {
  await takeKeyedLocks(em, 'IMPORT_STEP', [kind])
  const [before] = await known.all(em, [kind, step])
  if (before) return before.outcome as T
  const outcome = await write()
  await keep.all(em, [kind, step, JSON.stringify(outcome)])
  return outcome
}
