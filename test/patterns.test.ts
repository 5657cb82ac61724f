// No regular expression of the product takes more than linear time, whatever text it meets: proven for each by its
// automaton (the library recheck), not measured.
import { expect, test } from '@jest/globals'
import { readTree } from '../scripts/house/tree.ts'
import { productRooms } from '../scripts/house/rules.ts'
import { complexityOf, patternsOf } from './support/patterns.ts'

/** Patterns that are put together while the program runs, which no library can read, and why they are linear. */
const built: Readonly<Record<string, string>> = {
  'domain/address.ts': 'IPv4: anchored, four times the same three digits at most',
}

const isProduct = (path: string): boolean => productRooms.includes(path.split('/')[0] ?? '')

const product = readTree(new URL('..', import.meta.url).pathname)
  .code.filter(({ path }) => isProduct(path))
  .flatMap(({ path, text }) => patternsOf(path, text))

const slow = async (patterns: typeof product): Promise<string[]> => {
  const literals = new Map(patterns.map(pattern => [`${pattern.source}/${pattern.flags}`, pattern]))
  const found: string[] = []
  for (const { source, flags, place } of literals.values()) {
    const complexity = source === null ? null : await complexityOf(source, flags)
    if (complexity !== null) found.push(`${place}: /${source}/${flags} is ${complexity}`)
  }
  return found
}

test('every pattern of the product is linear in its input', async () => {
  expect(product.length).toBeGreaterThan(50)
  expect(await slow(product)).toEqual([])
}, 3_600_000)

test('patterns that are put together are known, each with its reason', () => {
  const places = product.filter(({ source }) => source === null).map(({ place }) => place.split(':')[0])
  expect(new Set(places)).toEqual(new Set(Object.keys(built)))
})

// The first two stood in the code: headers of PEM, and an e-mail address.
test.each([
  ['/^[^\\n:]*:[^\\n]*$/gm', 'polynomial'],
  ['/^[!-~]+@[!-~]+$/', 'polynomial'],
  ['/^(a+)+$/', 'exponential'],
  ['/\\s+$/', 'polynomial'],
])('%s is found', async (literal, complexity) => {
  const found = patternsOf('x.ts', `const x: RegExp = ${literal}`)
  expect(await slow(found)).toEqual([expect.stringContaining(complexity)])
})

test('a pattern is found wherever it stands', () => {
  const text = 'const f = (a = /x/u) => a.test(`${/y/.source}`) && new RegExp(a) && RegExp("z")'
  expect(patternsOf('x.ts', text).map(({ source, flags }) => [source, flags])).toEqual([
    ['x', 'u'],
    ['y', ''],
    [null, ''],
    [null, ''],
  ])
})
