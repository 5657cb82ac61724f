// Reading many rows by their ids: in parts, since the making of one long statement would keep the event loop.
import type { EntityManager } from '@mikro-orm/postgresql'

/** The ids of one statement. */
const partLength = 1000

/** The class of an entity. */
type EntityType<T> = abstract new (...args: never[]) => T

/** The rows with these ids, in no order; unknown ids have none. */
export const findByIds = async <T extends { readonly id: string }>(
  em: EntityManager,
  entity: EntityType<T>,
  ids: Iterable<string>,
): Promise<T[]> => {
  const wanted = [...new Set(ids)]
  const rows: T[] = []
  for (let start = 0; start < wanted.length; start += partLength) {
    const part = { id: { $in: wanted.slice(start, start + partLength) } }
    // What the compiler cannot see of any entity: that its filter takes ids.
    rows.push(...(await em.find<T>(entity as never, part as never)))
  }
  return rows
}
