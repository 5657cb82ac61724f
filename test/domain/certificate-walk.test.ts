// Random walks through the life of a certificate, held against the table of contract 4.3 (archiving: 4.4).
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { RevocationReason, valuesOf } from '../../domain/enums.ts'
import { Failure, type ApiError } from '../../domain/failure.ts'
import { revoked } from '../../domain/revocation-rules.ts'
import { certStatusAt, mustBeArchivable, type CertificateState } from '../../domain/lifecycle.ts'

const begin = new Date('2031-01-31T10:00:00Z')
const dayMs = 86_400_000
const end = new Date(begin.getTime() + 10 * dayMs)

interface State extends CertificateState {
  readonly validNotBefore: Date
}

/** What happens: an event, a reason where it is a revocation, and how much later than what was before. */
interface Step {
  readonly event: Event
  readonly reason: RevocationReason
  readonly days: number
}
type Event = 'WAIT' | 'ARCHIVE' | 'UNARCHIVE' | 'REVOKE'

/** What an event makes of a certificate; a refusal is thrown. */
type Act = (at: State, step: Step, now: Date) => Partial<State>

/** The events as `domain` decides them. Those that it does not know yet are not walked. */
const acts: Partial<Record<Event, Act>> = {
  WAIT: () => ({}),
  ARCHIVE: (at, _, now) => {
    mustBeArchivable(at, now)
    return { archived: true }
  },
  UNARCHIVE: () => ({ archived: false }),
  REVOKE: (at, { reason }, now) => {
    const { reason: revocationReason, date: revocationDate } = revoked(at, reason, now)
    return { revocationReason, revocationDate }
  },
}

type Kind = 'ACTIVE' | 'EXPIRED' | 'HOLD' | 'REVOKED'
const kinds: readonly Kind[] = ['ACTIVE', 'EXPIRED', 'HOLD', 'REVOKED']

const kindOf = (at: State, now: Date): Kind => {
  const status = certStatusAt(at, now)
  return status === 'REVOKED' && at.revocationReason === 'CERTIFICATE_HOLD' ? 'HOLD' : status
}

type Wish = 'HOLD' | 'RELEASE' | 'FOR_GOOD'
const wishOf = ({ reason }: Step): Wish => {
  if (reason === 'CERTIFICATE_HOLD') return 'HOLD'
  return reason === 'REMOVE_FROM_CRL' ? 'RELEASE' : 'FOR_GOOD'
}

type Outcome = Kind | ApiError

/** The rows on revocation, written down once more. */
const revocations: Readonly<Record<Kind, Readonly<Record<Wish, readonly Outcome[]>>>> = {
  ACTIVE: { HOLD: ['HOLD'], RELEASE: ['INVALID_REVOCATION_REASON'], FOR_GOOD: ['REVOKED'] },
  HOLD: { HOLD: ['ALREADY_REVOKED'], RELEASE: ['ACTIVE', 'EXPIRED'], FOR_GOOD: ['REVOKED'] },
  REVOKED: { HOLD: ['ALREADY_REVOKED'], RELEASE: ['ALREADY_REVOKED'], FOR_GOOD: ['ALREADY_REVOKED'] },
  EXPIRED: { HOLD: ['INVALID_STATE'], RELEASE: ['INVALID_STATE'], FOR_GOOD: ['INVALID_STATE'] },
}

const wishes = ['HOLD', 'RELEASE', 'FOR_GOOD'] as const

/** What an event may come to. */
const expected = (kind: Kind, archived: boolean, { event, wish }: { event: Event; wish: Wish }): readonly Outcome[] => {
  if (event === 'ARCHIVE') return [kind === 'ACTIVE' ? 'ACTIVE_CERTIFICATES_EXIST' : kind]
  if (event !== 'REVOKE') return [kind]
  return archived ? ['ENTITY_ARCHIVED'] : revocations[kind][wish]
}

const visitOf = (kind: Kind, archived: boolean, { event, wish, came }: { event: Event; wish: Wish; came: Outcome }) =>
  `${kind}${archived ? ', archived' : ''}: ${event}${event === 'REVOKE' ? ` ${wish}` : ''} -> ${came}`

const walked = Object.keys(acts) as Event[]

/** Every row of the table for the events that are walked; what is active is never archived. */
const everyVisit = (): ReadonlySet<string> =>
  new Set(
    kinds.flatMap(kind =>
      [false, true]
        .filter(archived => !(archived && kind === 'ACTIVE'))
        // Without revocations there is nothing that is revoked.
        .filter(() => walked.includes('REVOKE') || kind === 'ACTIVE' || kind === 'EXPIRED')
        .flatMap(archived =>
          walked.flatMap(event =>
            wishes.flatMap(wish =>
              expected(kind, archived, { event, wish }).map(came => visitOf(kind, archived, { event, wish, came })),
            ),
          ),
        ),
    ),
  )

const outcome = (run: () => Kind): Outcome => {
  try {
    return run()
  } catch (error) {
    if (error instanceof Failure) return error.code
    throw error
  }
}

/** One step; a refusal changes nothing. */
const stepOn = (at: State, step: Step, now: Date): { next: State; visit: string } => {
  const [kind, wish] = [kindOf(at, now), wishOf(step)]
  let next = at
  const came = outcome(() => {
    next = { ...at, ...acts[step.event]?.(at, step, now) }
    return kindOf(next, now)
  })
  expect(expected(kind, at.archived, { event: step.event, wish })).toContain(came)
  return { next, visit: visitOf(kind, at.archived, { event: step.event, wish, came }) }
}

const steps = fc.array(
  fc.record({
    event: fc.constantFrom(...walked),
    reason: fc.oneof(
      fc.constantFrom<RevocationReason>('CERTIFICATE_HOLD', 'REMOVE_FROM_CRL'),
      fc.constantFrom(...valuesOf(RevocationReason)),
    ),
    days: fc.constantFrom(0, 0, 0, 1, 3),
  }),
  { maxLength: 20 },
)

/** Every state on the way, with the moment of each. */
const walk = (taken: readonly Step[], visited?: Set<string>): { at: State; now: Date }[] => {
  const path = [{ at: { archived: false, validNotBefore: begin, validNotAfter: end } as State, now: begin }]
  for (const step of taken) {
    const { at, now } = path.at(-1) as { at: State; now: Date }
    const then = new Date(now.getTime() + step.days * dayMs)
    const { next, visit } = stepOn(at, step, then)
    visited?.add(visit)
    path.push({ at: next, now: then })
  }
  return path
}

const runs = { numRuns: 3000 }

test('no walk leaves the table of the contract', () => {
  fc.assert(
    fc.property(steps, taken => void walk(taken)),
    runs,
  )
})

/** One step of each kind, now and after the end of the certificate. */
const kindsOfStep: readonly Step[] = walked.flatMap(event =>
  (['CERTIFICATE_HOLD', 'REMOVE_FROM_CRL', 'SUPERSEDED'] as const).flatMap(reason =>
    [0, 11].map(days => ({ event, reason, days })),
  ),
)

const sameState = ({ at, now }: { at: State; now: Date }): string =>
  `${kindOf(at, now)} ${at.archived} ${at.revocationReason} ${now > end}`

// Chance may leave out a row that needs three certain steps: every step is taken from every state that steps lead to.
test('all steps from all states come through all of the table', () => {
  const visited = new Set<string>()
  const walks: Step[][] = [[]]
  const known = new Set<string>()
  for (const taken of walks) {
    const last = walk(taken, visited).at(-1)
    if (!last || known.has(sameState(last))) continue
    known.add(sameState(last))
    walks.push(...kindsOfStep.map(step => [...taken, step]))
  }
  expect([...visited].toSorted()).toEqual([...everyVisit()].toSorted())
})

test('what expired or was revoked for good stays so, and nothing that is active is archived', () => {
  let ends = 0
  fc.assert(
    fc.property(steps, taken => {
      const path = walk(taken).map(({ at, now }) => ({ at, kind: kindOf(at, now) }))
      for (const [index, { at, kind }] of path.entries()) {
        if (at.archived) expect(kind).not.toBe('ACTIVE')
        if (kind !== 'EXPIRED' && kind !== 'REVOKED') continue
        ends += 1
        expect(path.slice(index).every(later => later.kind === kind)).toBe(true)
      }
    }),
    runs,
  )
  expect(ends).toBeGreaterThan(0)
})
