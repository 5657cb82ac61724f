// JSON read strictly: what JSON.parse takes but for members given twice and for what is beyond the limits, in linear time.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { JsonError, jsonTextSteps, readJsonText } from '../../domain/json-text.ts'

const limits = { depth: 50, values: 5000, members: 500 }
const read = (text: string): unknown => {
  try {
    return readJsonText(text, limits)
  } catch (error) {
    if (error instanceof JsonError) return error.fault
    throw error
  }
}
const natively = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return 'MALFORMED'
  }
}

test('every JSON value is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (text, indent) => {
      const written = JSON.stringify(JSON.parse(text), null, indent)
      expect(read(written)).toEqual(JSON.parse(written))
    }),
  )
})

test('a changed text is refused exactly where JSON.parse refuses it, but for a member that is there twice', () => {
  const change = fc.tuple(
    fc.nat(),
    fc.constantFrom(...Array.from('{}[],:"\\0123-.eEtrufalsn \t\n\u0000\u001f')),
    fc.nat({ max: 2 }),
  )
  const changed = fc.tuple(fc.json({ maxDepth: 3 }), change).map(([text, [at, character, kind]]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + (kind === 0 ? '' : character) + text.slice(place + (kind === 2 ? 0 : 1))
  })
  fc.assert(
    fc.property(changed, text => {
      const own = read(text)
      if (own !== 'MEMBER_TWICE') expect(own).toEqual(natively(text))
    }),
    { numRuns: 3000 },
  )
})

test.each([
  ['', 1, 1],
  ['{"a":1,\n"a":2}', 2, 1],
  ['[1,\n\n  ]', 3, 3],
  ['"\\u12G4"', 1, 2],
  ['"\t"', 1, 2],
  ['[1] 2', 1, 5],
])('%j is told at line %i, column %i', (text, line, column) => {
  expect(() => readJsonText(text, limits)).toThrow(expect.objectContaining({ line, column }))
})

test.each([
  ['deep lists', '['.repeat(5_000_000), 'TOO_MUCH'],
  ['as deep as allowed', '['.repeat(50) + ']'.repeat(50), natively('['.repeat(50) + ']'.repeat(50))],
  ['many values', `[${'0,'.repeat(5000)}0]`, 'TOO_MUCH'],
  ['many members', `{${Array.from({ length: 501 }, (_, index) => `"${index}":0`).join(',')}}`, 'TOO_MUCH'],
  ['a long number', '1'.repeat(5_000_000), 'MALFORMED'],
  ['an endless text', `"${'\\"'.repeat(2_000_000)}`, 'MALFORMED'],
])('%s', (_, text, outcome) => {
  expect(read(text)).toEqual(outcome)
})

test.each([0, 1, 2, 3, 4, 5, 6])(
  'strings longer than a step are read as JSON.parse reads them, %i characters shifted',
  shift => {
    const text = `{"${'\\u000a'.repeat(30_000)}":"${'x'.repeat(shift)}${'\\u000a'.repeat(40_000)}${'y'.repeat(70_000)}"}`
    expect(readJsonText(text, limits)).toEqual(JSON.parse(text))
    expect(read(text.slice(0, -2))).toBe('MALFORMED')
  },
)

test.each([
  ['a string', `"${'x'.repeat(1_000_000)}"`],
  ['escapes', `"${'\\u000a'.repeat(200_000)}"`],
  ['a name', `{"${'x'.repeat(1_000_000)}":1}`],
  ['values', JSON.stringify(Array.from({ length: 4000 }, () => ({ name: 'x'.repeat(250) })))],
])('%s of a million characters is walked in steps of a small part of it', (_, text) => {
  expect(jsonTextSteps(text, { ...limits, values: 10_000 }).toArray().length).toBeGreaterThan(10)
})
