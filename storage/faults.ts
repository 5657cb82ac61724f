// Which errors of the database say that asking again cannot help.
import {
  ConstraintViolationException,
  DriverException,
  NotFoundError,
  UniqueConstraintViolationException,
} from '@mikro-orm/postgresql'

/** SQLSTATE class 22: values that PostgreSQL cannot take, such as a text that is no UUID. */
const isDataError = (error: unknown): boolean => error instanceof DriverException && String(error.code).startsWith('22')

/** Whether the same question gets the same refusal for ever: the row is not there, or the values are none. */
export const isHopeless = (error: unknown): boolean => error instanceof NotFoundError || isDataError(error)

/** Whether a constraint was broken: a race that one more attempt ends, or an error of ours that stays. */
export const isConflict = (error: unknown): boolean => error instanceof ConstraintViolationException

/** Whether a value that is unique is there already. */
export const isTaken = (error: unknown): boolean => error instanceof UniqueConstraintViolationException

/** Whether PostgreSQL ended one of two transactions that waited for each other, or met: the same again may succeed at once. */
export const isLostRace = (error: unknown): boolean =>
  error instanceof DriverException && ['40001', '40P01'].includes(String(error.code))

/**
 * SQLSTATE: the connection is gone, no disk, memory or connection is left, the server stops or starts, its disk fails; and
 * Node's codes for a server that nobody reaches.
 */
const unavailable = /^(08...|53...|57P0[123]|58...|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT)$/

/** What pg says, and gives no code, of a connection that ended before the answer was there. */
const connectionLost = /^(Connection terminated|Client has encountered a connection error|Client was closed)/

/** MikroORM hands on as they are the errors of pg that come when a transaction is committed. */
const isOfDatabase = (error: Error): boolean => error instanceof DriverException || 'severity' in error

/** Whether PostgreSQL cannot do now what it may do later. */
export const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: string }
  return code === undefined ? connectionLost.test(error.message) : isOfDatabase(error) && unavailable.test(code)
}
