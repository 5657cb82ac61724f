// When people are reminded that a certificate expires (contract 8).

const dayMs = 86_400_000

/** The certificates of which one interval reminds: their end lies behind `after` and not behind `until`. */
export interface ReminderWindow {
  /** The interval, in days. */
  readonly days: number
  readonly after: Date
  readonly until: Date
}

/**
 * Of which certificates each interval (`notification.expiry-days`, in days) reminds now, the nearest first. The windows do
 * not meet: a certificate that comes late is reminded of by the nearest interval alone, and not by those that it missed.
 */
export const reminderWindows = (intervals: readonly number[], now: Date): ReminderWindow[] => {
  const sorted = [...new Set(intervals)].toSorted((one, other) => one - other)
  const inDays = (days: number): Date => new Date(now.getTime() + days * dayMs)
  return sorted.map((days, index) => ({ days, after: inDays(sorted[index - 1] ?? 0), until: inDays(days) }))
}
