// Mutated messages given to a reader: each is read or refused as it declares, within a bound of time.
import * as fc from 'fast-check'
import { DerError } from '../../pki/asn1/der-reader.ts'
import { mutate, mutateValue, mutation, type ValueChange, valueMutation } from './mutations.ts'
import type { FuzzSubject } from './fuzz-subjects.ts'

/**
 * No reader may take longer over any message of some kilobytes: milliseconds of processor time of its thread. What passes on
 * the clock says as much of the others on the machine: a message that takes 3 ms took 114 three times in a row.
 */
export const longestMs = 100

/** What came of many messages. */
export interface FuzzResult {
  readonly read: number
  readonly refused: number
  /** The longest that one took, in milliseconds, of the quickest of three tries where garbage was collected meanwhile. */
  readonly longest: number
}

/** A message that a reader cannot take; its octets make it again. */
export class FuzzFault extends Error {
  override readonly name = 'FuzzFault'
}

/** Messages of indefinite length have no values to change: their octets are. */
const mutateAny = (octets: Buffer, change: ValueChange): Buffer => {
  try {
    return mutateValue(octets, change)
  } catch (error) {
    if (error instanceof DerError) return change.changes.reduce(mutate, octets)
    throw error
  }
}

const half = fc.oneof(
  mutation.map(changes => (octets: Buffer) => changes.reduce(mutate, octets)),
  valueMutation.map(change => (octets: Buffer) => mutateAny(octets, change)),
)
const draws = fc.tuple(half, fc.nat(1000))

/** So many are drawn at once. */
const drawnAtOnce = 5000

type Outcome = 'read' | 'refused'

const outcomeOf = ({ read, isDeclared, name }: FuzzSubject, octets: Buffer): Outcome => {
  try {
    read(octets)
    return 'read'
  } catch (error) {
    if (isDeclared(error)) return 'refused'
    throw new FuzzFault(`${name} threw ${String(error)} over ${octets.toString('hex')}`, { cause: error })
  }
}

const processorMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const timed = (subject: FuzzSubject, octets: Buffer): { outcome: Outcome; ms: number } => {
  let ms = Infinity
  let outcome: Outcome = 'refused'
  for (let tries = 0; tries < 3 && ms > longestMs; tries += 1) {
    const begin = processorMs()
    outcome = outcomeOf(subject, octets)
    ms = Math.min(ms, processorMs() - begin)
  }
  if (ms > longestMs) throw new FuzzFault(`${subject.name} took ${ms} ms over ${octets.toString('hex')}`)
  return { outcome, ms }
}

/** Gives a reader so many mutated messages, drawn by a seed; FuzzFault. */
export const fuzz = (subject: FuzzSubject, count: number, seed: number): FuzzResult => {
  const { originals } = subject
  const total = { read: 0, refused: 0, longest: 0 }
  for (let done = 0; done < count; done += drawnAtOnce) {
    const numRuns = Math.min(drawnAtOnce, count - done)
    for (const [change, which] of fc.sample(draws, { numRuns, seed: seed + done })) {
      const { outcome, ms } = timed(subject, change(originals[which % originals.length] ?? Buffer.alloc(0)))
      total[outcome] += 1
      total.longest = Math.max(total.longest, ms)
    }
  }
  return total
}
