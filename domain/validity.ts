// The periods of validity and their calendar arithmetic (contract 2). Pure; dates are arguments.
import { type ValidFor, ValidFor as periods } from './enums.ts'

type Period = { readonly days: number } | { readonly months: number }

const lengths = {
  ONE_DAY: { days: 1 },
  ONE_WEEK: { days: 7 },
  ONE_MONTH: { months: 1 },
  THREE_MONTHS: { months: 3 },
  SIX_MONTHS: { months: 6 },
  ONE_YEAR: { months: 12 },
  TWO_YEARS: { months: 24 },
  THREE_YEARS: { months: 36 },
  FIVE_YEARS: { months: 60 },
  TEN_YEARS: { months: 120 },
} as const satisfies Record<ValidFor, Period>

/** All periods, the shortest first. */
export const validForByLength = Object.keys(periods) as ValidFor[]

/** The two inclusive ends of a certificate's validity, whole seconds in UTC. */
export interface Validity {
  readonly notBefore: Date
  readonly notAfter: Date
}

const daysInMonth = (year: number, month: number) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

/** The date so many calendar months later in UTC; a day that the month does not have becomes its last day. */
export function addMonths(date: Date, months: number): Date {
  const result = new Date(date)
  result.setUTCDate(1)
  result.setUTCMonth(result.getUTCMonth() + months)
  const lastDay = daysInMonth(result.getUTCFullYear(), result.getUTCMonth())
  result.setUTCDate(Math.min(date.getUTCDate(), lastDay))
  return result
}

function addPeriod(date: Date, period: Period): Date {
  if ('months' in period) return addMonths(date, period.months)
  return new Date(date.getTime() + period.days * 86_400_000)
}

const wholeSeconds = (date: Date) => Math.floor(date.getTime() / 1000) * 1000

/** From the issue time back by the tolerance in seconds, to one second before the period has passed. */
export function validity(validFor: ValidFor, issuedAt: Date, backdateSeconds: number): Validity {
  const start = new Date(wholeSeconds(issuedAt))
  return {
    notBefore: new Date(wholeSeconds(new Date(start.getTime() - backdateSeconds * 1000))),
    notAfter: new Date(addPeriod(start, lengths[validFor]).getTime() - 1000),
  }
}

/** Whether the first period is longer than the second. */
export const isLongerThan = (validFor: ValidFor, other: ValidFor): boolean =>
  validForByLength.indexOf(validFor) > validForByLength.indexOf(other)
