// Purges of archived resources that were asked for (contract 4.5), and the resources that they are about to delete.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { EntitiesEnum, SecurityIdentityType, valuesOf } from '../../domain/enums.ts'
import { creationDate, none } from './columns.ts'

const purge = defineEntity({
  name: 'Purge',
  tableName: 'purge',
  properties: {
    /** The id of its workflow as well. */
    id: p.string().length(100).primary(),
    kind: p.enum(valuesOf(EntitiesEnum)).$type<EntitiesEnum>(),
    createdBy: p.uuid().nullable().onCreate(none),
    createdByType: p.enum(valuesOf(SecurityIdentityType)).$type<SecurityIdentityType>(),
    /** Null where the resources were named; else all that were archived by then, found by the order of their ids. */
    until: p.datetime(3).nullable().onCreate(none),
    /** Those with a greater id have yet to be found. */
    afterId: p.uuid().nullable().onCreate(none),
    total: p.integer(),
    deleted: p.integer().default(0),
    /** So many other resources were deleted with them. */
    along: p.integer().default(0),
    skipped: p.integer().default(0),
    startedDate: creationDate(),
    closedDate: p.datetime(3).nullable().onCreate(none),
  },
  uniques: [
    { name: 'purge_open', expression: 'create unique index purge_open on purge (kind) where closed_date is null' },
  ],
})

/** One purge: at most one of a kind at a time. */
export class Purge extends purge.class {}
purge.setClass(Purge)

const item = defineEntity({
  name: 'PurgeItem',
  tableName: 'purge_item',
  properties: {
    resourceId: p.uuid().primary(),
    purgeId: () => p.manyToOne(Purge).mapToPk().fieldName('purge_id').deleteRule('cascade').updateRule('no action'),
  },
  indexes: [{ name: 'purge_item_purge', properties: ['purgeId', 'resourceId'] }],
})

/** A resource that is being deleted: it does not come back. The row goes with the resource. */
export class PurgeItem extends item.class {}
item.setClass(PurgeItem)
