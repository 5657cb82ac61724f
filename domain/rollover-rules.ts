// The rollover of a provider's CA (contract 10.6): what is planned, and how the next generation is named.

/** A rollover that was asked for and is not done. */
export interface PlannedRollover {
  /** When the next CA takes over, ISO 8601; null: as soon as it is made. */
  readonly takeOverDate: string | null
  /** Whether a root is made as well; else the root of today issues the next CA. */
  readonly newRoot: boolean
  /** The members of the provider's settings that the next CA is made from, where they differ from those of today. */
  readonly members: Readonly<Record<string, unknown>>
}

const generationForm = / G(\d{1,6})$/

/** The most characters of a common name (RFC 5280 A.1, ub-common-name). */
const longestName = 64

/** The name of the generation after one: `X` is followed by `X G2`, that by `X G3`; no longer than a common name may be. */
export const nextGeneration = (commonName: string): string => {
  const [suffix = '', number] = generationForm.exec(commonName) ?? []
  const next = ` G${Number(number ?? 1) + 1}`
  const stem = Array.from(commonName.slice(0, commonName.length - suffix.length))
  return (
    stem
      .slice(0, longestName - next.length)
      .join('')
      .trimEnd() + next
  )
}

/** How long a run waits at most until it looks at the records again. */
export const longestWaitMs = 86_400_000
