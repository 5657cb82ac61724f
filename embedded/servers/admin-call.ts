// One call of the admin REST API of the embedded identity provider, and what it is answered with.
import type { JWTVerifyGetKey } from 'jose'
import type { IdentityStore } from './identity-store.ts'

/** What a call is answered with. */
export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly location?: string
}

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

/** A call of the admin API. */
export interface Call {
  readonly method: string
  /** The path behind the realm and the collection: the id of a resource, and its parts. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
  /** An object, or a list. */
  readonly body: unknown
  /** The address of the collection. */
  readonly here: string
}

/** What the admin API is made of. */
export interface AdminApi {
  readonly store: IdentityStore
  readonly issuer: string
  readonly keys: JWTVerifyGetKey
  /** Mails a user a link that sets the password; throws when the mail cannot be sent. */
  readonly mailPasswordLink: (user: { readonly id: string; readonly email: string }, seconds: number) => Promise<void>
}

const mostListed = 100

/** The part of a list that a call asks for; Keycloak lists 100 unless more are asked for. */
export const pageOf = ({ query }: Call): readonly [first: number, max: number] => [
  Number(query.get('first') ?? 0),
  Math.min(Number(query.get('max') ?? mostListed), 1000),
]

/** The body as an object. */
export const membersOf = ({ body }: Call): Members => (Array.isArray(body) ? {} : (body as Members))

/** An error as Keycloak words those that are meant for people. */
export const refusal = (status: number, errorMessage: string): Answer => ({ status, body: { errorMessage } })
