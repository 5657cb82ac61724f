// The identity provider's clients and users: whether the worker may write them, asked as it asks, without writing.
import { failed, ok, skipped, type Check, type Finding } from '../check.ts'
import type { DoctorConfig } from '../config.ts'

const advice = 'Look at DIRECTORY_URL, DIRECTORY_REALM, DIRECTORY_CLIENT_ID and DIRECTORY_CLIENT_SECRET of the worker.'
const needed = ['manage-clients', 'manage-users', 'view-realm']
const roleAdvice = `Give the service account of DIRECTORY_CLIENT_ID the roles ${needed.join(', ')} of realm-management.`
const patienceMs = 30_000

const rolesIn = (token: string): readonly string[] => {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString() || '{}') as {
    resource_access?: Record<string, { roles?: string[] }>
  }
  return claims.resource_access?.['realm-management']?.roles ?? []
}

const look = async ({
  DIRECTORY_URL,
  DIRECTORY_REALM: realm,
  DIRECTORY_CLIENT_ID: clientId,
  DIRECTORY_CLIENT_SECRET: secret,
}: DoctorConfig): Promise<Finding> => {
  if (!DIRECTORY_URL || !secret) return skipped('DIRECTORY_URL or DIRECTORY_CLIENT_SECRET is not set')
  const url = DIRECTORY_URL.replace(/\/$/, '')
  const init = { signal: AbortSignal.timeout(patienceMs), redirect: 'error' as const }
  const login = await fetch(`${url}/realms/${realm}/protocol/openid-connect/token`, {
    ...init,
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret }),
  })
  if (!login.ok) return failed(`the login of ${clientId} is refused (${login.status})`, advice)
  const { access_token: token = '' } = (await login.json()) as { access_token?: string }
  const list = await fetch(`${url}/admin/realms/${realm}/clients?max=1`, {
    ...init,
    headers: { authorization: `Bearer ${token}` },
  })
  if (!list.ok) return failed(`${clientId} may not see the clients of realm ${realm} (${list.status})`, roleAdvice)
  const held = rolesIn(token)
  const lacking = needed.filter(role => !held.includes(role))
  if (lacking.length > 0) return failed(`${clientId} lacks ${lacking.join(', ')}`, roleAdvice)
  return ok(`${clientId} may write the clients and users of realm ${realm}`)
}

/** The check of the worker's access to the identity provider. */
export const directoryChecks = (config: DoctorConfig): readonly Check[] => [
  { name: 'identity provider, clients', advice, look: () => look(config) },
]
