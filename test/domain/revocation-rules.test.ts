// The table of contract 4.3: every pair of a state and a reason, and what a revocation keeps.
import { describe, expect, test } from '@jest/globals'
import { type Arbitrary, assert, boolean, constantFrom, date, option, property, record, tuple } from 'fast-check'
import { RevocationReason, valuesOf } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import { certStatusAt } from '../../domain/lifecycle.ts'
import { markedAsRevoked, reasonCodes, revoked, type RevocationState } from '../../domain/revocation-rules.ts'

const now = new Date('2030-06-01T12:00:00Z')
const [before, earlier, later] = ['2030-01-01', '2030-03-01', '2030-12-31'].map(
  day => new Date(`${day}T00:00:00Z`),
) as [Date, Date, Date]
const fresh = { archived: false, validNotBefore: before, validNotAfter: later }
const states = {
  ACTIVE: fresh,
  'on hold': { ...fresh, revocationReason: 'CERTIFICATE_HOLD', revocationDate: earlier },
  'on hold, expired': {
    ...fresh,
    validNotAfter: earlier,
    revocationReason: 'CERTIFICATE_HOLD',
    revocationDate: earlier,
  },
  'revoked for good': { ...fresh, revocationReason: 'SUPERSEDED', revocationDate: earlier },
  'revoked without a reason': { ...fresh, revocationDate: earlier },
  EXPIRED: { ...fresh, validNotAfter: earlier },
  archived: { ...fresh, archived: true },
} as const satisfies Record<string, RevocationState>

const outcome = (judge: () => { event: string }): string => {
  try {
    return judge().event
  } catch (error) {
    return error instanceof Failure ? error.code : String(error)
  }
}

type Expected = readonly [hold: string, release: string, other: string]
const all = (code: string): Expected => [code, code, code]
const table: readonly [keyof typeof states, Expected][] = [
  ['ACTIVE', ['CERTIFICATE_HELD', 'INVALID_REVOCATION_REASON', 'CERTIFICATE_REVOKED']],
  ['on hold', ['ALREADY_REVOKED', 'CERTIFICATE_RELEASED', 'CERTIFICATE_REVOKED']],
  ['on hold, expired', ['ALREADY_REVOKED', 'CERTIFICATE_RELEASED', 'CERTIFICATE_REVOKED']],
  ['revoked for good', all('ALREADY_REVOKED')],
  ['revoked without a reason', all('ALREADY_REVOKED')],
  ['EXPIRED', all('INVALID_STATE')],
  ['archived', all('ENTITY_ARCHIVED')],
]

test.each(table)('%s', (name, [hold, release, other]) => {
  const expected = { CERTIFICATE_HOLD: hold, REMOVE_FROM_CRL: release }
  for (const reason of valuesOf(RevocationReason))
    expect([reason, outcome(() => revoked(states[name], reason, now))]).toEqual([
      reason,
      (expected as Partial<Record<RevocationReason, string>>)[reason] ?? other,
    ])
})

test('the table names every state', () => expect(table.map(([name]) => name)).toEqual(Object.keys(states)))

test('a release clears reason and date; what has expired meanwhile is expired then', () => {
  const released = revoked(states['on hold, expired'], 'REMOVE_FROM_CRL', now)
  expect([released.reason, released.date]).toEqual([null, null])
  expect(certStatusAt({ validNotAfter: earlier, revocationDate: released.date }, now)).toBe('EXPIRED')
})

const anyDate = date({ min: new Date('2000-01-01'), max: new Date('2060-01-01'), noInvalidDate: true })
const anyReason = constantFrom(...valuesOf(RevocationReason))
const anyState: Arbitrary<RevocationState> = record({
  archived: boolean(),
  validNotBefore: anyDate,
  validNotAfter: anyDate,
  revocationReason: option(anyReason),
  revocationDate: option(anyDate),
})

describe('whatever the state', () => {
  test('what is revoked for good stays as it is, and a date once recorded is kept', () => {
    assert(
      property(anyState, anyReason, anyDate, (state, reason, at) => {
        let change: ReturnType<typeof revoked>
        try {
          change = revoked(state, reason, at)
        } catch (error) {
          return error instanceof Failure
        }
        if (state.archived) return false
        if (state.revocationDate && state.revocationReason !== 'CERTIFICATE_HOLD') return false
        if (change.event === 'CERTIFICATE_RELEASED') return change.date === null && change.reason === null
        return change.reason === reason && change.date?.getTime() === (state.revocationDate ?? at).getTime()
      }),
    )
  })

  test('marking allows what revoking does, but neither hold nor release, nor a date outside', () => {
    assert(
      property(anyState, anyReason, tuple(option(anyDate), anyDate), (state, reason, [date, at]) => {
        const marked = outcome(() => markedAsRevoked(state, { reason, date }, at))
        if (reason === 'CERTIFICATE_HOLD' || reason === 'REMOVE_FROM_CRL') return marked === 'INVALID_REVOCATION_REASON'
        const direct = outcome(() => revoked(state, reason, at))
        if (direct !== 'CERTIFICATE_REVOKED') return marked === direct
        const isInside = !date || (date >= state.validNotBefore && date <= at)
        return marked === (isInside ? 'CERTIFICATE_MARKED_AS_REVOKED' : 'VALIDATION_FAILED')
      }),
    )
  })

  test('the codes are those of RFC 5280 5.3.1', () =>
    expect(Object.values(reasonCodes)).toEqual([0, 1, 2, 3, 4, 5, 6, 8, 9, 10]))
})
