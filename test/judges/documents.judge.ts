// zlint and pkilint judge every kind of document that is signed here.
import { beforeAll, expect, test } from '@jest/globals'
import { flawedOf } from './flawed.ts'
import { expectedFindings, expectedIn } from './expected.ts'
import { answersOf, certificatesOf, listsOf, makeHouses, type Made } from './matrix.ts'
import { judge } from './panel.ts'

let houses: Awaited<ReturnType<typeof makeHouses>>
beforeAll(async () => {
  houses = await makeHouses()
}, 240_000)

/** What was judged in this file. */
const judged: Made[] = []

const judgeAll = async (made: readonly Made[]): Promise<void> => {
  const found = await judge(made)
  judged.push(...made)
  const surprising = made.flatMap(one => {
    const [told, expected] = [found.get(one.name), expectedIn(one)]
    return JSON.stringify(told) === JSON.stringify(expected) ? [] : [{ name: one.name, told, expected }]
  })
  expect(surprising).toEqual([])
}

test('certificates of every template, kind of key and kind of CA', async () => {
  const made = await certificatesOf(houses)
  expect(made.length).toBeGreaterThan(700)
  await judgeAll(made)
}, 300_000)

test('lists of every kind of CA', async () => judgeAll(await listsOf(houses)))

test('OCSP answers of every kind of CA', async () => judgeAll(await answersOf(houses)))

test('every finding that is expected has appeared', () => {
  const unseen = expectedFindings.filter(({ in: isIn }) => !judged.some(isIn))
  expect(unseen).toEqual([])
})

test('the judges see flaws where there are some', async () => {
  const flawed = await flawedOf(houses)
  const found = await judge(flawed)
  for (const { name, sees } of flawed) expect({ name, told: found.get(name) }).toEqual({ name, told: sees })
})
