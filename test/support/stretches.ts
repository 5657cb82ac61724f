// How long this thread works without turning to anybody else, which is what a caller of /health/live waits for: in processor
// time of the thread, as a calm reference machine would need it. Its garbage collections count, since callers wait for them.

/** What the reference machine needs for the yardstick: a calm one of two cores at about 3 GHz. */
const referenceMs = 20

/** The unit of work: as long as a large body, read by the engine as such a body is. */
const yardstick = `"${'\\u000a'.repeat(1_747_000)}"`

const spent = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.threadCpuUsage(since)
  return (user + system) / 1000
}

const best = (times: number, measure: () => number): number => Math.min(...Array.from({ length: times }, measure))

/** What this machine needs for the yardstick just now: the best of a few, since whatever disturbs only adds. */
export const unitNow = (): number =>
  best(3, () => {
    const before = process.threadCpuUsage()
    JSON.parse(yardstick)
    return spent(before)
  })

/** Notes the longest stretch of work between two turns of the event loop until it is asked for, in milliseconds of this thread. */
export const stretches = (): (() => number) => {
  let longest = 0
  let before = process.threadCpuUsage()
  const turn = (): void => {
    longest = Math.max(longest, spent(before))
    before = process.threadCpuUsage()
  }
  const timer = setInterval(turn, 1)
  return () => {
    clearInterval(timer)
    turn()
    return longest
  }
}

/** Milliseconds of this thread as the reference machine would need them. */
export const asReference = (ms: number, unit: number): number => (ms / unit) * referenceMs

const attempts = 5

/**
 * The longest stretch of a work as the reference machine would need it. One that is beyond the limit is measured again, a few
 * times, each time with the yardstick beside it, and the best counts: steal, throttling and cold caches only add, and they
 * come and go, while work that is too long is so each time. What the work answers is not tried again: the caller judges it.
 */
export const longestStretch = async (work: () => Promise<number>, limit: number, unit: number): Promise<number> => {
  let least = asReference(await work(), unit)
  for (let made = 1; made < attempts && least > limit; made += 1)
    least = Math.min(least, asReference(await work(), unitNow()))
  return least
}

const workOnce = (work: () => void, limit: number): number => {
  const before = process.threadCpuUsage()
  work()
  const ms = spent(before)
  return ms > limit ? asReference(ms, unitNow()) : ms
}

/** The same of a work that never turns to anybody else: milliseconds of this thread, of the reference machine where beyond the limit. */
export const leastWork = (work: () => void, limit: number): number => {
  let least = workOnce(work, limit)
  for (let made = 1; made < attempts && least > limit; made += 1) least = Math.min(least, workOnce(work, limit))
  return least
}
