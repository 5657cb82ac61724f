// Storing a new resource with all that belongs to it (contract 7.2, 11.1) in one statement: the row, the grant of its maker and
// the audit event are there together or not at all, without a transaction around them.
import type { EntityManager, EntityMetadata, RequiredEntityData } from '@mikro-orm/postgresql'
import { creatorGrants } from '../domain/creator-grants.ts'
import type { Scope } from '../domain/permissions.ts'
import { eventOf, type Fact } from './audit.ts'
import { entityOf, metadataOf, selectedColumns, type EntityType } from './entity-rows.ts'
import { jsonForm } from './insert-rows.ts'
import { AuditEvent } from './rows/audit-event.ts'
import { actor, stampOf } from './rows/stamp.ts'
import { Statements, type Statement } from './statement.ts'

/** A new resource. */
export interface NewResource<T extends object> {
  readonly entity: EntityType<T>
  readonly data: RequiredEntityData<T>
  /** The scope on which its maker, who is the actor of the EntityManager, is granted what contract 7.2 says. */
  readonly scope?: Scope | undefined
  /** The event that records it. */
  readonly fact: (made: { readonly id: string }) => Fact
  readonly now: Date
}

type Values = Readonly<Record<string, unknown>>

interface Stored {
  readonly name: string
  readonly column: string
  readonly fill: (() => unknown) | undefined
}

const storedMembers = new WeakMap<EntityMetadata, readonly Stored[]>()

const findStored = ({ props }: EntityMetadata): Stored[] =>
  props
    .filter(({ persist, formula, generated }) => persist !== false && !formula && !generated)
    .map(({ name, fieldNames, onCreate }) => ({
      name,
      column: fieldNames[0] ?? name,
      fill: onCreate as (() => unknown) | undefined,
    }))

/** The members that have a column: the same with every row. */
const storedOf = (meta: EntityMetadata): readonly Stored[] => {
  const known = storedMembers.get(meta) ?? findStored(meta)
  storedMembers.set(meta, known)
  return known
}

/** The values by column, as they stand in JSON: what is given, and what the entity fills in by itself. */
const valuesOf = (meta: EntityMetadata, given: Values): Values => {
  const values: Record<string, unknown> = {}
  for (const { name, column, fill } of storedOf(meta)) {
    const value = given[name] ?? fill?.() ?? (name in given || fill ? null : undefined)
    if (value !== undefined) values[column] = jsonForm(value)
  }
  return values
}

const listOf = (names: readonly string[]): string => names.map(name => `"${name}"`).join(', ')

interface Form {
  readonly meta: EntityMetadata
  readonly columns: readonly string[]
  readonly eventColumns: readonly string[]
  readonly isGranted: boolean
}

const textOf = ({ meta, columns, eventColumns, isGranted }: Form): string => {
  const list = listOf(columns)
  const events = listOf(eventColumns)
  const granted = `, granted as (insert into permission_grant (principal_id, scope, resource_id, permissions)
    select $3::uuid, $4, made.id, $5::text[] from made)`
  return `with made as (insert into "${meta.tableName}" (${list})
      select ${list} from json_populate_record(null::"${meta.tableName}", $1::json) returning *),
    noted as (insert into audit_event (${events})
      select ${events} from json_populate_record(null::audit_event, $2::json))
    ${isGranted ? granted : ''} select ${selectedColumns(meta, 'made')} from made`
}

const statements = new Statements<object>()

const statementFor = (form: Form): Statement<object> =>
  statements.get([form.meta.tableName, form.isGranted, ...form.columns].join(), () => textOf(form))

/** Stores a resource, gives its maker the grant, records it, and answers it managed; errors as a flush throws them. */
export const storeNew = async <T extends object>(em: EntityManager, resource: NewResource<T>): Promise<T> => {
  const { entity, data, scope, fact, now } = resource
  const meta = metadataOf(em, entity)
  const author = actor(em)
  const values = valuesOf(meta, { ...stampOf(em, now), ...(data as Values) })
  const recorded = { ...eventOf(fact({ id: String(values['id']) }), author), occurredDate: now }
  const event = valuesOf(metadataOf(em, AuditEvent), recorded)
  const grant = scope && author.id !== null ? [author.id, scope, creatorGrants[scope]] : []
  const [columns, eventColumns] = [Object.keys(values), Object.keys(event)]
  const storing = statementFor({ meta, columns, eventColumns, isGranted: grant.length > 0 })
  const [row] = await storing.all(em, [JSON.stringify(values), JSON.stringify(event), ...grant])
  const made = row && entityOf(em, entity, { row })
  if (!made) throw new Error('A row vanished while it was stored.')
  return made
}
