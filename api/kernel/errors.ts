// How a failure becomes an answer (contract 1.7): one place, decided by code and type, never by message text.
import { z } from 'zod'
import { apiErrors, Failure, type ApiError, type FieldError } from '../../domain/failure.ts'

/** What an operation may answer instead when the natural status is not in its row. */
const fallbacks: Readonly<Record<number, readonly number[]>> = {
  409: [422, 400],
  404: [422, 400],
  422: [400],
  415: [400],
  502: [422, 500],
}

/** What every operation may answer, whether its row lists it or not (contract 1.2, 1.7). */
const everywhere: ReadonlySet<number> = new Set([401, 405, 429, 503])

/** The status of a code at an operation that answers these statuses; without any, the natural one. */
export const statusOf = (code: ApiError, answers?: ReadonlySet<number>): number => {
  const natural = apiErrors[code].status
  if (!answers || everywhere.has(natural) || answers.has(natural)) return natural
  return fallbacks[natural]?.find(status => answers.has(status)) ?? natural
}

/** The body ApiExceptionResponse of a failure. */
export const bodyOf = ({ code, message, fieldErrors }: Failure) => ({
  apiError: code,
  errorMessage: message,
  ...(fieldErrors.length > 0 && { fieldErrors }),
})

type Issue = z.core.$ZodRawIssue | z.core.$ZodIssue

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}
const formats: Readonly<Record<string, string>> = {
  guid: 'a UUID',
  datetime: 'a date and time with an offset, such as 2031-01-31T10:15:30.000Z',
  date: 'a date, such as 2031-01-31',
  email: 'an e-mail address',
}
const units: Readonly<Record<string, string>> = { string: 'characters', array: 'items' }

const bound = (issue: Issue, word: string, limit: unknown): string => {
  const unit = units[String((issue as { origin?: string }).origin)]
  return unit === undefined ? `must be ${word} ${String(limit)}` : `must have ${word} ${String(limit)} ${unit}`
}

const sentences: Readonly<Record<string, (issue: Issue & Record<string, unknown>) => string>> = {
  invalid_type: issue =>
    issue.input === undefined
      ? 'is required'
      : `must be ${kinds[String(issue['expected'])] ?? String(issue['expected'])}`,
  invalid_value: issue =>
    issue.input === undefined ? 'is required' : `must be one of ${(issue['values'] as unknown[]).join(', ')}`,
  invalid_format: issue => `must be ${formats[String(issue['format'])] ?? 'of the right form'}`,
  too_small: issue => bound(issue, 'at least', issue['minimum']),
  too_big: issue => bound(issue, 'at most', issue['maximum']),
}

/** Says in a plain sentence what is wrong with a member; a schema's own message wins. */
const sentence: z.core.$ZodErrorMap = issue => sentences[issue.code]?.(issue) ?? 'does not have the right form'

const codeOf = (issues: readonly z.core.$ZodIssue[]): ApiError => {
  const tooLong = issues.some(issue => issue.code === 'too_big' && issue.origin === 'array')
  if (tooLong) return 'REQUEST_TOO_LARGE'
  const onlyIds = issues.every(issue => issue.code === 'invalid_format' && issue.format === 'guid')
  return onlyIds ? 'INVALID_IDENTIFIER' : 'INVALID_REQUEST'
}

const pathOf = (issue: z.core.$ZodIssue): string => issue.path.map(String).join('.')

/** Reads input with a schema, or fails with 400 and one entry a member at fault. */
export const read = <S extends z.ZodType>(schema: S, input: unknown): z.output<S> => {
  const result = z.safeDecode(schema, input as z.input<S>, { error: sentence })
  if (result.success) return result.data
  const { issues } = result.error
  if (issues.some(issue => issue.path.length === 0 && issue.code === 'invalid_type')) throw new Failure('INVALID_JSON')
  const fieldErrors: FieldError[] = issues.map(issue => ({ field: pathOf(issue), message: issue.message }))
  const message = `The request is not valid: ${fieldErrors.map(error => `${error.field} ${error.message}`).join('; ')}.`
  throw new Failure(codeOf(issues), message.slice(0, 1000), fieldErrors.slice(0, 100))
}

const storageFailures: Readonly<Record<string, ApiError>> = {
  OptimisticLockError: 'VERSION_CONFLICT',
  UniqueConstraintViolationException: 'ALREADY_EXISTS',
}

/** Whether two writers met at one row; the whole operation may be tried again. */
export const isCollision = (error: unknown): boolean => error instanceof Error && error.name === 'OptimisticLockError'

/** The member that a unique index of the database is about: externalId for end_entity_external_id. */
const takenField = ({ table, constraint }: { table?: string; constraint?: string }): string | undefined => {
  if (!table || !constraint?.startsWith(`${table}_`) || constraint.endsWith('_pkey')) return undefined
  return constraint.slice(table.length + 1).replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

const conflictOf = (code: ApiError, error: Error): Failure => {
  const field = code === 'ALREADY_EXISTS' ? takenField(error as object) : undefined
  return field ? new Failure(code, `${field} is taken.`, [{ field, message: 'is taken' }]) : new Failure(code)
}

/** The failure that an error stands for, or undefined for the unexpected. */
export const failureOf = (error: unknown): Failure | undefined => {
  if (error instanceof Failure) return error
  const code = error instanceof Error ? storageFailures[error.name] : undefined
  return code && conflictOf(code, error as Error)
}
