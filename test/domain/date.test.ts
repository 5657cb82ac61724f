// Which texts are Dates (contract 1.1).
import { expect, test } from '@jest/globals'
import { findDate } from '../../domain/date.ts'

test.each([
  ['2031-01-31T10:15:30Z', '2031-01-31T10:15:30.000Z'],
  ['2031-01-31T10:15:30.123456789Z', '2031-01-31T10:15:30.123Z'],
  ['2028-02-29T23:59:59+14:00', '2028-02-29T09:59:59.000Z'],
  ['2000-02-29T00:00:00-00:00', '2000-02-29T00:00:00.000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0001-01-01T23:59:00+23:59', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ['9999-12-31T00:00:59-23:59', '9999-12-31T23:59:59.000Z'],
])('%s is a date', (text, utc) => {
  expect(findDate(text)?.toISOString()).toBe(utc)
})

test.each([
  ['the year 0', '0000-01-01T00:00:00Z'],
  ['the year 0 by its offset', '0001-01-01T00:00:00+23:59'],
  ['the year 10000 by its offset', '9999-12-31T23:59:59-23:59'],
  ['a year with a sign', '+010000-01-01T00:00:00Z'],
  ['a leap day in another year', '2027-02-29T00:00:00Z'],
  ['a leap day in a year of hundreds', '2100-02-29T00:00:00Z'],
  ['the 31st of February', '2027-02-31T00:00:00Z'],
  ['the 31st of April', '2027-04-31T00:00:00Z'],
  ['the day 0', '2027-01-00T00:00:00Z'],
  ['the month 13', '2027-13-01T00:00:00Z'],
  ['the hour 24', '2027-01-01T24:00:00Z'],
  ['a leap second', '2027-01-01T00:00:60Z'],
  ['no seconds', '2027-01-01T00:00Z'],
  ['no offset', '2027-01-01T00:00:00'],
  ['an offset of 24 hours', '2027-01-01T00:00:00+24:00'],
  ['an offset without a colon', '2027-01-01T00:00:00+0100'],
  ['letters in lower case', '2027-01-01t00:00:00z'],
  ['a blank instead of the T', '2027-01-01 00:00:00Z'],
  ['a day alone', '2027-01-01'],
  ['a line behind it', '2027-01-01T00:00:00Z\n'],
  ['nothing', ''],
])('%s is none', (_, text) => {
  expect(findDate(text)).toBeNull()
})
