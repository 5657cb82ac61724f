import { expect, test } from '@jest/globals'
import { parametersIn } from '../../api/kernel/query.ts'

test('a parameter is a text, a repeated one a list', () => {
  expect(parametersIn('a=1&b=x%20y+z&a=2&c&d=%2C')).toEqual({ a: ['1', '2'], b: 'x y z', c: '', d: ',' })
  expect(parametersIn('')).toEqual({})
})

test('a name of the language is a name like any other', () => {
  expect(Object.entries(parametersIn('__proto__=1&constructor=2'))).toEqual([
    ['__proto__', '1'],
    ['constructor', '2'],
  ])
})

// The reader of the web framework is busy for half a minute with this, whoever sends it.
test('a query of nothing but parameters is read at once', () => {
  expect(parametersIn('a&'.repeat(32_000))['a']).toHaveLength(32_000)
  expect(Object.keys(parametersIn(Array.from({ length: 16_000 }, (_, index) => `p${index}`).join('&')))).toHaveLength(
    16_000,
  )
})
