// The patterns of end entity rules (contract 5.5): no back references, no look-around, matched in linear time.
import { RE2JS } from 're2js'

/** The most characters of a pattern. */
export const longestPattern = 256

/** Time grows with the steps of the compiled pattern: `(.{1,30}){1,30}` has 1,861 of them, a plain address some 600. */
const maxSteps = 1100

const maxKept = 1000
const kept = new Map<string, RE2JS>()

const compile = (pattern: string): RE2JS => {
  const known = kept.get(pattern)
  if (known) return known
  const made = RE2JS.compile(pattern)
  if (kept.size >= maxKept) kept.clear()
  kept.set(pattern, made)
  return made
}

/** Whether the text is a pattern that can be used. */
export const isPattern = (pattern: string): boolean => {
  if (Array.from(pattern).length > longestPattern) return false
  try {
    return compile(pattern).programSize() <= maxSteps
  } catch {
    return false
  }
}

/** Whether the pattern matches the whole value. */
export const matchesWhole = (pattern: string, value: string): boolean => compile(pattern).matches(value)
