// Users and API clients as the caller of an operation: found by what the token says, or made without any grant.
import type { EntityManager } from '@mikro-orm/postgresql'
import { record } from './audit.ts'
import { takeKeyedLocks } from './lock.ts'
import { ApiClient } from './rows/api-client.ts'
import { User } from './rows/user.ts'

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
  | { readonly kind: 'API_CLIENT'; readonly clientId: string }

/** The caller as the records know it. */
export interface KnownPrincipal {
  readonly id: string
  readonly type: 'USER' | 'API_CLIENT'
  readonly name: string
  readonly enabled: boolean
}

const ofUser = (user: User): KnownPrincipal => ({
  id: user.id,
  type: 'USER',
  name: user.email ?? ([user.firstName, user.lastName].filter(Boolean).join(' ') || user.providerId),
  enabled: user.enabled,
})

const ofClient = ({ id, name, enabled }: ApiClient): KnownPrincipal => ({ id, type: 'API_CLIENT', name, enabled })

/** The user or API client with this id. */
export const principalById = async (em: EntityManager, id: string): Promise<KnownPrincipal | undefined> => {
  const user = await em.findOne(User, id)
  if (user) return ofUser(user)
  const client = await em.findOne(ApiClient, id)
  return client ? ofClient(client) : undefined
}

const findPrincipal = async (em: EntityManager, facts: TokenFacts): Promise<KnownPrincipal | undefined> => {
  if (facts.kind === 'USER') {
    const user = await em.findOne(User, { providerId: facts.subject })
    return user ? ofUser(user) : undefined
  }
  const client = await em.findOne(ApiClient, { providerId: facts.clientId })
  return client ? ofClient(client) : undefined
}

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
        : fork.create(ApiClient, { providerId: facts.clientId, name: facts.clientId })
    await fork.flush()
    record(fork, {
      type: 'ENTITY_CREATED',
      objectId: made.id,
      what: `${facts.kind === 'USER' ? 'User' : 'API client'} ${key} created`,
    })
  })
}

/** Finds the principal of a token, or creates its record without any grant. */
export const findOrCreatePrincipal = async (em: EntityManager, facts: TokenFacts): Promise<KnownPrincipal> => {
  const known = await findPrincipal(em, facts)
  if (known) return known
  await createPrincipal(em.fork(), facts)
  const made = await findPrincipal(em, facts)
  if (!made) throw new Error('The record of a principal vanished right after it was made.')
  return made
}
