// How lists are asked for and answered (contract 1.3).

/** One criterion of an order. */
export interface Sort {
  readonly property: string
  readonly descending: boolean
}

/** Which part of a list is wanted: a zero-based page, its size, its order (empty: newest first). */
export interface PageRequest {
  readonly page: number
  readonly size: number
  readonly sort: readonly Sort[]
}

/** One page of a list. */
export interface Page<T> {
  readonly content: T[]
  readonly totalElements: number
  readonly totalPages: number
  readonly number: number
  readonly size: number
  readonly numberOfElements: number
  readonly first: boolean
  readonly last: boolean
  readonly empty: boolean
}

/** Makes the page that holds this content. */
export const pageOf = <T>(content: T[], totalElements: number, { page, size }: PageRequest): Page<T> => {
  const totalPages = Math.ceil(totalElements / size)
  return {
    content,
    totalElements,
    totalPages,
    number: page,
    size,
    numberOfElements: content.length,
    first: page === 0,
    last: page >= totalPages - 1,
    empty: content.length === 0,
  }
}
