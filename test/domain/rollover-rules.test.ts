// How the next generation of a CA is named.
import { expect, test } from '@jest/globals'
import { nextGeneration } from '../../domain/rollover-rules.ts'

test.each([
  ['House CA', 'House CA G2'],
  ['House CA G2', 'House CA G3'],
  ['House CA G9', 'House CA G10'],
  ['House G CA', 'House G CA G2'],
  ['x'.repeat(64), `${'x'.repeat(61)} G2`],
  ['😀'.repeat(64), `${'😀'.repeat(61)} G2`],
  [`${'x'.repeat(61)} G9`, `${'x'.repeat(60)} G10`],
  ['', ' G2'],
])('after %s comes %s', (name, next) => {
  expect(nextGeneration(name)).toBe(next)
  expect(Array.from(next).length).toBeLessThanOrEqual(64)
})
