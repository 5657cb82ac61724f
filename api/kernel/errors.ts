// How a failure becomes an answer (contract 1.7): one place, decided by code and type, never by message text.
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { BatchRefused } from '../../domain/batch.ts'
import { apiErrors, Failure, type ApiError, type FieldError } from '../../domain/failure.ts'
import { isLostRace, isUnavailable } from '../../storage/faults.ts'
import { lookAt, lookYielding, maxFaults, type Fault, type Seen } from './raw.ts'

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

/** The body ApiExceptionResponse of a failure: 20 members at fault at most, but each item of a batch (contract 1.2, 1.7). */
export const bodyOf = (failure: Failure) => {
  const { code, message, fieldErrors } = failure
  const told = failure instanceof BatchRefused ? fieldErrors : fieldErrors.slice(0, maxFaults)
  return { apiError: code, errorMessage: message, ...(told.length > 0 && { fieldErrors: told }) }
}

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
  if (unit === undefined) return `must be ${word} ${String(limit)}`
  return `must have ${word} ${String(limit)} ${Number(limit) === 1 ? unit.replace(/s$/, '') : unit}`
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

/** The same of a parameter, which is a list only when it is given several times. */
const parameterSentence: z.core.$ZodErrorMap = issue =>
  Array.isArray(issue.input) && issue.code !== 'too_big' && issue.code !== 'too_small'
    ? 'must be given once'
    : sentence(issue)

const isTooLong = ({ tooLong = false, issue }: Fault): boolean =>
  tooLong || (issue?.code === 'too_big' && issue.origin === 'array')

const isMalformedId = ({ issue }: Fault): boolean => issue?.code === 'invalid_format' && issue.format === 'guid'

const codeOf = (faults: readonly Fault[]): ApiError => {
  if (faults.some(isTooLong)) return 'REQUEST_TOO_LARGE'
  return faults.every(isMalformedId) ? 'INVALID_IDENTIFIER' : 'INVALID_REQUEST'
}

const fieldOf = ({ path }: Fault): string => path.map(String).join('.')

const refuse = (all: readonly Fault[]): never => {
  const whole = all.find(({ path, issue }) => path.length === 0 && issue?.code === 'invalid_type')
  if (whole) throw new Failure('INVALID_JSON', `The body ${whole.message}.`)
  const faults = all.slice(0, maxFaults)
  const fieldErrors: FieldError[] = faults.map(fault => ({ field: fieldOf(fault) || 'body', message: fault.message }))
  const message = `The request is not valid: ${fieldErrors.map(error => `${error.field} ${error.message}`).join('; ')}.`
  throw new Failure(codeOf(faults), message.slice(0, 1000), fieldErrors)
}

const faultOf = (issue: z.core.$ZodIssue): Fault => ({ path: issue.path, message: issue.message, issue })

const faultless = ({ input, faults }: Seen): unknown => (faults.length > 0 ? refuse(faults) : input)

const decoded = <S extends z.ZodType>(schema: S, input: unknown, error: z.core.$ZodErrorMap): z.output<S> => {
  const result = z.safeDecode(schema, input as z.input<S>, { error })
  return result.success ? result.data : refuse(result.error.issues.map(faultOf))
}

/** Reads parameters of a path or a query, or fails with 400 and one entry a parameter at fault. */
export const readParameters = <S extends z.ZodType>(schema: S, given: unknown): z.output<S> =>
  decoded(schema, faultless(lookAt(schema, given, parameterSentence)), parameterSentence)

/** Reads a body as `readParameters` does, 20 entries at most; others are served between its steps. */
export const readMembers = async <S extends z.ZodType>(schema: S, given: unknown): Promise<z.output<S>> => {
  const input = faultless(await lookYielding(schema, given, sentence))
  await setImmediate()
  const value = decoded(schema, input, sentence)
  await setImmediate()
  return value
}

/** The member behind a unique index, which is named `<table>_<column>`. */
const takenField = ({ table = '', constraint = '' }: { table?: string; constraint?: string }): string | undefined => {
  if (!constraint.startsWith(`${table}_`) || constraint.endsWith('_pkey')) return undefined
  const column = constraint.slice(table.length + 1).replace(/_unique$/, '')
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

const alreadyExists = (error: Error): Failure => {
  const field = takenField(error as { table?: string; constraint?: string })
  if (field === undefined) return new Failure('ALREADY_EXISTS')
  return new Failure('ALREADY_EXISTS', `${field} is taken.`, [{ field, message: 'is taken' }])
}

const storageFailures: Readonly<Record<string, (error: Error) => Failure>> = {
  OptimisticLockError: () => new Failure('VERSION_CONFLICT'),
  UniqueConstraintViolationException: alreadyExists,
}

/** Whether two writers met at one row; the whole operation may be tried again. */
export const isCollision = (error: unknown): boolean =>
  isLostRace(error) || (error instanceof Error && error.name === 'OptimisticLockError')

const outOfReach = (cause: unknown): Failure => {
  const failure = new Failure('SERVICE_UNAVAILABLE', 'The database cannot be used now.')
  failure.cause = cause
  return failure
}

/** The failure that an error stands for, or undefined for the unexpected. */
export const failureOf = (error: unknown): Failure | undefined => {
  if (error instanceof Failure) return error
  if (isUnavailable(error) || isLostRace(error)) return outOfReach(error)
  return error instanceof Error ? storageFailures[error.name]?.(error) : undefined
}
