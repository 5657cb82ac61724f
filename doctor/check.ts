// What a check is, and how all are made: side by side, each within its time; what cannot be looked at says so.

/** How grave it is. */
export type Verdict = 'OK' | 'WARNING' | 'FAILED' | 'SKIPPED'

/** What a look found, and what to do about it. */
export interface Finding {
  readonly verdict: Verdict
  readonly text: string
  readonly advice?: string | undefined
}

/** One thing that is looked at. It changes nothing. */
export interface Check {
  readonly name: string
  /** The check without whose success this one makes no sense. */
  readonly after?: string
  readonly look: () => Promise<Finding>
  /** What to do when the look itself fails. */
  readonly advice: string
}

/** A finding under the name of its check. */
export interface Result extends Finding {
  readonly check: string
  readonly durationMs: number
}

/** All is well. */
export const ok = (text: string): Finding => ({ verdict: 'OK', text })
/** It works, and will not for long, or not as it should. */
export const warning = (text: string, advice: string): Finding => ({ verdict: 'WARNING', text, advice })
/** It does not work. */
export const failed = (text: string, advice: string): Finding => ({ verdict: 'FAILED', text, advice })
/** There is nothing to look at. */
export const skipped = (text: string): Finding => ({ verdict: 'SKIPPED', text })

/** What an error and its causes say, in one line. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : ` (${reasonOf(error.cause)})`
  return `${error.message}${cause}`.replace(/\s+/g, ' ').trim() || error.name
}

const within = async (look: () => Promise<Finding>, seconds: number): Promise<Finding> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer in ${seconds} s`)), seconds * 1000)
  try {
    return await Promise.race([look(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

const resultOf = async ({ name, look, advice }: Check, seconds: number): Promise<Result> => {
  const begin = performance.now()
  const finding = await within(look, seconds).catch((error: unknown) => failed(reasonOf(error), advice))
  return { check: name, ...finding, durationMs: Math.round(performance.now() - begin) }
}

/** Makes all checks and answers in their order. A check comes behind the one that it needs. */
export const examine = (checks: readonly Check[], seconds: number): Promise<Result[]> => {
  const begun = new Map<string, Promise<Result>>()
  const begin = async (check: Check): Promise<Result> => {
    const before = await begun.get(check.after ?? '')
    if (before === undefined || before.verdict === 'OK' || before.verdict === 'WARNING') return resultOf(check, seconds)
    return { check: check.name, ...skipped(`not looked at: see ${before.check}`), durationMs: 0 }
  }
  for (const check of checks) begun.set(check.name, begin(check))
  return Promise.all(begun.values())
}
