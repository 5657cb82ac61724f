// The types of claim.mjs, which is plain JavaScript because set-up runs before anything is installed.

/** A process, told from a later one with the same id. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start time in clock ticks (Linux; elsewhere empty). */
  readonly start: string
}

/** What a claim reads from a record, and what it does about another owner. */
export interface ClaimManner<R> {
  /** The owner that a record names; what is in the file may be no record at all. */
  readonly ownerOf: (record: R | undefined) => ProcessIdentity | undefined
  /** Another process owns the file and lives: wait for it, or throw. */
  readonly whileOwned: (owner: ProcessIdentity) => Promise<void> | void
  /** The owner is gone: tidy up what it left behind. */
  readonly beforeTakeover?: (record: R) => Promise<void>
}

/** The id of a process with its start time in clock ticks. */
export const identityOf: (pid: number) => ProcessIdentity

/** True while that very process runs; one that belongs to another user counts. */
export const isAlive: (identity: ProcessIdentity) => boolean

/** Claims a file by writing a record into it; waits, refuses or takes over as the manner says. */
export const claimFile: <R>(file: string, record: R, manner: ClaimManner<R>) => Promise<void>
