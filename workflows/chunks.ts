// Batches go in chunks, a few chunks at a time: never a workflow or an activity per certificate.
import pLimit from 'p-limit'

const chunkSize = 250
const chunksAtOnce = 2

/** Cuts a list into chunks. */
export const chunksOf = <T>(list: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(list.length / chunkSize) }, (_, index) =>
    list.slice(index * chunkSize, (index + 1) * chunkSize),
  )

/**
 * Works on the items a few at a time and answers in their order. Which begins when is part of a run's history: the replay
 * tests tell whether another version of the library keeps to it.
 */
export const fewAtOnce = <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> =>
  pLimit(chunksAtOnce).map(items, work)
