// The clocks: that of the database and, as far as it can be seen, that of Temporal beside our own.
import type { MikroORM } from '@mikro-orm/postgresql'
import { databaseCondition } from '../../storage/condition.ts'
import { ok, skipped, warning, type Check, type Finding } from '../check.ts'
import { pollersOf } from '../pollers.ts'
import type { TemporalPlace } from './temporal.ts'

const mostMs = 2000
const advice = 'Let every machine keep its clock by NTP (timedatectl, chronyc tracking).'

/** One look at another clock: what it said between two moments of our own, in ms. */
export interface Reading {
  readonly sent: number
  readonly said: number
  readonly received: number
}

/** How far the other clock is ahead at least (behind: negative); 0 where the time of the call explains all. */
export const skewOf = ({ sent, said, received }: Reading): number => {
  if (said < sent) return said - sent
  return said > received ? said - received : 0
}

const judged = (name: string, skewMs: number): Finding =>
  Math.abs(skewMs) <= mostMs
    ? ok(`within ${mostMs / 1000} s of this machine`)
    : warning(
        `${name} is ${Math.abs(Math.round(skewMs / 100) / 10)} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine`,
        advice,
      )

/** The checks of clocks. */
export const clockChecks = (orm: MikroORM, place: TemporalPlace): readonly Check[] => [
  {
    name: 'clock of database',
    after: 'database',
    advice,
    look: async () => {
      const sent = Date.now()
      const { now } = await databaseCondition(orm)
      return judged('the database', skewOf({ sent, said: now.getTime(), received: Date.now() }))
    },
  },
  {
    name: 'clock of Temporal',
    after: 'worker',
    advice,
    // Temporal does not tell its time. What it dates with it lies in its past: only a clock that is ahead is seen.
    look: async () => {
      const dates = (await pollersOf(place)).map(({ lastAccess }) => lastAccess.getTime())
      if (dates.length === 0) return skipped('nothing tells its time')
      return judged('Temporal', Math.max(0, Math.max(...dates) - Date.now()))
    },
  },
]
