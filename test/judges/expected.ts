// What the judges find in documents that are as they ought to be, each with its reason. A finding that is not listed fails,
// and so does one that is listed and does not appear.
import type { Made } from './matrix.ts'

/** A finding that is right as far as the judge goes, and no flaw. */
interface Expected {
  readonly finding: string
  /** In exactly these. */
  readonly in: (made: Made) => boolean
  readonly reason: string
}

export const expectedFindings: readonly Expected[] = []

/** The findings that are expected in a document, in their order. */
export const expectedIn = (made: Made): string[] =>
  expectedFindings
    .filter(({ in: isIn }) => isIn(made))
    .map(({ finding }) => finding)
    .toSorted()
