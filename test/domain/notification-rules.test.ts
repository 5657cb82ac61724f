// When people are reminded that a certificate expires (contract 8).
import { expect, test } from '@jest/globals'
import { reminderWindows } from '../../domain/notification-rules.ts'

const now = new Date('2031-01-31T10:00:00.000Z')
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)

test('each interval reminds of what lies between it and the next nearer one', () => {
  expect(reminderWindows([30, 14, 7, 1], now)).toEqual([
    { days: 1, after: now, until: inDays(1) },
    { days: 7, after: inDays(1), until: inDays(7) },
    { days: 14, after: inDays(7), until: inDays(14) },
    { days: 30, after: inDays(14), until: inDays(30) },
  ])
})

test('order and repetition do not matter, and no interval is no reminder', () => {
  expect(reminderWindows([1, 7, 7, 30, 14, 1], now)).toEqual(reminderWindows([30, 14, 7, 1], now))
  expect(reminderWindows([], now)).toEqual([])
})
