// What every resource row carries: its id, who touched it when, its version, and whether it is archived.
import { p, type Opt } from '@mikro-orm/postgresql'
import { valuesOf, SecurityIdentityType } from '../../domain/enums.ts'

/** An optional column: null when nothing was said, in memory as in the database. */
export const none = (): never => null as never

const identityType = () => p.enum(valuesOf(SecurityIdentityType))

/** When a row was made: filled at flush by the `Stamp` subscriber unless it is stated. */
export const creationDate = () => p.datetime(3).$type<Date & Opt>()

/** Id, audit columns and version (contract 1.4): filled at flush by the `Stamp` subscriber and MikroORM. */
export const audited = {
  id: p
    .uuid()
    .primary()
    .onCreate(() => crypto.randomUUID()),
  version: p.integer().version(),
  createdBy: p.uuid().nullable().onCreate(none),
  createdByType: identityType().$type<SecurityIdentityType & Opt>(),
  createdDate: creationDate(),
  lastModifiedBy: p.uuid().nullable().onCreate(none),
  lastModifiedByType: identityType().$type<SecurityIdentityType & Opt>(),
  lastModifiedDate: p.datetime(3).$type<Date & Opt>(),
}

/** The archive columns (contract 4.4); `archivedWith` names the resource whose archiving took this one along. */
export const archivable = {
  archived: p.boolean().default(false),
  archivedDate: p.datetime(3).nullable().onCreate(none),
  archivedBy: p.uuid().nullable().onCreate(none),
  archivedByType: identityType().nullable().onCreate(none),
  archivedWith: p.uuid().nullable().onCreate(none),
}

interface Audited {
  createdBy?: string | null | undefined
  createdByType: SecurityIdentityType
  createdDate: Date
  lastModifiedBy?: string | null | undefined
  lastModifiedByType: SecurityIdentityType
  lastModifiedDate: Date
  version: number
}

/** The audit columns in the shape of AuditedAndVersionDtoUUID. */
export const metadataOf = (row: Audited) => ({
  createdBy: row.createdBy ?? null,
  createdByType: row.createdByType,
  createdDate: row.createdDate,
  lastModifiedBy: row.lastModifiedBy ?? null,
  lastModifiedByType: row.lastModifiedByType,
  lastModifiedDate: row.lastModifiedDate,
  version: row.version,
})

/** The answer of metadataOf as a getter of an entity. */
export type Metadata = ReturnType<typeof metadataOf> & Opt

interface Archivable {
  archived: boolean
  archivedDate?: Date | null | undefined
  archivedBy?: string | null | undefined
  archivedByType?: SecurityIdentityType | null | undefined
}

/** The archive columns in the shape of ArchivedDtoUUID. */
export const archiveInfoOf = (row: Archivable) => ({
  archived: row.archived,
  archivedDate: row.archivedDate ?? null,
  archivedBy: row.archivedBy ?? null,
  archivedByType: row.archivedByType ?? null,
})

/** The answer of archiveInfoOf as a getter of an entity. */
export type ArchiveInfo = ReturnType<typeof archiveInfoOf> & Opt
