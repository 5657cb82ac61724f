// Users as they are written (contract 6.7, 12): registered, told by what they log in, and what their RA certificates say.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { record } from './audit.ts'
import { takeLocks } from './lock.ts'
import { User } from './rows/user.ts'
import { statement } from './statement.ts'

/** A registered user, as both sides know it. */
export interface RegisteredUser {
  /** The id of the registration, which is that of the record unless the user has logged in before it was recorded. */
  readonly userId: string
  /** The subject at the identity provider. */
  readonly subject: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string
  readonly passwordLogin: boolean
}

const holders = statement<{ id: string }>('select id from app_user where comparable(email) = comparable($1)')

const taken = (): Failure => new Failure('ALREADY_EXISTS', 'email is taken.', [{ field: 'email', message: 'is taken' }])

/** Refuses an address that another user has. */
export const mustBeFreeAddress = async (em: EntityManager, email: string, ownId?: string): Promise<void> => {
  const others = await holders.all(em, [email])
  if (others.some(({ id }) => id !== ownId)) throw taken()
}

/** The record of a registration; null when there is none. */
export const recordOfRegistration = async (em: EntityManager, userId: string): Promise<User | null> =>
  (await em.findOne(User, userId)) ?? em.findOne(User, { registrationId: userId })

/** How people call a user. */
export const nameOfUser = ({ email, providerId }: Pick<User, 'email' | 'providerId'>): string => email ?? providerId

/**
 * Stores a registered user; one who has logged in meanwhile has a record already, which is completed. Nobody else makes one
 * for the subject or takes the address until the transaction ends.
 */
export const storeUser = async (em: EntityManager, user: RegisteredUser): Promise<User> => {
  const { userId, subject: providerId, firstName, lastName, email, passwordLogin: passwordLoginEnabled } = user
  await takeLocks(em, { PRINCIPAL: [providerId], USER_ADDRESS: [email.toLowerCase()] })
  const known = await em.findOne(User, { providerId })
  await mustBeFreeAddress(em, email, known?.id)
  const members = { firstName, lastName, email, passwordLoginEnabled }
  const stored = known
    ? Object.assign(known, { ...members, registrationId: userId })
    : em.create(User, { id: userId, providerId, ...members })
  const type = known ? 'ENTITY_UPDATED' : 'ENTITY_CREATED'
  record(em, { type, objectId: stored.id, what: `User ${email} registered` })
  await em.flush()
  return stored
}

/** Disables the record that a login has made of a user whose registration came to nothing. */
export const disableLeftover = async (em: EntityManager, subject: string): Promise<void> => {
  await takeLocks(em, { PRINCIPAL: [subject] })
  const user = await em.findOne(User, { providerId: subject, enabled: true })
  if (!user) return
  user.enabled = false
  record(em, { type: 'ENTITY_UPDATED', objectId: user.id, what: `User ${nameOfUser(user)} disabled` })
  await em.flush()
}

/** Records whether a user may log in by password; what is so already is no change. */
export const notePasswordLogin = async (em: EntityManager, user: User, enabled: boolean): Promise<void> => {
  if (user.passwordLoginEnabled === enabled) return
  user.passwordLoginEnabled = enabled
  const verb = enabled ? 'allowed' : 'forbidden'
  record(em, {
    type: 'PASSWORD_LOGIN_CHANGED',
    objectId: user.id,
    what: `Password login of ${nameOfUser(user)} ${verb}`,
  })
  await em.flush()
}
