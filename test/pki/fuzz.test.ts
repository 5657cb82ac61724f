// Every reader of foreign octets takes thousands of mutated messages; `npm run fuzz` gives each a million.
import { beforeAll, expect, test } from '@jest/globals'
import { type FuzzSubject, makeFuzzSubjects } from './fuzz-subjects.ts'
import { fuzz, FuzzFault, longestMs } from './fuzzing.ts'

const count = 2000
let subjects: readonly FuzzSubject[]
beforeAll(async () => {
  subjects = await makeFuzzSubjects()
})

const names = 'pkcs10 certificate path-certificate crl ocsp-request ocsp-answer scep-request cms-envelope cms-bag cmp'

test('all readers are tried', () => {
  expect(subjects.map(({ name }) => name).join(' ')).toBe(names)
})

test.each(names.split(' '))('%s reads or refuses', name => {
  const subject = subjects.find(one => one.name === name)
  if (!subject) throw new Error('no such reader')
  for (const original of subject.originals) expect(() => subject.read(original)).not.toThrow()
  const { read, refused } = fuzz(subject, count, 20_261_123)
  expect(read + refused).toBe(count)
  expect(refused).toBeGreaterThan(count / 10)
})

test('what a reader does not declare is found, and told by its octets', () => {
  const broken: FuzzSubject = {
    name: 'broken',
    originals: [Buffer.from('3003020101', 'hex')],
    read: () => {
      throw new TypeError('a mistake')
    },
    isDeclared: () => false,
  }
  expect(() => fuzz(broken, 1, 1)).toThrow(FuzzFault)
  expect(() => fuzz(broken, 1, 1)).toThrow(/^broken threw TypeError: a mistake over [0-9a-f]+$/)
})

test('a reader that takes too long is found', () => {
  const busy = (): void => {
    const begin = process.threadCpuUsage().user
    while (process.threadCpuUsage().user - begin < 2000 * longestMs);
  }
  const slow: FuzzSubject = {
    name: 'slow',
    originals: [Buffer.from('3003020101', 'hex')],
    read: busy,
    isDeclared: () => true,
  }
  expect(() => fuzz(slow, 1, 1)).toThrow(/^slow took \d+/)
})
