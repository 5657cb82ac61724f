// Group commit as the kernel does it, with work that ends when the test says so.
import { setTimeout as after } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { Groups, type Asked } from '../../api/kernel/groups.ts'

type Group = readonly Asked<string, string>[]

/** Groups whose work waits; `began` tells what came under way, `end` ends the oldest of it. */
const scene = ({ atOnce = 1, size = 100, patienceMs = 3_600_000 } = {}) => {
  const began: string[][] = []
  const underWay: { group: Group; over: PromiseWithResolvers<void> }[] = []
  const work = (group: Group): Promise<void> => {
    const over = Promise.withResolvers<void>()
    began.push(group.map(({ item }) => item))
    underWay.push({ group, over })
    return over.promise
  }
  const groups = new Groups({ atOnce, size, patienceMs, work })
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
