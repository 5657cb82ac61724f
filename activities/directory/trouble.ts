// What can go wrong at the identity provider, in words for whoever asked: never its address, never a secret.
import { Failure } from '../../domain/failure.ts'

/** A failure of the identity provider. */
export class DirectoryTrouble extends Failure {
  /** Whether it surely did not write anything. */
  readonly untouched: boolean

  constructor(message: string, untouched: boolean) {
    super('IDENTITY_PROVIDER_ERROR', message)
    this.untouched = untouched
  }
}

/** The client of the worker is missing in its configuration. */
export const notConfigured = (): DirectoryTrouble =>
  new DirectoryTrouble(
    'The worker cannot write to the identity provider: DIRECTORY_URL, DIRECTORY_CLIENT_ID and DIRECTORY_CLIENT_SECRET are not set.',
    true,
  )

/** There is no client with that id. */
export const noSuchClient = (providerId: string): DirectoryTrouble =>
  new DirectoryTrouble(`The identity provider has no client ${providerId}.`, true)

/** Somebody else's client has that id. */
export const foreignClient = (providerId: string): DirectoryTrouble =>
  new DirectoryTrouble(`The identity provider has another client ${providerId} already.`, true)

/** There is no user with that subject. */
export const noSuchUser = (subject: string): DirectoryTrouble =>
  new DirectoryTrouble(`The identity provider has no user ${subject}.`, true)

/** Somebody else has that address. */
export const takenAddress = (): Failure =>
  new Failure('ALREADY_EXISTS', 'email is taken at the identity provider.', [{ field: 'email', message: 'is taken' }])

/** Codes of connections that were never made. */
const neverReached = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]

/** The code of an error or of one that caused it, as `fetch` tells them. */
const codeOf = (error: unknown): string | undefined => {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : codeOf(cause)
}

const ofStatus = (status: number): DirectoryTrouble => {
  if (status === 401 || status === 403)
    return new DirectoryTrouble(
      `The identity provider does not let the worker manage clients and users (${status}): the service account of DIRECTORY_CLIENT_ID needs the roles manage-clients, manage-users and view-realm of realm-management.`,
      true,
    )
  return new DirectoryTrouble(`The identity provider failed (${status}).`, status < 500)
}

/** What an error of a request comes to. */
export const troubleOf = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  const { response } = error as { response?: { status?: number } }
  if (response?.status !== undefined) return ofStatus(response.status)
  const code = codeOf(error)
  if (code !== undefined && neverReached.includes(code))
    return new DirectoryTrouble(`The identity provider cannot be reached (${code}).`, true)
  return new DirectoryTrouble('The identity provider gave no answer that can be used.', false)
}

/** Whether a connection was made and broke. */
export const isBroken = (error: unknown): boolean => {
  const trouble = troubleOf(error)
  return trouble instanceof DirectoryTrouble && !trouble.untouched
}

/** The same of the login before a request: nothing was asked to be written yet. */
export const loginTroubleOf = (error: unknown): DirectoryTrouble => {
  const { response } = error as { response?: { status?: number } }
  if (response?.status === 400 || response?.status === 401)
    return new DirectoryTrouble(
      `The identity provider refuses the login of the worker (${response.status}): DIRECTORY_CLIENT_ID and DIRECTORY_CLIENT_SECRET.`,
      true,
    )
  return new DirectoryTrouble(troubleOf(error).message, true)
}
