// Answers that are kept for a while: a burst of those who want to know costs one question.

interface Known<T> {
  readonly value: Promise<T>
  until: number
}

/** Answers what a key stands for, until it is forgotten. */
export interface Kept<T> {
  (key: string): Promise<T>
  readonly forget: (key: string) => void
}

/** Answers what a key stands for: one question for all who come before its answer, and so long after it. */
export const kept = <T>(ask: (key: string) => Promise<T>, milliseconds: number): Kept<T> => {
  const known = new Map<string, Known<T>>()
  const answer = (key: string): Promise<T> => {
    const present = known.get(key)
    if (present && present.until > performance.now()) return present.value
    const asked: Known<T> = { value: ask(key), until: Infinity }
    known.set(key, asked)
    asked.value.then(
      () => void (asked.until = performance.now() + milliseconds),
      () => known.delete(key),
    )
    return asked.value
  }
  return Object.assign(answer, { forget: (key: string) => void known.delete(key) })
}
