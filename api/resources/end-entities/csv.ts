// Reading CSV (RFC 4180) in chunks, yielding to the event loop between them (contract 12.2).
import { isUtf8 } from 'node:buffer'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { parse, type CsvError, type CsvErrorCode, type InfoRecord } from 'csv-parse'
import { longestRow } from '../../../domain/end-entity-csv.ts'
import { Failure } from '../../../domain/failure.ts'
import { mapYielding } from '../../kernel/yielding.ts'

/** One row: the line where it starts, the first being 1; null instead of fields where a quote stands astray. */
export interface CsvRow {
  readonly line: number
  readonly fields: readonly string[] | null
}

/** How a table is read. */
export interface CsvOptions {
  readonly separators: readonly string[]
  /** How many rows are allowed, the header included. */
  readonly maxRows: number
}

/** The library looks at the whole field again at each of them. */
const maxStrayQuotes = 10
const chunkBytes = 8192

const reasons: Partial<Record<CsvErrorCode, string>> = {
  CSV_INVALID_CLOSING_QUOTE: 'something stands between a closing quote and the next separator',
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  CSV_MAX_RECORD_SIZE: `the row is longer than ${longestRow} characters`,
}

const unreadable = (line: number, reason: string) =>
  new Failure('INVALID_CSV', `The row at line ${line} cannot be read: ${reason}.`)

const decoded = (table: string | Uint8Array): string => {
  const isSound = typeof table === 'string' ? table.isWellFormed() : isUtf8(table)
  if (!isSound) throw new Failure('INVALID_CSV', 'The table is not UTF-8.')
  return typeof table === 'string' ? table : Buffer.from(table).toString()
}

const [lf, cr] = [0x0a, 0x0d]
const pieceLength = 1_048_576

function* startsIn(bytes: Buffer) {
  for (let start = 0; start < bytes.length; start += pieceLength) yield start
}

/** Octets with every line end as LF, in the place of those that are given. */
const withLineFeeds = async (bytes: Buffer): Promise<Buffer> => {
  let length = 0
  const copyPiece = (start: number): void => {
    const end = Math.min(start + pieceLength, bytes.length)
    for (let at = start; at < end; at += 1) {
      const octet = bytes[at] ?? lf
      if (octet === cr && bytes[at + 1] === lf) continue
      bytes[length] = octet === cr ? lf : octet
      length += 1
    }
  }
  await mapYielding(startsIn(bytes), copyPiece)
  return bytes.subarray(0, length)
}

/** The text of a table, without byte order mark, every line end as LF; INVALID_CSV when it is not UTF-8. */
export const csvText = async (table: string | Uint8Array): Promise<string> =>
  (await withLineFeeds(Buffer.from(decoded(table).replace(/^\uFEFF/, '')))).toString()

const lineEnds = (text: string): number => text.split('\n').length - 1

/** The line where a row starts, of which the source up to some place of this line is known. */
const startOf = (line: number, source: string): number => line - lineEnds(source.replace(/^\n+/, '').slice(0, -1))

const mustFit = (rows: readonly CsvRow[], maxRows: number): void => {
  if (rows.length > maxRows) throw new Failure('REQUEST_TOO_LARGE', `The table has more than ${maxRows - 1} rows.`)
}

/** Notes the rows that hold a stray quote; where nobody can tell how to go on, it ends the reading. */
const strayRows = (maxRows: number) => {
  const rows: CsvRow[] = []
  let inLast = 0
  const note = (error: CsvError | undefined, source = ''): undefined => {
    const line = startOf(Number(error?.['lines']), source)
    if (error?.code !== 'INVALID_OPENING_QUOTE')
      throw unreadable(line, (error && reasons[error.code]) ?? 'its quoting is wrong')
    inLast = rows.at(-1)?.line === line ? inLast + 1 : 1
    if (inLast > maxStrayQuotes) throw unreadable(line, 'its quoting is wrong')
    if (inLast === 1) rows.push({ line, fields: null })
    mustFit(rows, maxRows)
  }
  return { rows, note }
}

async function* chunksOf(bytes: Buffer) {
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    yield bytes.subarray(start, start + chunkBytes)
    await setImmediate()
  }
}

interface Parsed {
  readonly record: readonly string[]
  readonly info: InfoRecord
}

/** Every row of a text with LF line ends, in order; INVALID_CSV with the line where the quoting cannot be followed. */
export const readCsv = async (text: string, { separators, maxRows }: CsvOptions): Promise<CsvRow[]> => {
  const rows: CsvRow[] = []
  const stray = strayRows(maxRows)
  const parser = parse({
    delimiter: [...separators],
    record_delimiter: '\n',
    skip_empty_lines: true,
    relax_column_count: true,
    skip_records_with_error: true,
    on_skip: stray.note,
    max_record_size: longestRow,
    raw: true,
    info: true,
  })
  await pipeline(chunksOf(Buffer.from(text)), parser, async (parsed: AsyncIterable<Parsed>) => {
    for await (const { record, info } of parsed) {
      rows.push({ line: info.lines - lineEnds(record.join('')), fields: record })
      mustFit(rows, maxRows)
    }
  })
  const all = [...rows, ...stray.rows].toSorted((one, other) => one.line - other.line)
  mustFit(all, maxRows)
  return all
}
