// Taking a row for the rest of the transaction.
import { LockMode, type EntityClass, type EntityManager } from '@mikro-orm/postgresql'

/** Reads a row that exists and keeps others from changing it until the transaction ends. */
export const lockRow = <T extends { id: string }>(em: EntityManager, entity: EntityClass<T>, id: string): Promise<T> =>
  em.findOneOrFail(entity, { id } as never, { lockMode: LockMode.PESSIMISTIC_WRITE }) as Promise<T>
