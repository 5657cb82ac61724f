// Headers and rows of end entity tables (contract 12.2).
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { csvText, readCsv } from '../../api/resources/end-entities/csv.ts'
import { commonNameIn, readHeader, readRow, separatorsOf } from '../../domain/end-entity-csv.ts'
import { endEntityFields, type SubjectData } from '../../domain/end-entity-rules.ts'
import type { Failure } from '../../domain/failure.ts'

const failureOf = (act: () => unknown): Failure => {
  try {
    act()
  } catch (error) {
    return error as Failure
  }
  throw new Error('It did not fail.')
}

test.each([
  ['a;b,c', [';']],
  ['a,b;c', [',']],
  ['"a,b";c', [';']],
  ['"a"",;b",c;d', [',']],
  ['\n\na;b', [';']],
  ['a\nb;c', [';', ',']],
  ['', [';', ',']],
  ['"a;b', [';', ',']],
])('the separator of %j is the one that its header has first', (table, separators) => {
  expect(separatorsOf(table)).toEqual(separators)
})

test('a header is read without case and in any order; generic keys keep theirs', () => {
  expect(readHeader([' EMAIL ', 'commonname', 'Generic.Room Nr', 'IPS', 'organizationalUnit'])).toEqual([
    'email',
    'commonName',
    'generic.Room Nr',
    'ips',
    'organizationalUnit',
  ])
  expect(readHeader(['generic.room', 'generic.Room'])).toEqual(['generic.room', 'generic.Room'])
})

test.each([
  ['an unknown column', ['commonName', 'colour'], 'colour'],
  ['a column without a name', ['commonName', ''], '""'],
  ['a repeated column', ['commonName', 'email', 'COMMONNAME'], 'commonName'],
  ['a repeated key', ['generic.a', 'generic. a '], 'generic.a'],
  ['a key that is empty', ['generic.'], 'generic.'],
  ['a key that is too long', [`generic.${'k'.repeat(65)}`], 'generic.k'],
  ['a key with a control character', ['generic.a\tb'], 'generic.a'],
  ['the alias', ['alias'], 'alias'],
])('a header with %s is refused by name', (_, header, named) => {
  const failure = failureOf(() => readHeader(header))
  expect([failure.code, failure.message]).toEqual(['INVALID_CSV', expect.stringContaining(named)])
})

test('a row becomes an end entity in canonical form', () => {
  const columns = ['commonName', 'country', 'domains', 'ips', 'generic.room', 'generic.floor']
  expect(readRow(columns, [' web-01 ', 'de', 'A.example.org | b.example.org', '2001:DB8::1', 'B 12', ' '])).toEqual(
    endEntityFields({
      commonName: 'web-01',
      country: 'DE',
      domains: ['a.example.org', 'b.example.org'],
      ips: ['2001:db8::1'],
      genericDtoList: [{ key: 'room', value: 'B 12' }],
    }),
  )
})

test.each([
  ['too few fields', ['a'], 'The row has 1 fields, the header 4.'],
  ['too many fields', ['a', '', '', '', ''], 'The row has 5 fields, the header 4.'],
  ['a bad country', ['a', 'XX', '', ''], 'country: '],
  ['a bad second domain', ['a', '', 'good.example|b_d', ''], 'domains[1]: '],
  ['an empty domain', ['a', '', 'good.example|', ''], 'domains[1]: '],
  ['a control character', ['a\tb', '', '', ''], 'commonName: '],
  ['a line break', ['a', '', '', 'x\ny'], 'generic.room: '],
  ['a long value', ['a', '', '', 'x'.repeat(1025)], 'generic.room: '],
  ['nothing that names it', ['', 'DE', '', 'x'], 'commonName: '],
])('a row with %s is refused by column', (_, row, message) => {
  const failure = failureOf(() => readRow(['commonName', 'country', 'domains', 'generic.room'], row))
  expect([failure.code, failure.message]).toEqual(['VALIDATION_FAILED', expect.stringContaining(message)])
})

test('every column at fault is named', () => {
  const { message } = failureOf(() => readRow(['commonName', 'country', 'email'], ['x'.repeat(65), 'XX', 'none']))
  expect(message.match(/\w+(?=: )/g)).toEqual(['commonName', 'country', 'email'])
})

test('the common name of a bad row is told where there is one', () => {
  expect(commonNameIn(['email', 'commonName'], ['x', ' web ', 'more'])).toBe('web')
  expect(commonNameIn(['email', 'commonName'], ['x'])).toBeNull()
  expect(commonNameIn(['email'], ['x'])).toBeNull()
})

const word = fc
  .array(fc.constantFrom(...Array.from('aZ09 ;,"|\'=@+-éß漢𝒳')), { minLength: 1, maxLength: 12 })
  .map(characters => characters.join('').trim())
  .filter(text => text !== '')
const host = fc.constantFrom('a.example', 'b.example', '*.c.example', 'd')
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const pairKey = fc.constantFrom('room', 'Room', 'a;b', 'c,d', 'say "x"', 'p|q')
const subject = fc.record<SubjectData>({
  commonName: word,
  organization: optional(word),
  organizationalUnit: optional(word),
  country: optional(fc.constantFrom('DE', 'FR')),
  externalId: optional(word),
  email: optional(fc.constantFrom('a@b.example', 'x+y@c.example')),
  domains: fc.uniqueArray(host, { maxLength: 3 }),
  ips: fc.uniqueArray(fc.constantFrom('192.0.2.1', '2001:db8::10', '::1'), { maxLength: 3 }),
  genericDtoList: fc.uniqueArray(fc.record({ key: pairKey, value: word }), {
    selector: ({ key }) => key,
    maxLength: 4,
  }),
})
const style = fc.record({
  separator: fc.constantFrom(';', ','),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  mark: fc.constantFrom('', '\uFEFF'),
  emptyLines: fc.nat(3),
  quoteAll: fc.boolean(),
  bytes: fc.boolean(),
  upperCase: fc.boolean(),
})
type Style = typeof style extends fc.Arbitrary<infer T> ? T : never

const names = ['commonName', 'organization', 'organizationalUnit', 'country', 'externalId', 'email', 'domains', 'ips']
const cellOf = (one: SubjectData, column: string): string => {
  if (column.startsWith('generic.'))
    return one.genericDtoList?.find(({ key }) => `generic.${key}` === column)?.value ?? ''
  return [one[column as 'commonName'] ?? []].flat().join('|')
}
const written = (cells: readonly string[], { separator, quoteAll }: Style): string =>
  cells.map(cell => (quoteAll || /[";,\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(separator)

const write = (subjects: readonly SubjectData[], how: Style): string => {
  const keys = new Set(subjects.flatMap(({ genericDtoList }) => (genericDtoList ?? []).map(({ key }) => key)))
  const columns = [...names, ...[...keys].map(key => `generic.${key}`)]
  const header = columns.map(column => (how.upperCase && names.includes(column) ? column.toUpperCase() : column))
  const rows = [header, ...subjects.map(one => columns.map(column => cellOf(one, column)))]
  return how.mark + rows.map(cells => written(cells, how) + how.end.repeat(how.emptyLines + 1)).join('')
}

const byKey = (one: { key: string }, other: { key: string }) => (one.key < other.key ? -1 : 1)
const canonical = (one: SubjectData) => {
  const fields = endEntityFields(one)
  return { ...fields, genericDtoList: fields.genericDtoList.toSorted(byKey) }
}

test('whatever is written as CSV reads back the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(subject, { maxLength: 6 }), style, async (subjects, how) => {
      const table = write(subjects, how)
      const text = await csvText(how.bytes ? Buffer.from(table) : table)
      const [header, ...rows] = await readCsv(text, { separators: separatorsOf(text), maxRows: 100 })
      const columns = readHeader(header?.fields ?? [])
      expect(rows.map(({ fields }) => canonical(readRow(columns, fields ?? [])))).toEqual(subjects.map(canonical))
      expect(rows.map(({ line }) => line)).toEqual(rows.map((_, index) => (index + 1) * (how.emptyLines + 1) + 1))
    }),
    { numRuns: 300 },
  )
})
