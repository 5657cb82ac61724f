// Who acts through an EntityManager, and the subscriber that writes it into every row at flush.
import { ChangeSetType, type EntityManager, type EventSubscriber, type FlushEventArgs } from '@mikro-orm/postgresql'
import { system, type Principal } from '../../domain/principal.ts'
import type { SecurityIdentityType } from '../../domain/enums.ts'

const parameter = 'principal'

/** Makes a principal the author of all that this EntityManager (and its transactions) writes. */
export const actAs = <EM extends EntityManager>(em: EM, principal: Principal): EM => {
  em.setFilterParams(parameter, { ...principal })
  return em
}

/** The author of what this EntityManager writes: the service itself when nobody else was named. */
export const actor = (em: EntityManager): Principal =>
  (em.getFilterParams(parameter) as Principal | undefined) ?? system

/** The audit columns of rows that are stored without a flush. */
export const stampOf = (em: EntityManager, now: Date) => {
  const { id, type } = actor(em)
  return {
    createdBy: id,
    createdByType: type,
    createdDate: now,
    lastModifiedBy: id,
    lastModifiedByType: type,
    lastModifiedDate: now,
  }
}

interface Stamped {
  createdBy: string | null
  createdByType: SecurityIdentityType
  createdDate: Date
  lastModifiedBy: string | null
  lastModifiedByType: SecurityIdentityType
  lastModifiedDate: Date
}

/** Fills the audit columns of created and changed rows. */
export class Stamp implements EventSubscriber {
  onFlush({ em, uow }: FlushEventArgs): void {
    const { id, type } = actor(em as EntityManager)
    const now = new Date()
    for (const change of uow.getChangeSets()) {
      if (!('lastModifiedDate' in change.meta.properties)) continue
      if (change.type !== ChangeSetType.CREATE && change.type !== ChangeSetType.UPDATE) continue
      const row = change.entity as Stamped
      if (change.type === ChangeSetType.CREATE) {
        row.createdBy = id
        row.createdByType = type
        row.createdDate = now
      }
      row.lastModifiedBy = id
      row.lastModifiedByType = type
      row.lastModifiedDate = now
      uow.recomputeSingleChangeSet(row)
    }
  }
}
