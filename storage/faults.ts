// Which errors of the database say that asking again cannot help.
import { ConstraintViolationException, DriverException, NotFoundError } from '@mikro-orm/postgresql'

/** SQLSTATE class 22: values that PostgreSQL cannot take, such as a text that is no UUID. */
const isDataError = (error: unknown): boolean => error instanceof DriverException && String(error.code).startsWith('22')

/** Whether the same question gets the same refusal for ever: the row is not there, or the values are none. */
export const isHopeless = (error: unknown): boolean => error instanceof NotFoundError || isDataError(error)

/** Whether a constraint was broken: a race that one more attempt ends, or an error of ours that stays. */
export const isConflict = (error: unknown): boolean => error instanceof ConstraintViolationException
