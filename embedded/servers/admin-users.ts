// The users and realm roles in the admin API of the embedded identity provider.
import { membersOf, pageOf, refusal, type AdminApi, type Answer, type Call, type Members } from './admin-call.ts'
import type { IdentityUser, UserData, UserFilter } from './identity-users.ts'

const noUser: Answer = { status: 404, body: { error: 'User not found' } }
const noRole: Answer = { status: 404, body: { error: 'Role not found' } }

/** How long a link counts unless a call says so: twelve hours, as in Keycloak. */
const linkSeconds = 43_200

const representationOf = ({ id, username, email, firstName, lastName, enabled, attributes }: IdentityUser) => ({
  id,
  username,
  ...(firstName !== null && { firstName }),
  ...(lastName !== null && { lastName }),
  ...(email !== null && { email }),
  emailVerified: false,
  enabled,
  ...(Object.keys(attributes).length > 0 && { attributes }),
})

const textOf = (value: unknown, before: string | null): string | null => (typeof value === 'string' ? value : before)

/** A user after a change: members that are absent stay. */
const dataOf = (body: Members, before?: IdentityUser): UserData => ({
  username: textOf(body['username'], before?.username ?? null) ?? '',
  email: textOf(body['email'], before?.email ?? null),
  firstName: textOf(body['firstName'], before?.firstName ?? null),
  lastName: textOf(body['lastName'], before?.lastName ?? null),
  enabled: typeof body['enabled'] === 'boolean' ? body['enabled'] : (before?.enabled ?? true),
  attributes: (body['attributes'] as UserData['attributes'] | undefined) ?? before?.attributes ?? {},
})

/** `q=key:value key2:value2` as attributes. */
const attributesIn = (q: string | null): UserFilter['attributes'] =>
  q === null
    ? undefined
    : Object.fromEntries(
        q.split(' ').map(part => [part.slice(0, part.indexOf(':')), [part.slice(part.indexOf(':') + 1)]]),
      )

const filterOf = ({ query }: Call): UserFilter => ({
  username: query.get('username') ?? undefined,
  email: query.get('email') ?? undefined,
  exact: query.get('exact') === 'true',
  search: query.get('search') ?? undefined,
  attributes: attributesIn(query.get('q')),
})

const list = async ({ store }: AdminApi, call: Call): Promise<Answer> => ({
  status: 200,
  body: (await store.listUsers(filterOf(call), ...pageOf(call))).map(representationOf),
})

const create = async ({ store }: AdminApi, call: Call): Promise<Answer> => {
  const data = dataOf(membersOf(call))
  if (data.username === '') return refusal(400, 'User name is missing')
  const made = await store.insertUser(data)
  if (made) return { status: 201, location: `${call.here}/${made.id}` }
  return refusal(409, `User exists with same ${(await store.findUserByName(data.username)) ? 'username' : 'email'}`)
}

/** The roles that a call names; undefined when one of them does not exist. */
const rolesIn = async ({ store }: AdminApi, { body }: Call): Promise<string[] | undefined> => {
  const known = new Set((await store.listRoles()).map(({ id }) => id))
  const ids = (Array.isArray(body) ? (body as Members[]) : []).map(({ id }) => String(id))
  return ids.every(id => known.has(id)) ? ids : undefined
}

const mailActions = async (api: AdminApi, user: IdentityUser, { query }: Call): Promise<Answer> => {
  const { id, email, enabled } = user
  if (email === null) return refusal(400, 'User email missing')
  if (!enabled) return refusal(400, 'User is disabled')
  try {
    await api.mailPasswordLink({ id, email }, Number(query.get('lifespan') ?? linkSeconds))
    return { status: 204 }
  } catch {
    return refusal(500, 'Failed to send execute actions email')
  }
}

type OfUser = (api: AdminApi, user: IdentityUser, call: Call) => Promise<Answer>

const toldRoles: OfUser = async ({ store }, { id }) => ({ status: 200, body: await store.rolesOf(id) })

/** Method and part → answer. */
const ofUser: Readonly<Record<string, OfUser>> = {
  'GET ': async (_, user) => ({ status: 200, body: representationOf(user) }),
  'PUT ': async ({ store }, user, call) => {
    await store.updateUser(user.id, dataOf(membersOf(call), user))
    return { status: 204 }
  },
  'DELETE ': async ({ store }, { id }) => {
    await store.removeUser(id)
    return { status: 204 }
  },
  'PUT execute-actions-email': mailActions,
  'GET role-mappings/realm': toldRoles,
  'GET role-mappings/realm/composite': toldRoles,
  'POST role-mappings/realm': async (api, { id }, call) => {
    const roles = await rolesIn(api, call)
    if (roles) await api.store.giveRoles(id, roles)
    return roles ? { status: 204 } : noRole
  },
  'DELETE role-mappings/realm': async (api, { id }, call) => {
    const roles = await rolesIn(api, call)
    if (roles) await api.store.takeRoles(id, roles)
    return roles ? { status: 204 } : noRole
  },
}

/** Answers a call below `/users`. */
export const answerUsers = async (api: AdminApi, call: Call): Promise<Answer> => {
  const { method, parts } = call
  const [id, ...rest] = parts
  if (id === undefined) {
    if (method === 'GET') return list(api, call)
    return method === 'POST' ? create(api, call) : { status: 405 }
  }
  if (id === 'count' && method === 'GET') return { status: 200, body: await api.store.countUsers() }
  const user = await api.store.findUser(id)
  if (!user) return noUser
  return (await ofUser[`${method} ${rest.join('/')}`]?.(api, user, call)) ?? { status: 405 }
}

const createRole = async ({ store }: AdminApi, call: Call): Promise<Answer> => {
  const { name, description } = membersOf(call)
  if (typeof name !== 'string' || name === '') return refusal(400, 'Role name is missing')
  const made = await store.insertRole(name, typeof description === 'string' ? description : null)
  if (!made) return refusal(409, `Role with name ${name} already exists`)
  return { status: 201, location: `${call.here}/${encodeURIComponent(name)}` }
}

/** Answers a call below `/roles`. */
export const answerRoles = async (api: AdminApi, call: Call): Promise<Answer> => {
  const { store } = api
  const [name, part = ''] = call.parts
  const all = await store.listRoles()
  if (name === undefined) {
    if (call.method === 'GET') return { status: 200, body: all }
    return call.method === 'POST' ? createRole(api, call) : { status: 405 }
  }
  const role = all.find(one => one.name === name)
  if (!role) return { status: 404, body: { error: 'Could not find role' } }
  if (call.method === 'DELETE' && part === '') {
    await store.removeRole(name)
    return { status: 204 }
  }
  if (call.method !== 'GET') return { status: 405 }
  if (part === '') return { status: 200, body: role }
  if (part !== 'users') return { status: 404, body: { error: 'HTTP 404 Not Found' } }
  return { status: 200, body: (await store.usersWith(name, ...pageOf(call))).map(representationOf) }
}
