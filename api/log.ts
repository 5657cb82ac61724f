// How the API logs errors: whole, but without what a statement or a row held.
import { pino, stdSerializers, type DestinationStream, type Logger } from 'pino'

interface DriverError extends Error {
  readonly routine?: string
  readonly code?: string
  readonly table?: string
  readonly constraint?: string
}

const isOfDatabase = (error: DriverError): boolean => typeof error.routine === 'string'

const frames = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter(line => /^\s+at /.test(line))
    .join('\n')

/** PostgreSQL repeats statements and values in its messages, and values may be secret. */
const serialize = (error: DriverError): object => {
  if (!(error instanceof Error) || !isOfDatabase(error)) return stdSerializers.err(error)
  const { name, code, table, constraint } = error
  return { type: name, code, table, constraint, stack: frames(error) }
}

/** Makes the log of a process. */
export const createLog = (level: string, destination?: DestinationStream): Logger => {
  const options = { level, base: { process: 'api' }, serializers: { err: serialize } }
  return destination ? pino(options, destination) : pino(options)
}
