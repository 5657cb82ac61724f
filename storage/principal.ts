// Users and API clients as the caller of an operation: found by what the token says, or made without any grant.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { record } from './audit.ts'
import { HeldGrants, type GrantRow } from './grant.ts'
import { takeKeyedLocks } from './lock.ts'
import { ApiClient } from './rows/api-client.ts'
import { DeletedClient } from './rows/deleted-client.ts'
import { User } from './rows/user.ts'
import { anyOf, statement } from './statement.ts'

/** What a valid token tells of its subject (contract 1.5). */
export type TokenFacts =
  | {
      readonly kind: 'USER'
      readonly subject: string
      readonly email?: string | null
      readonly firstName?: string | null
      readonly lastName?: string | null
      readonly name: string
    }
  | {
      readonly kind: 'API_CLIENT'
      readonly clientId: string
      /** When the token was made, where it says so. */
      readonly issuedDate?: Date
    }

/** The caller as the records know it. */
export interface KnownPrincipal {
  readonly id: string
  readonly type: 'USER' | 'API_CLIENT'
  readonly name: string
  readonly enabled: boolean
}

type UserRow = Pick<User, 'id' | 'email' | 'firstName' | 'lastName' | 'providerId' | 'enabled'>

const ofUser = (user: UserRow): KnownPrincipal => ({
  id: user.id,
  type: 'USER',
  name: user.email ?? ([user.firstName, user.lastName].filter(Boolean).join(' ') || user.providerId),
  enabled: user.enabled,
})

type ClientRow = Pick<ApiClient, 'id' | 'name' | 'enabled'>

const ofClient = ({ id, name, enabled }: ClientRow): KnownPrincipal => ({ id, type: 'API_CLIENT', name, enabled })

/** The user or API client with this id. */
export const principalById = async (em: EntityManager, id: string): Promise<KnownPrincipal | undefined> => {
  const user = await em.findOne(User, id)
  if (user) return ofUser(user)
  const client = await em.findOne(ApiClient, id)
  return client ? ofClient(client) : undefined
}

/** The principal behind this id as one who may still act, else ACCESS_DENIED or PRINCIPAL_DISABLED. */
export const actingPrincipal = async (em: EntityManager, id: string | null): Promise<KnownPrincipal> => {
  const known = id === null ? undefined : await principalById(em, id)
  if (!known) throw new Failure('ACCESS_DENIED')
  if (!known.enabled) throw new Failure('PRINCIPAL_DISABLED')
  return known
}

interface WithGrants {
  /** The global grants and those on the resources that were named; null where none were. */
  readonly held: GrantRow[] | null
}

const heldBy = (principal: string): string =>
  `case when $2::uuid[] is not null then (select coalesce(json_agg(g), '[]') from
     (select scope, resource_id, permissions from permission_grant
       where principal_id = ${principal} and (resource_id = ${principal} or resource_id = ${anyOf('$2::uuid[]')})) g) end`

const userOf = statement<UserRow & WithGrants>(
  `select u.id, u.email, u.first_name as "firstName", u.last_name as "lastName", u.provider_id as "providerId",
     u.enabled, ${heldBy('u.id')} as held from app_user u where u.provider_id = $1`,
)
const clientOf = statement<ClientRow & WithGrants>(
  `select c.id, c.name, c.enabled, ${heldBy('c.id')} as held from api_client c where c.provider_id = $1`,
)

const withGrants = (known: KnownPrincipal, { held }: WithGrants, resourceIds: readonly string[] = []) => ({
  ...known,
  held: held ? new HeldGrants(known.id, held, [known.id, ...resourceIds]) : undefined,
})

/** The caller with the grants that were asked for along with it. */
export interface FoundPrincipal extends KnownPrincipal {
  readonly held?: HeldGrants | undefined
}

const findPrincipal = async (
  em: EntityManager,
  facts: TokenFacts,
  resourceIds?: readonly string[],
): Promise<FoundPrincipal | undefined> => {
  if (facts.kind === 'USER') {
    const [user] = await userOf.all(em, [facts.subject, resourceIds ?? null])
    return user && withGrants(ofUser(user), user, resourceIds)
  }
  const [client] = await clientOf.all(em, [facts.clientId, resourceIds ?? null])
  return client && withGrants(ofClient(client), client, resourceIds)
}

/** How far the clock of the identity provider may be ahead of ours (contract 1.5). */
const toleranceMs = 60_000

/** A token that was made before its client was deleted must not bring it back; one that was made later may. */
const mustBeLater = async (em: EntityManager, facts: TokenFacts): Promise<void> => {
  if (facts.kind === 'USER') return
  const deleted = await em.findOne(DeletedClient, facts.clientId)
  if (!deleted) return
  const issued = facts.issuedDate?.getTime() ?? 0
  if (issued <= deleted.deletedDate.getTime() + toleranceMs)
    throw new Failure('AUTHENTICATION_FAILED', 'The API client of this token was deleted.')
}

/** The id of the API client that has a name. */
export const holderOfName = async (em: EntityManager, name: string): Promise<string | undefined> => {
  const sql = 'select id from api_client where comparable(name) = comparable(?)'
  const [row] = await em.execute<{ id: string }[]>(sql, [name])
  return row?.id
}

/** The name of an API client that nobody has named: its client id, unless another client has that name. */
const freeName = async (em: EntityManager, clientId: string): Promise<string> =>
  (await holderOfName(em, clientId)) === undefined ? clientId : `${clientId.slice(0, 218)} ${crypto.randomUUID()}`

/** Makes the record of an unknown subject unless another call was faster; it holds no grant. */
const createPrincipal = async (em: EntityManager, facts: TokenFacts): Promise<void> => {
  await em.transactional(async fork => {
    const key = facts.kind === 'USER' ? facts.subject : facts.clientId
    await takeKeyedLocks(fork, 'PRINCIPAL', [key])
    if (await findPrincipal(fork, facts)) return
    const made =
      facts.kind === 'USER'
        ? fork.create(User, {
            providerId: facts.subject,
            firstName: facts.firstName ?? null,
            lastName: facts.lastName ?? null,
            email: facts.email ?? null,
          })
        : fork.create(ApiClient, { providerId: facts.clientId, name: await freeName(fork, facts.clientId) })
    await fork.flush()
    record(fork, {
      type: 'ENTITY_CREATED',
      objectId: made.id,
      what: `${facts.kind === 'USER' ? 'User' : 'API client'} ${key} created`,
    })
  })
}

/**
 * Finds the principal of a token, or creates its record without any grant. Where resources are named (by their ids), its
 * global grants and those on them are read by the same statement.
 */
export const findOrCreatePrincipal = async (
  em: EntityManager,
  facts: TokenFacts,
  resourceIds?: readonly string[],
): Promise<FoundPrincipal> => {
  const known = await findPrincipal(em, facts, resourceIds)
  if (known) return known
  await mustBeLater(em, facts)
  await createPrincipal(em.fork(), facts)
  const made = await findPrincipal(em, facts, resourceIds)
  if (!made) throw new Error('The record of a principal vanished right after it was made.')
  return made
}
