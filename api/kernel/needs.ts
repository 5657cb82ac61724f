// The rights that an operation declares: those that the kernel asks, and those that its handler asks.
import { isPlaceless, type Right } from '../../domain/permissions.ts'
import type { EntityType, Source } from './source.ts'

/** A right that the handler asks on something that is not among the rows of `on`. */
export interface FurtherNeed {
  readonly right: Right
  /** On what, as in 'the request that is found'. */
  readonly on: string
  /** Asked only in the case that `on` tells. */
  readonly optional?: boolean
  /** Asked only where the input does not name this row of `on`, whose own right is asked instead. */
  readonly unless?: string
  /** What it is asked on, where that is one resource or each of a list. */
  readonly entity?: EntityType
  /** The row of `on` at whose place it is asked. */
  readonly at?: string
}

/** What is asked where a guessable key leads to something: who holds nothing in its realm is told that it is unknown. */
export const elseUnknown = {
  right: 'ENTER_REALM',
  on: 'the realm of what is found, which else is unknown (404)',
  optional: true,
} as const satisfies FurtherNeed

interface Needy {
  readonly needs: 'NOTHING' | 'TOKEN' | Right | Readonly<Record<string, Right>>
}

/** The rights of `needs`, each with the name of its rows. */
export const rightsOf = ({ needs }: Needy): [string, Right][] => {
  if (needs === 'NOTHING' || needs === 'TOKEN') return []
  return typeof needs === 'string' ? [['target', needs]] : Object.entries(needs)
}

/** Every right that an operation may ask. */
export const declaredBy = (operation: Needy & { alsoNeeds: readonly FurtherNeed[] }): ReadonlySet<Right> =>
  new Set([...rightsOf(operation).map(([, right]) => right), ...operation.alsoNeeds.map(({ right }) => right)])

/** Stops a declaration without a right, or with one that has no rows: it would never be asked. */
export const mustBeAsked = (
  signature: string,
  { needs, on }: { needs: Needy['needs'] | undefined; on: Readonly<Record<string, Source>> },
): void => {
  if (needs === undefined) throw new Error(`${signature} does not say what it needs.`)
  const lost = rightsOf({ needs }).find(([name, right]) => !(name in on) && !isPlaceless(right))
  if (lost) throw new Error(`${signature} needs ${lost[1]} on a ${lost[0]} that it does not have.`)
}
