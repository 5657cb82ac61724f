// What the workflows of users ask of the identity provider, what they record, and how it is undone.
import { Context } from '@temporalio/activity'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import { findByIds } from '../../storage/by-ids.ts'
import { takeKeyedLocks } from '../../storage/lock.ts'
import { User } from '../../storage/rows/user.ts'
import { disableLeftover, notePasswordLogin, recordOfRegistration, storeUser } from '../../storage/users.ts'
import type { FailedMail, NewUser, PasswordLoginChange, PasswordMails } from '../../workflows/users.ts'
import type { Services } from '../services.ts'
import { DirectoryTrouble, noSuchUser } from './trouble.ts'
import { tellingUntouched } from './untouched.ts'
import type { NewDirectoryUser } from './users.ts'
import { writing } from './writing.ts'

const setPasswordLogin = async ({ orm, directory }: Services, userId: string, enabled: boolean): Promise<void> => {
  const user = await orm.em.fork().findOne(User, userId)
  if (!user) throw new Failure('USER_NOT_FOUND')
  if (!(await directory.users.setPasswordLogin(user.providerId, enabled))) throw noSuchUser(user.providerId)
}

/** Writing while somebody waits. */
export const userActivities = (services: Services) => ({
  /** Idempotency key: the registration, by which one that an earlier attempt made is found and completed. */
  makeDirectoryUser: (input: NewDirectoryUser): Promise<{ subject: string }> =>
    tellingUntouched(async () => ({ subject: await services.directory.users.make(input) })),
  /** Idempotency: none; a mail whose answer was lost goes once more. */
  mailNewUser: async ({ subject }: { readonly userId: string; readonly subject: string }): Promise<void> => {
    const [unsent] = await services.directory.users.sendUpdatePassword([subject])
    // The user is there already: that is to be undone.
    if (unsent) throw new DirectoryTrouble(unsent.reason, false)
  },
  /** Idempotency key: the user; the role is set or taken. */
  setDirectoryPasswordLogin: ({ userId, enabled }: Omit<PasswordLoginChange, 'principal'>): Promise<void> =>
    tellingUntouched(() => setPasswordLogin(services, userId, enabled)),
})

/** A registered user with the subject that the identity provider gave. */
export interface RegisteredOrder extends NewUser {
  readonly subject: string
}

/** Recording while somebody waits. */
export const userCommits = (services: Services) => ({
  /** Idempotency key: the registration, which is recorded once. Answers the id of the record. */
  recordNewUser: (order: RegisteredOrder): Promise<string> =>
    writing(services, { kind: 'USER', id: order.userId, principal: order.principal }, async (em, must) => {
      const known = await recordOfRegistration(em, order.userId)
      if (known) return known.id
      await must('CREATE_USER', [{}])
      return (await storeUser(em, order)).id
    }),
  /** Idempotency key: the user; what is recorded already is no change. */
  recordPasswordLogin: ({ userId: id, enabled, principal }: PasswordLoginChange): Promise<void> =>
    writing(services, { kind: 'USER', id, principal }, async (em, must) => {
      await must('UPDATE_USER', [{ PRINCIPAL: id }])
      const user = await em.findOne(User, id)
      if (!user) throw new Failure('USER_NOT_FOUND')
      await notePasswordLogin(em, user, enabled)
    }),
})

/** Reads when every transaction that was to write of the user has ended. */
const settled = <T>({ orm }: Services, userId: string, read: (em: EntityManager) => Promise<T>): Promise<T> =>
  orm.em.fork().transactional(async em => {
    await takeKeyedLocks(em, 'USER', [userId])
    return read(em)
  })

/** Undoing and ending, for as long as it takes. */
export const userRepairs = (services: Services) => ({
  /** Idempotency key: the registration; without a record the user goes. Answers the id of the record. */
  alignNewUser: async (user: Pick<NewUser, 'userId' | 'email'>): Promise<string | null> => {
    const { orm, directory } = services
    const record = await settled(services, user.userId, em => recordOfRegistration(em, user.userId))
    if (record) return record.id
    const subject = await directory.users.findMade(user)
    if (subject === undefined) return null
    await directory.users.remove(subject)
    await orm.em.fork().transactional(em => disableLeftover(em, subject))
    return null
  },
  /** Idempotency key: the user; the role becomes what the record says. Answers whether that is what was wanted. */
  alignPasswordLogin: async ({ userId, enabled }: Omit<PasswordLoginChange, 'principal'>): Promise<boolean> => {
    const user = await settled(services, userId, em => em.findOne(User, userId))
    if (!user) return false
    await services.directory.users.setPasswordLogin(user.providerId, user.passwordLoginEnabled)
    return user.passwordLoginEnabled === enabled
  },
})

/** So many mails are asked for between two heartbeats. */
const mailsTogether = 5

interface MailsDone {
  readonly tried: number
  readonly failed: readonly FailedMail[]
}

/** What an earlier attempt has done. */
const doneBefore = (): MailsDone =>
  (Context.current().info.heartbeatDetails as MailsDone | undefined) ?? { tried: 0, failed: [] }

/** Mails that the identity provider sends. */
export const userLetters = ({ orm, directory }: Services) => ({
  /** Idempotency key: the place in the list up to which mails were sent; those of a broken attempt behind it go again. */
  mailPasswordLinks: async ({ userIds }: PasswordMails): Promise<FailedMail[]> => {
    const users = new Map((await findByIds(orm.em.fork(), User, userIds)).map(user => [user.id, user.providerId]))
    let { tried, failed } = doneBefore()
    while (tried < userIds.length) {
      const part = userIds.slice(tried, tried + mailsTogether)
      const unsent = await directory.users.sendUpdatePassword(part.map(id => users.get(id) ?? ''))
      const reasons = new Map(unsent.map(({ subject, reason }) => [subject, reason]))
      const told = part.map(userId => ({ userId, reason: reasons.get(users.get(userId) ?? '') }))
      failed = [...failed, ...told.filter((one): one is FailedMail => one.reason !== undefined)]
      tried += part.length
      Context.current().heartbeat({ tried, failed } satisfies MailsDone)
    }
    return [...failed]
  },
})
