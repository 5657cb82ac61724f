// The identity provider that the tests of the directory ask: the embedded one; or, when KEYCLOAK_URL names the address of a
// Keycloak before `/realms`, that one, in the realm KEYCLOAK_REALM, as the client KEYCLOAK_CLIENT_ID with the secret
// KEYCLOAK_CLIENT_SECRET. Its realm has a mail server, and its client the roles manage-clients, manage-users and view-realm.
import type { DirectorySettings } from '../../activities/directory/keycloak.ts'
import { directorySettings } from '../support/stack.ts'

const { KEYCLOAK_URL, KEYCLOAK_REALM, KEYCLOAK_CLIENT_ID, KEYCLOAK_CLIENT_SECRET } = process.env

/** How it is asked. */
export const settings: DirectorySettings = KEYCLOAK_URL
  ? {
      url: KEYCLOAK_URL.replace(/\/$/, ''),
      realm: KEYCLOAK_REALM ?? 'certwright',
      clientId: KEYCLOAK_CLIENT_ID ?? 'certwright-directory',
      clientSecret: KEYCLOAK_CLIENT_SECRET ?? '',
      audience: 'certwright',
    }
  : directorySettings()

/** The answer of the identity provider to a client that wants a token. */
export const tokenOf = async (clientId: string, clientSecret: string) => {
  const response = await fetch(`${settings.url}/realms/${settings.realm}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'openid',
    }),
  })
  const { access_token: token } = (await response.json()) as { access_token?: string }
  return { status: response.status, token }
}
/** Calls the admin API as the worker's client, unless another token is given. */
export const admin = async (
  method: string,
  path: string,
  { token, body }: { token?: string | undefined; body?: unknown } = {},
) => {
  const own = token ?? (await tokenOf(settings.clientId, settings.clientSecret)).token ?? ''
  const response = await fetch(`${settings.url}/admin/realms/${settings.realm}${path}`, {
    method,
    headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text ? JSON.parse(text) : null }
}
