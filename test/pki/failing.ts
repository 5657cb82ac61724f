// What a refused call threw.
import { Failure } from '../../domain/failure.ts'

/** The code of the Failure that the call throws; a call that succeeds is an error. */
export const failureCode = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (error instanceof Failure) return error.code
    throw error
  }
  throw new Error('The call succeeded')
}
