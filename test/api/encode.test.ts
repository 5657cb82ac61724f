import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { dto, listOf, Timestamp } from '../../api/kernel/dto.ts'
import { encodeAnswer } from '../../api/kernel/encode.ts'

const Item = z.object({ name: z.string(), date: Timestamp })
const Answer = dto('TestAnswer', { total: z.int(), items: listOf(Item), errors: listOf(Item) })
const itemsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `n-${index}`, date: new Date(index), secret: 'hidden' }))

test.each([0, 1, 199, 200, 5000])('a list of %d items is written as in one go', async count => {
  const value = { total: count, items: itemsOf(count), errors: itemsOf(2), secret: 'hidden' }
  const written = await encodeAnswer(Answer, value)
  expect(written).toEqual(z.encode(Answer, value))
  expect(JSON.stringify(written)).not.toContain('hidden')
})

test('an answer that is no object is written as it is', async () =>
  expect(await encodeAnswer(listOf(Timestamp), [new Date(0)])).toEqual(['1970-01-01T00:00:00.000Z']))

test('others get their turn while a long list is written', async () => {
  let turns = 0
  const counting = setInterval(() => (turns += 1), 0)
  await encodeAnswer(Answer, { total: 0, items: itemsOf(10_000), errors: [] })
  clearInterval(counting)
  expect(turns).toBeGreaterThan(0)
})

test('an item that is not what the answer promises fails', async () => {
  const items = [...itemsOf(300), { name: 1, date: new Date() }]
  await expect(encodeAnswer(Answer, { total: 0, items, errors: [] })).rejects.toThrow('name')
})
