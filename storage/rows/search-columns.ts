// What makes lists fast: columns that PostgreSQL computes itself, and the indexes on them. The functions that they call
// are made by the migrations.
import { p, type Opt } from '@mikro-orm/postgresql'

/** A text in lower case that holds what a simple search looks for, a line each; filled by PostgreSQL. */
export const generatedText = (name: string, columns: readonly string[]) =>
  p
    .text()
    .generated(`(${name}(${columns.join(', ')})) stored`)
    .lazy()
    .hidden()
    .$type<string & Opt>()

/** A number that stands for a text of which few different ones are expected; filled by PostgreSQL. */
export const generatedKey = (column: string) =>
  p.bigint('string').generated(`(text_key(${column})) stored`).lazy().hidden().$type<string & Opt>()

/** An index that finds a part of the search text of a table, or of other texts. */
export const trigrams = (name: string, table: string, ...others: string[]): string =>
  `create index ${name} on ${table} using gin (${['search_text', ...others].map(text => `${text} gin_trgm_ops`).join(', ')})`

/** An index that lists what hangs on something, newest first, archived or not. */
export const newestFirst = (name: string, table: string, parent: string): string =>
  `create index ${name} on ${table} (${parent}, archived, created_date desc, id)`
