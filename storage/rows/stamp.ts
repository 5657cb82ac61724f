// Who acts through an EntityManager, and the subscriber that writes it into every row at flush.
import { ChangeSetType, type EntityManager, type EventSubscriber, type FlushEventArgs } from '@mikro-orm/postgresql'
import { system, type Principal } from '../../domain/principal.ts'

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

type RowStamp = ReturnType<typeof stampOf>
type Change = ReturnType<FlushEventArgs['uow']['getChangeSets']>[number]

/** Where rows without audit columns say when they were made. */
const creationDates = ['createdDate', 'startedDate', 'occurredDate'] as const

const creationOf = ({ meta, entity }: Change, stamp: RowStamp): object => {
  if ('lastModifiedDate' in meta.properties) return stamp
  const column = creationDates.find(name => name in meta.properties)
  const isOpen = column !== undefined && (entity as Readonly<Record<string, unknown>>)[column] === undefined
  return isOpen ? { [column]: stamp.createdDate } : {}
}

const changeOf = ({ meta }: Change, { lastModifiedBy, lastModifiedByType, lastModifiedDate }: RowStamp): object =>
  'lastModifiedDate' in meta.properties ? { lastModifiedBy, lastModifiedByType, lastModifiedDate } : {}

const columnsOf = (change: Change, stamp: RowStamp): object => {
  if (change.type === ChangeSetType.CREATE) return creationOf(change, stamp)
  return change.type === ChangeSetType.UPDATE ? changeOf(change, stamp) : {}
}

/** Fills the audit columns of created and changed rows, and the creation date of rows that have no others. */
export class Stamp implements EventSubscriber {
  readonly #clock: () => Date

  constructor(clock: () => Date) {
    this.#clock = clock
  }

  onFlush({ em, uow }: FlushEventArgs): void {
    const stamp = stampOf(em as EntityManager, this.#clock())
    for (const change of uow.getChangeSets()) {
      const columns = columnsOf(change, stamp)
      if (Object.keys(columns).length === 0) continue
      uow.recomputeSingleChangeSet(Object.assign(change.entity, columns))
    }
  }
}
