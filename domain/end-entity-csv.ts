// Tables of end entities (contract 12.2): what the header names and what a row says. Reading CSV is left to the API.
import { endEntityFields, type EndEntityFields, type SubjectData } from './end-entity-rules.ts'
import { Failure, type FieldError } from './failure.ts'

/** The most rows of one table. */
export const maxRows = 10_000

/** The most characters of one row, which is more than any that can be accepted. */
export const longestRow = 300_000

const names = ['commonName', 'organization', 'organizationalUnit', 'country', 'externalId', 'email', 'domains', 'ips']
const knownNames: ReadonlyMap<string, string> = new Map(names.map(name => [name.toLowerCase(), name]))
const generic = 'generic.'
const genericKey = /^[^\p{Cc}]{1,64}$/u

/** What a column holds: the name of a field, or `generic.<key>` with the key as it was written. */
export type Column = string

/** A character that stands between the fields of a row. */
export type Separator = ';' | ','

const isSeparator = (token: string): token is Separator => token === ';' || token === ','

/**
 * The separator of a table with LF line ends: the one that the header has first. A header of one column has none, and
 * then both separate, so that no row is taken for a longer value.
 */
export const separatorsOf = (table: string): readonly Separator[] => {
  const header = table.replace(/^\n+/, '').slice(0, longestRow)
  for (const [token] of header.matchAll(/"[^"]*"?|[;,\n]|[^";,\n]+/g)) {
    if (isSeparator(token)) return [token]
    if (token === '\n') break
  }
  return [';', ',']
}

const columnOf = (written: string): Column => {
  const text = written.trim()
  const known = knownNames.get(text.toLowerCase())
  if (known !== undefined) return known
  const key = text.slice(generic.length).trim()
  if (text.toLowerCase().startsWith(generic) && genericKey.test(key)) return generic + key
  throw new Failure('INVALID_CSV', `The table has an unknown column: ${JSON.stringify(text.slice(0, 100))}.`)
}

/** The columns that a header names, else INVALID_CSV: an unknown or a repeated one. */
export const readHeader = (header: readonly string[]): Column[] => {
  const seen = new Set<Column>()
  return header.map(written => {
    const column = columnOf(written)
    if (seen.has(column)) throw new Failure('INVALID_CSV', `The table has column ${JSON.stringify(column)} twice.`)
    seen.add(column)
    return column
  })
}

type Cells = ReadonlyMap<Column, string>

const pairsIn = (cells: Cells) =>
  [...cells]
    .filter(([column, value]) => column.startsWith(generic) && value !== '')
    .map(([column, value]) => ({ key: column.slice(generic.length), value }))

const listIn = (cells: Cells, column: Column): string[] => {
  const text = cells.get(column)
  return text ? text.split('|') : []
}

const subjectIn = (cells: Cells): SubjectData => ({
  commonName: cells.get('commonName'),
  organization: cells.get('organization'),
  organizationalUnit: cells.get('organizationalUnit'),
  country: cells.get('country'),
  externalId: cells.get('externalId'),
  email: cells.get('email'),
  domains: listIn(cells, 'domains'),
  ips: listIn(cells, 'ips'),
  genericDtoList: pairsIn(cells),
})

const cellsOf = (columns: readonly Column[], row: readonly string[]): Cells =>
  new Map(columns.map((column, index) => [column, row[index]?.trim() ?? '']))

/** The common name that a row states, for its error: null where there is none. */
export const commonNameIn = (columns: readonly Column[], row: readonly string[]): string | null =>
  row[columns.indexOf('commonName')]?.trim().slice(0, 64) || null

/** The column that an error of a field is about. */
const columnAtFault = (field: string, { genericDtoList }: SubjectData): Column => {
  const [, index] = /^genericDtoList\[(\d+)\]/.exec(field) ?? []
  const pair = index === undefined ? undefined : genericDtoList?.[Number(index)]
  return pair ? generic + pair.key : field
}

const maxTold = 10

const told = (errors: readonly FieldError[], subject: SubjectData): string =>
  errors
    .slice(0, maxTold)
    .map(({ field, message }) => `${columnAtFault(field, subject)}: ${message}`)
    .join('; ')

/** The end entity of a row in canonical form, else VALIDATION_FAILED, its message naming the columns at fault. */
export const readRow = (columns: readonly Column[], row: readonly string[]): EndEntityFields => {
  if (row.length !== columns.length)
    throw new Failure('VALIDATION_FAILED', `The row has ${row.length} fields, the header ${columns.length}.`)
  const subject = subjectIn(cellsOf(columns, row))
  try {
    return endEntityFields(subject)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(error.code, told(error.fieldErrors, subject), error.fieldErrors)
  }
}
