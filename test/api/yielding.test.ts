// Long work lets the event loop go on, and several long works take turns.
import { afterAll, expect, test } from '@jest/globals'
import { breathe, mapYielding, sortOutYielding } from '../../api/kernel/yielding.ts'
import { Failure } from '../../domain/failure.ts'

const rounds = { count: 0, stopped: false }
const countRounds = (): void => {
  rounds.count += 1
  if (!rounds.stopped) setImmediate(countRounds)
}
afterAll(() => {
  rounds.stopped = true
})

test('of several works that breathe one goes on in each round of the event loop', async () => {
  setImmediate(countRounds)
  const seen = await Promise.all(Array.from({ length: 5 }, () => breathe().then(() => rounds.count)))
  expect(new Set(seen).size).toBe(5)
  expect(seen).toEqual(seen.toSorted((one, other) => one - other))
})

const keepBusy = (ms: number): void => {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('a timer fires long before long work ends', async () => {
  let done = 0
  const seenAt = new Promise<number>(resolve => void setTimeout(() => resolve(done), 0))
  const work = mapYielding(Array.from({ length: 20 }).keys(), () => {
    keepBusy(11)
    done += 1
    return done
  })
  expect(await seenAt).toBeLessThan(20)
  expect(await work).toHaveLength(20)
})

test('a batch is sorted out in its order', async () => {
  const judge = (id: string) => {
    if (id === 'b') throw new Failure('ACCESS_DENIED')
    return id.toUpperCase()
  }
  const { accepted, errors } = await sortOutYielding(['a', 'b', 'c'], judge)
  expect([accepted, errors]).toMatchObject([['A', 'C'], [{ id: 'b', index: 1, apiError: 'ACCESS_DENIED' }]])
})
