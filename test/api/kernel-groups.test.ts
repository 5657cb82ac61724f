// Group commit as the kernel does it, with work that ends when the test says so.
import { setTimeout as after } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { Groups, type Asked } from '../../api/kernel/groups.ts'

type Group = readonly Asked<string, string>[]

/** Groups whose work waits; `began` tells what came under way, `end` ends the oldest of it. */
const scene = ({ atOnce = 1, size = 100, gatherMs = 0, patienceMs = 3_600_000 } = {}) => {
  const began: string[][] = []
  const underWay: { group: Group; over: PromiseWithResolvers<void> }[] = []
  const work = (group: Group): Promise<void> => {
    const over = Promise.withResolvers<void>()
    began.push(group.map(({ item }) => item))
    underWay.push({ group, over })
    return over.promise
  }
  const groups = new Groups({ atOnce, size, gatherMs, patienceMs, work })
  const end = async (fault?: Error, answered: (group: Group) => Group = group => group) => {
    const { group, over } = underWay.shift() ?? {}
    for (const one of answered(group ?? [])) one.answer(`${one.item}!`)
    if (fault) over?.reject(fault)
    else over?.resolve()
    await after(0)
  }
  return { groups, began, end }
}

test('who is alone begins at once, and those who come meanwhile are the next group', async () => {
  const { groups, began, end } = scene()
  const places = ['a', 'b', 'c'].map(item => groups.ask('one', item))
  expect(began).toEqual([['a']])
  await end()
  expect(began).toEqual([['a'], ['b', 'c']])
  await end()
  expect(await Promise.all(places.map(({ result }) => result))).toEqual(['a!', 'b!', 'c!'])
})

test('no more groups are under way than may be, none larger than it may be', async () => {
  const { groups, began, end } = scene({ atOnce: 2, size: 3 })
  for (let count = 0; count < 9; count += 1) void groups.ask('one', String(count))
  expect(began).toEqual([['0'], ['1']])
  await end()
  expect(began).toEqual([['0'], ['1'], ['2', '3', '4']])
  await end()
  await end()
  expect(began.slice(3)).toEqual([['5', '6', '7'], ['8']])
})

test('those who ask have their turns, however much one of them asks for', async () => {
  const { groups, began, end } = scene({ size: 4 })
  for (let count = 0; count < 8; count += 1) void groups.ask('many', `many ${count}`)
  for (const who of ['first', 'second']) void groups.ask(who, who)
  await end()
  expect(began.slice(1)).toEqual([['many 1', 'first', 'second', 'many 2']])
  await end()
  expect(began.slice(2)).toEqual([['many 3', 'many 4', 'many 5', 'many 6']])
})

test('work that takes its time keeps nobody else waiting', async () => {
  const { groups, began, end } = scene({ patienceMs: 5 })
  void groups.ask('one', 'slow')
  const { result } = groups.ask('one', 'next')
  expect(began).toEqual([['slow']])
  while (began.length < 2) await after(1)
  await end()
  await end()
  expect(await result).toBe('next!')
})

test('each hears his own answer, early where it is known, and a fault reaches those alone who have none', async () => {
  const { groups, end } = scene()
  void groups.ask('one', 'before')
  const places = ['a', 'b', 'c'].map(item => groups.ask('one', item).result)
  const heard = Promise.allSettled(places)
  await end()
  await end(new Error('The rest failed.'), group => group.slice(0, 1))
  expect(await heard).toEqual([
    { status: 'fulfilled', value: 'a!' },
    { status: 'rejected', reason: new Error('The rest failed.') },
    { status: 'rejected', reason: new Error('The rest failed.') },
  ])
  const next = groups.ask('one', 'after the fault').result
  await end()
  expect(await next).toBe('after the fault!')
})

test('nobody waits for ever where the work forgets him', async () => {
  const { groups, end } = scene()
  const { result } = groups.ask('one', 'forgotten')
  const heard = expect(result).rejects.toThrow('without an answer')
  await end(undefined, () => [])
  await heard
})

test('who leaves the line is not begun; who has begun cannot leave', async () => {
  const { groups, began, end } = scene()
  const first = groups.ask('one', 'first')
  const second = groups.ask('one', 'second')
  const third = groups.ask('one', 'third')
  expect([first.leave(), second.leave(), second.leave()]).toEqual([false, true, false])
  await end()
  expect(began).toEqual([['first'], ['third']])
  expect(third.leave()).toBe(false)
  await end()
})

describe('by a clock that the test turns', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }))
  afterEach(() => void jest.useRealTimers())
  const settled = () => new Promise(resolve => setImmediate(resolve))
  const timed = (options: Parameters<typeof scene>[0]) => {
    const { groups, began, end } = scene({ atOnce: 2, gatherMs: 20, ...options })
    const ask = (...items: string[]) => items.map(item => groups.ask('one', item))
    /** The fake clock does not go on by itself. */
    const finish = async (): Promise<void> => {
      void end()
      await settled()
    }
    return { began, ask, finish }
  }

  test('who is alone begins at once, again and again', async () => {
    const { began, ask, finish } = timed({})
    for (const item of ['a', 'b', 'c']) {
      ask(item)
      expect(began.at(-1)).toEqual([item])
      await finish()
    }
  })

  test('who comes while others are under way waits for more of them, and not longer', () => {
    const { began, ask } = timed({})
    ask('alone', 'b')
    jest.advanceTimersByTime(19)
    ask('c')
    expect(began).toEqual([['alone']])
    jest.advanceTimersByTime(1)
    expect(began).toEqual([['alone'], ['b', 'c']])
  })

  test('a group that is full waits for nobody', () => {
    const { began, ask } = timed({ size: 3 })
    ask('alone', 'b', 'c', 'd')
    expect(began).toEqual([['alone'], ['b', 'c', 'd']])
  })

  test('who waited for room long enough begins as soon as there is some', async () => {
    const { began, ask, finish } = timed({ atOnce: 1 })
    ask('alone', 'b', 'c')
    jest.advanceTimersByTime(100)
    await finish()
    expect(began).toEqual([['alone'], ['b', 'c']])
  })

  test('those of a group of several are waited for when it has ended, as long as it took, and not later', async () => {
    const { began, ask, finish } = timed({ atOnce: 1 })
    ask('alone', 'b', 'c')
    jest.advanceTimersByTime(100)
    await finish()
    jest.advanceTimersByTime(80)
    await finish()
    jest.advanceTimersByTime(70)
    ask('b again')
    jest.advanceTimersByTime(19)
    ask('c again')
    expect(began).toHaveLength(2)
    jest.advanceTimersByTime(1)
    expect(began.at(-1)).toEqual(['b again', 'c again'])
    jest.advanceTimersByTime(10)
    await finish()
    jest.advanceTimersByTime(11)
    ask('later')
    expect(began.at(-1)).toEqual(['later'])
  })

  test('where groups are quick, a quarter of what the last one took is waited for', async () => {
    const { began, ask, finish } = timed({})
    ask('alone')
    jest.advanceTimersByTime(40)
    await finish()
    ask('alone again', 'b')
    jest.advanceTimersByTime(9)
    ask('c')
    expect(began).toEqual([['alone'], ['alone again']])
    jest.advanceTimersByTime(1)
    expect(began.at(-1)).toEqual(['b', 'c'])
  })

  test('who leaves while the others gather is not begun, nor holds them up', () => {
    const { began, ask } = timed({ size: 3 })
    const [, second] = ask('alone', 'b', 'c')
    expect(second?.leave()).toBe(true)
    ask('d')
    expect(began).toEqual([['alone']])
    jest.advanceTimersByTime(20)
    expect(began).toEqual([['alone'], ['c', 'd']])
  })
})
