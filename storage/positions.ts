// How many items an order or a revocation was made with: a run goes through their positions, which stay what they were when
// some of the items are deleted (contract 4.5).
import type { EntityManager } from '@mikro-orm/postgresql'

const count = async (em: EntityManager, items: string, id: string): Promise<number> => {
  const sql = `select coalesce(max(position) + 1, 0) as count from ${items} = ?`
  const [row] = await em.execute<{ count: number }[]>(sql, [id])
  return row?.count ?? 0
}

/** The requests that an order was placed for. */
export const countPlaced = (em: EntityManager, orderId: string): Promise<number> =>
  count(em, 'order_item where order_id', orderId)

/** The certificates that a revocation was asked for. */
export const countAsked = (em: EntityManager, revocationId: string): Promise<number> =>
  count(em, 'revocation_item where revocation_id', revocationId)
