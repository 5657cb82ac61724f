// How findings are told: a line each with what to do, or JSON. No secret of the configuration is ever in them.
import type { Result } from './check.ts'

const marks = { OK: 'ok', WARNING: 'warning', FAILED: 'FAILED', SKIPPED: '-' } as const

/** What is shorter stands in any text. */
const shortestSecret = 4

/** Puts stars in the place of every secret. */
export const without =
  (secrets: readonly string[]) =>
  (text: string): string =>
    secrets
      .filter(({ length }) => length >= shortestSecret)
      .reduce((rest, secret) => rest.replaceAll(secret, '***'), text)

const lineOf = ({ check, verdict, text, advice }: Result): string =>
  [
    `${marks[verdict].padEnd(8)} ${check.padEnd(20)} ${text}`,
    ...(advice ? [`${' '.repeat(30)}-> ${advice}`] : []),
  ].join('\n')

const count = (results: readonly Result[], verdict: Result['verdict']): number =>
  results.filter(result => result.verdict === verdict).length

/** Whether nothing has failed. */
export const isWell = (results: readonly Result[]): boolean => count(results, 'FAILED') === 0

/** Lines for people. */
export const toldInLines = (results: readonly Result[]): string =>
  [
    ...results.map(lineOf),
    '',
    `${count(results, 'FAILED')} failed, ${count(results, 'WARNING')} warnings, ${count(results, 'OK')} ok`,
  ].join('\n')

/** The same for programs. */
export const toldInJson = (results: readonly Result[]): string =>
  JSON.stringify({ ok: isWell(results), checks: results }, null, 2)
