// What blocks the event loop: our own work, or a machine that has no time for us.
import { expect, test } from '@jest/globals'
import { setTimeout as wait } from 'node:timers/promises'
import { lookAtEventLoop, type Look } from '../../worker/event-loop.ts'

const longestOf = async (block: () => void): Promise<Look> => {
  const looks: Look[] = []
  const stop = lookAtEventLoop(look => void looks.push(look))
  await wait(50)
  looks.length = 0
  block()
  await wait(50)
  stop()
  return looks.reduce((one, other) => (other.late > one.late ? other : one))
}

const used = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

test('work on the thread of the event loop is a delay of our own', async () => {
  const { late, own } = await longestOf(() => {
    for (const end = used() + 200; used() < end;);
  })
  expect(late).toBeGreaterThanOrEqual(190)
  expect(own).toBeGreaterThanOrEqual(190)
})

test('a thread that gets no processor is late, and not by its own work', async () => {
  const { late, own } = await longestOf(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400))
  expect(late).toBeGreaterThanOrEqual(390)
  expect(own).toBeLessThan(200)
})
