// Beginning and end of validity by calendar (contract 2).
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import type { ValidFor } from '../../domain/enums.ts'
import { isLongerThan, validForByLength, validity } from '../../domain/validity.ts'

const examples: readonly [ValidFor, string, string][] = [
  ['ONE_DAY', '2031-01-31T10:15:30.999Z', '2031-02-01T10:15:29.000Z'],
  ['ONE_WEEK', '2031-12-28T00:00:00.000Z', '2032-01-03T23:59:59.000Z'],
  ['ONE_MONTH', '2031-01-31T10:15:30.000Z', '2031-02-28T10:15:29.000Z'],
  ['ONE_MONTH', '2032-01-31T10:15:30.000Z', '2032-02-29T10:15:29.000Z'],
  ['THREE_MONTHS', '2031-11-30T10:15:30.000Z', '2032-02-29T10:15:29.000Z'],
  ['SIX_MONTHS', '2031-08-31T10:15:30.000Z', '2032-02-29T10:15:29.000Z'],
  ['ONE_YEAR', '2032-02-29T10:15:30.000Z', '2033-02-28T10:15:29.000Z'],
  ['TWO_YEARS', '2031-01-01T00:00:00.000Z', '2032-12-31T23:59:59.000Z'],
  ['THREE_YEARS', '2031-06-15T12:00:00.000Z', '2034-06-15T11:59:59.000Z'],
  ['FIVE_YEARS', '2032-02-29T10:15:30.000Z', '2037-02-28T10:15:29.000Z'],
  ['TEN_YEARS', '2041-03-31T10:15:30.000Z', '2051-03-31T10:15:29.000Z'],
]

test.each(examples)('%s from %s ends at %s', (validFor, issuedAt, notAfter) => {
  expect(validity(validFor, new Date(issuedAt), 0).notAfter.toISOString()).toBe(notAfter)
})

test('the beginning lies before the issue by the backdating, in whole seconds', () => {
  const { notBefore } = validity('ONE_DAY', new Date('2031-01-01T00:00:30.900Z'), 60)
  expect(notBefore.toISOString()).toBe('2030-12-31T23:59:30.000Z')
})

const date = fc.date({ min: new Date('1990-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })

test('a longer period ends later, whatever the day', () => {
  fc.assert(
    fc.property(date, issuedAt => {
      const ends = validForByLength.map(validFor => validity(validFor, issuedAt, 60).notAfter.getTime())
      expect(ends).toEqual([...new Set(ends)].toSorted((one, other) => one - other))
    }),
  )
})

test('months keep the day, or take the last one', () => {
  fc.assert(
    fc.property(date, issuedAt => {
      const end = new Date(validity('ONE_MONTH', issuedAt, 0).notAfter.getTime() + 1000)
      const isLastDay = new Date(end.getTime() + 86_400_000).getUTCDate() === 1
      expect(
        end.getUTCDate() === issuedAt.getUTCDate() || (isLastDay && end.getUTCDate() < issuedAt.getUTCDate()),
      ).toBe(true)
      expect((end.getUTCMonth() - issuedAt.getUTCMonth() + 12) % 12).toBe(1)
      expect(end.getTime() % 1000).toBe(0)
    }),
  )
})

test('periods are ordered by their length', () => {
  expect(isLongerThan('ONE_MONTH', 'ONE_WEEK')).toBe(true)
  expect(isLongerThan('ONE_WEEK', 'ONE_MONTH')).toBe(false)
  expect(isLongerThan('ONE_YEAR', 'ONE_YEAR')).toBe(false)
})
