// Batches with a result per item (contract 1.7).
import { apiErrors, Failure, type ApiError } from './failure.ts'

/** One failed item, as BatchItemError answers it. */
export interface ItemError {
  readonly id: string
  readonly index: number
  readonly apiError: ApiError
  readonly errorMessage: string
}

/** A batch of which no item was accepted: 409 when all items have a 409 code, else 422, with the first item's code. */
export class BatchRefused extends Failure {
  readonly status: 409 | 422

  constructor(errors: readonly ItemError[]) {
    const [first] = errors
    const fields = errors.map(({ id, apiError, errorMessage }) => ({
      field: id,
      message: `${apiError}: ${errorMessage}`,
    }))
    super(first?.apiError ?? 'INVALID_REQUEST', first?.errorMessage, fields)
    this.status = errors.every(({ apiError }) => apiErrors[apiError].status === 409) ? 409 : 422
  }
}

const errorOf = (error: unknown, id: string, index: number): ItemError => {
  if (!(error instanceof Failure)) throw error
  return { id, index, apiError: error.code, errorMessage: error.message }
}

/** What came of a batch. */
export interface SortedOut<T> {
  accepted: T[]
  errors: ItemError[]
}

type Tried<T> = { readonly value: T } | { readonly error: ItemError }

/** Tries one item; a refusal becomes an item error, anything else is thrown. */
export const tried =
  <T>(judge: (id: string) => T) =>
  (id: string, index: number): Tried<T> => {
    try {
      return { value: judge(id) }
    } catch (error) {
      return { error: errorOf(error, id, index) }
    }
  }

/** Parts what was accepted from what was refused. */
export const sorted = <T>(all: readonly Tried<T>[]): SortedOut<T> => ({
  accepted: all.flatMap(one => ('value' in one ? [one.value] : [])),
  errors: all.flatMap(one => ('error' in one ? [one.error] : [])),
})

/** Tries every item; a refusal becomes an item error, anything else is thrown. */
export const sortOut = <T>(ids: readonly string[], judge: (id: string) => T): SortedOut<T> =>
  sorted(ids.map(tried(judge)))
