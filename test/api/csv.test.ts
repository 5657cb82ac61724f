// Reading CSV tables as RFC 4180 and contract 12.2 describe them.
import { setImmediate } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { csvText, readCsv, type CsvRow } from '../../api/resources/end-entities/csv.ts'
import type { Failure } from '../../domain/failure.ts'

const read = async (table: string | Uint8Array, maxRows = 100, separators: readonly string[] = [';']) =>
  readCsv(await csvText(table), { separators, maxRows })
const linesOf = (rows: readonly CsvRow[]) => rows.map(({ line }) => line)
const failureOf = async (reading: Promise<unknown>): Promise<Failure> =>
  reading.then(
    () => {
      throw new Error('It did not fail.')
    },
    (error: Failure) => error,
  )

test.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('a row is known by the line where it starts, with %s line ends', async (_, end) => {
  const table = ['', 'a;b', '', '', '"1', '', 'x";"2', '3"', '4;5', '"6', '7";8', ''].join(end)
  expect(await read(table)).toEqual([
    { line: 2, fields: ['a', 'b'] },
    { line: 5, fields: ['1\n\nx', '2\n3'] },
    { line: 9, fields: ['4', '5'] },
    { line: 10, fields: ['6\n7', '8'] },
  ])
})

test('a doubled quote is one, and separators and line ends stand between quotes', async () => {
  expect((await read('"a;""b""\n";"";c d; e ')).map(({ fields }) => fields)).toEqual([['a;"b"\n', '', 'c d', ' e ']])
})

test('the last row needs no line end, and an empty field at its end counts', async () => {
  expect((await read('a;b\n1;')).map(({ fields }) => fields)).toEqual([
    ['a', 'b'],
    ['1', ''],
  ])
})

test('a byte order mark is no part of the first name, in text and in bytes', async () => {
  for (const table of ['\uFEFFa;b', Buffer.from('\uFEFFa;b')])
    expect(await read(table)).toEqual([{ line: 1, fields: ['a', 'b'] }])
})

test('rows of any number of fields are read', async () => {
  expect((await read('a;b\n1\n1;2;3')).map(({ fields }) => fields?.length)).toEqual([2, 1, 3])
})

test('a quote inside a field spoils its row alone, told by the line where the row starts', async () => {
  const rows = await read('a;b\n"x\ny";5" pipe and 6" pipe\n\n3;4\n5";6\n')
  expect(rows).toEqual([
    { line: 1, fields: ['a', 'b'] },
    { line: 2, fields: null },
    { line: 5, fields: ['3', '4'] },
    { line: 6, fields: null },
  ])
})

test.each([
  ['text behind a closing quote', 'a;b\n1;2\n\n"x\ny";"b"c\n3;4\n', 4],
  ['a quote that is not closed', 'a;b\n1;"2\n3;4\n', 2],
  ['a quote that is not closed in the last line', 'a;b\n1;"2', 2],
  ['a quote that is not closed in the first line', '"a;b\n1;2\n', 1],
  ['a row that is too long', `a;b\n1;2\n3;${'x'.repeat(300_001)}\n`, 3],
  ['too many stray quotes', `a;b\n1;x${'"'.repeat(11)}\n`, 2],
])('%s ends the reading and is told by its line', async (_, table, line) => {
  const { code, message } = await failureOf(read(table))
  expect([code, message]).toEqual(['INVALID_CSV', expect.stringContaining(`line ${line} `)])
})

test.each([
  ['bytes of another encoding', Buffer.from('commonName\nJürgen', 'latin1')],
  ['half a character', Buffer.from([0x61, 0xc3])],
  ['half a surrogate pair', 'a\uD800'],
  ['UTF-16', Buffer.from('\uFEFFa', 'utf16le')],
])('%s is not UTF-8', async (_, table) => {
  const { code } = await failureOf(Promise.resolve().then(() => read(table)))
  expect(code).toBe('INVALID_CSV')
})

test('a character may lie across the pieces in which the text is read', async () => {
  const value = `x${'漢'.repeat(40_000)}`
  expect(await read(`a\n${value}`)).toEqual([
    { line: 1, fields: ['a'] },
    { line: 2, fields: [value] },
  ])
})

test('lines are counted across the pieces in which the text is read', async () => {
  const table = Array.from({ length: 30_000 }, (_, index) => (index % 3 === 0 ? '"a\nb";c' : 'd;e')).join('\n')
  const rows = await read(table, 30_000)
  const expected = Array.from({ length: 30_000 }, (_, index) => 1 + index + Math.ceil(index / 3))
  expect(linesOf(rows)).toEqual(expected)
})

test('more rows than allowed are refused, stray quotes and all', async () => {
  expect(await read('a\n1\n\n2', 3)).toHaveLength(3)
  expect((await failureOf(read('a\n1\n2\n3', 3))).code).toBe('REQUEST_TOO_LARGE')
  expect((await failureOf(read('a\n1\n2"\n3"', 3))).code).toBe('REQUEST_TOO_LARGE')
})

/** How often other work of this process had its turn meanwhile. */
const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
  const done = work.then(
    () => true,
    () => true,
  )
  let turns = 0
  while (!(await Promise.race([done, setImmediate(false)]))) turns += 1
  return turns
}

test.each<[string, string]>([
  ['rows', `a;b\n${'1;"2, 3 and ""4"""\n'.repeat(10_000)}`],
  ['empty lines', `a\n${'\n'.repeat(200_000)}`],
  ['millions of line ends', `a${'\r'.repeat(8_000_000)}b`],
  ['a field that does not end', `"${'x'.repeat(200_000)}`],
  ['rows full of stray quotes', `a\n${`x${'"'.repeat(9)}${'y'.repeat(200)}\n`.repeat(1000)}`],
])('a long table of %s lets others have their turn every few kilobytes', async (_, table) => {
  expect(await turnsDuring(read(table, 10_001))).toBeGreaterThan(table.length / 10_000)
})

test('CR, LF and CRLF are one line end each, wherever they stand in a long table', async () => {
  const table = `${'x'.repeat(1_048_575)}\r\n${'y'.repeat(1_048_574)}\r\n\r`
  expect(await csvText(table)).toBe(`${'x'.repeat(1_048_575)}\n${'y'.repeat(1_048_574)}\n\n`)
})
