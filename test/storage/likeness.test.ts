// What LIKE tells of the patterns of rules: never less than what the pattern itself matches, and never more where it says so.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { isPattern, matchesWhole } from '../../domain/pattern.ts'
import { likenessOf } from '../../storage/lists/likeness.ts'
import { somePattern, someText } from '../support/rule-patterns.ts'

/** LIKE, as PostgreSQL has it: `%` and `_` match line ends as well. */
const isLike = (text: string, like: string): boolean => {
  const steps = [...like.matchAll(/\\(.)|(.)/gsu)].map(([, quoted, plain]) => {
    if (plain === '%') return '.*'
    if (plain === '_') return '.'
    return (quoted ?? plain ?? '').replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  })
  return new RegExp(`^${steps.join('')}$`, 'su').test(text)
}

test('a text that a pattern matches is like it, and the other way round where that is said', () => {
  const met = { exact: 0, inexact: 0, matched: 0 }
  const isWrong = (pattern: string, text: string): boolean => {
    const { likes, exact } = likenessOf(pattern) ?? { likes: ['%'], exact: false }
    const could = likes.some(like => isLike(text, like)) && !(exact && text.includes('\n'))
    const matched = matchesWhole(pattern, text)
    met[exact ? 'exact' : 'inexact']++
    if (matched) met.matched++
    return matched ? !could : exact && could
  }
  fc.assert(
    fc.property(somePattern, fc.array(someText, { minLength: 1, maxLength: 8 }), (pattern, texts) => {
      fc.pre(isPattern(pattern))
      expect(texts.filter(text => isWrong(pattern, text))).toEqual([])
    }),
    { numRuns: 20_000 },
  )
  expect(Math.min(...Object.values(met))).toBeGreaterThan(5000)
})

test.each([
  ['web-01\\.example\\.org', ['web-01.example.org'], true],
  ['web-.*', ['web-%'], true],
  ['^.*\\.example\\.org$', ['%.example.org'], true],
  ['a|b.|c.+', ['a', 'b_', 'c_%'], true],
  ['100%_\\\\', ['100\\%\\_\\\\'], true],
  ['[a-z0-9]+\\.example\\.org', ['_%.example.org'], false],
  ['host-\\d{1,4}(\\.[a-z]+)*\\.org', ['host-%%.org'], false],
  ['ab?c*', ['a%%'], false],
])('%s is told as %j (exact: %p)', (pattern, likes, exact) => {
  expect(likenessOf(pattern)).toEqual({ likes, exact })
})

test.each([
  '(?i)web-.*',
  '[a-z]*',
  '(a|b)+',
  '\\Qa.b\\E',
  '\\bweb',
  '\\x41',
  Array.from('abcdefghijklmnopqrstuvwxyz').join('|'),
])('nothing is told of %s', pattern => {
  expect(isPattern(pattern)).toBe(true)
  expect(likenessOf(pattern)).toBeNull()
})
