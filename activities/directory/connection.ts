// The way to the identity provider: the admin REST API of Keycloak, as the worker's own client.
import KeycloakAdminClient from '@keycloak/keycloak-admin-client'
import { isBroken, loginTroubleOf, notConfigured, troubleOf } from './trouble.ts'

/** How the worker reaches the identity provider as its administrator of clients. */
export interface DirectorySettings {
  /** The address before `/realms` and `/admin`. */
  readonly url: string
  readonly realm: string
  readonly clientId: string
  readonly clientSecret: string
  /** What the tokens of new clients are for, besides what the realm says; absent: nothing. */
  readonly audience?: string | undefined
}

/** The admin REST API, logged in. */
export type Admin = KeycloakAdminClient

/** One request may take so long; an activity makes at most four, and its attempt has 10 s. */
const patienceMs = 4000

/** What reads a page or sends several mails may take so long. */
export const longPatienceMs = 25_000

const connect = async ({ url, realm, clientId, clientSecret }: DirectorySettings, forMs: number): Promise<Admin> => {
  const requestOptions = { redirect: 'error' as const, signal: AbortSignal.timeout(forMs) }
  const admin = new KeycloakAdminClient({ baseUrl: url.replace(/\/$/, ''), realmName: realm, requestOptions })
  const login = () => admin.auth({ grantType: 'client_credentials', clientId, clientSecret })
  try {
    // A connection of before may have been closed meanwhile: a login does no harm, so it is tried anew.
    await login().catch((error: unknown) => (isBroken(error) ? login() : Promise.reject(error as Error)))
  } catch (error) {
    throw loginTroubleOf(error)
  }
  return admin
}

/** Asks the identity provider something, and says in our words what went wrong. */
export type Asking = <T>(ask: (admin: Admin, settings: DirectorySettings) => Promise<T>, forMs?: number) => Promise<T>

/** The way to this identity provider; without settings every call says what is missing. */
export const askingOf =
  (settings: DirectorySettings | undefined): Asking =>
  async (ask, forMs = 2 * patienceMs) => {
    if (!settings) throw notConfigured()
    try {
      return await ask(await connect(settings, forMs), settings)
    } catch (error) {
      throw troubleOf(error)
    }
  }

/** The status that a request was answered with. */
export const statusOf = (error: unknown): number | undefined =>
  (error as { response?: { status?: number } }).response?.status

/** So many requests are under way at a time. */
const together = 8

/** What an async function answers for each of these, a few at a time. */
export const forEach = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  for (let start = 0; start < items.length; start += together)
    results.push(...(await Promise.all(items.slice(start, start + together).map(work))))
  return results
}
