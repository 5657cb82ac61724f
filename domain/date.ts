// The Dates that callers write (contract 1.1), read in one place: by members, by parameters and by the values of filters.

const form = /^(\d{4}-\d\d-(\d\d))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** The years in UTC that are dates here: JavaScript writes others with a sign, and PostgreSQL has no year 0. */
const years = { first: 1, last: 9999 } as const

/** What a text that is none is told. */
export const dateRule = `must be a date such as 2031-01-31T10:15:30Z, of the years ${years.first} to ${years.last} in UTC`

/** The Date of a text in ISO 8601 with seconds and an offset; null when it has another form or is no date. */
export const findDate = (text: string): Date | null => {
  const [, midnight, day] = form.exec(text) ?? []
  // JavaScript takes the 30th of February for the 2nd of March.
  if (!midnight || new Date(`${midnight}T00:00:00Z`).getUTCDate() !== Number(day)) return null
  const date = new Date(text)
  const year = date.getUTCFullYear()
  return year >= years.first && year <= years.last ? date : null
}
