// Long work in small steps: others are served in between, however many works there are.
import { expect, test } from '@jest/globals'
import { nextStep } from '../../authority/pacing.ts'

const busy = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
}

test('several long works together leave the event loop to others after every few steps', async () => {
  let [round, isOver] = [0, false]
  const count = (): void => {
    round += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const rounds: number[] = []
  const work = async (): Promise<void> => {
    for (let step = 0; step < 10; step++) {
      await nextStep()
      rounds.push(round)
      busy(5)
    }
  }
  await Promise.all([work(), work(), work()])
  isOver = true
  const most = Math.max(...[...Map.groupBy(rounds, one => one).values()].map(steps => steps.length))
  // A round lasts 8 ms: what begins within them may end later.
  expect([rounds.length, most <= 3]).toEqual([30, true])
})

test('while a round is short, a step waits for nothing', async () => {
  // The machine may pause at any time, but not every time.
  const waited: boolean[] = []
  for (let tries = 0; tries < 100; tries++) {
    await new Promise(setImmediate)
    await nextStep()
    let isLater = false
    setImmediate(() => (isLater = true))
    await nextStep()
    waited.push(isLater)
  }
  expect(waited).toContain(false)
})
