// The users of the identity provider, by the admin REST API of Keycloak.
import { forEach, longPatienceMs, statusOf, type Admin, type Asking } from './connection.ts'
import { DirectoryTrouble, noSuchUser, takenAddress, troubleOf } from './trouble.ts'

/** A user that is to be made. */
export interface NewDirectoryUser {
  readonly userId: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string
  readonly passwordLogin: boolean
}

/** A user as the identity provider knows it. */
export interface DirectoryUser {
  readonly subject: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly email: string | null
  readonly enabled: boolean
  /** Whether the role that forbids it is missing. */
  readonly passwordLogin: boolean
}

/** A part of a list. */
export interface UserPage {
  readonly users: readonly DirectoryUser[]
  /** Whether there may be more behind it. */
  readonly more: boolean
}

/** A mail that was not sent. */
export interface Unsent {
  readonly subject: string
  readonly reason: string
}

/** The users of the identity provider, by their subjects. */
export interface DirectoryUsers {
  /** Makes a user and answers the subject; one that an earlier attempt made is completed. */
  readonly make: (user: NewDirectoryUser) => Promise<string>
  /** The subject of the user that was made for this one. */
  readonly findMade: (user: Pick<NewDirectoryUser, 'userId' | 'email'>) => Promise<string | undefined>
  /** Lets a user log in by password or not, and answers whether there is one. */
  readonly setPasswordLogin: (subject: string, enabled: boolean) => Promise<boolean>
  /** Has the identity provider mail each of these a link to set a password; tries all. */
  readonly sendUpdatePassword: (subjects: readonly string[]) => Promise<readonly Unsent[]>
  /** A page of the users, in no order that lasts. */
  readonly list: (first: number, max: number) => Promise<UserPage>
  /** Those of these users that are surely not there. */
  readonly missing: (subjects: readonly string[]) => Promise<readonly string[]>
  /** Removes a user if there is one. */
  readonly remove: (subject: string) => Promise<void>
}

/** The realm role of those who may not log in by password. */
export const passwordLoginRole = 'disable_password_login'

/** Where a user keeps the id of the registration, in realms whose user profile allows such an attribute. */
const ownerAttribute = 'certwright.id'

type Representation = Awaited<ReturnType<Admin['users']['find']>>[number]

const longestWord = 40

/** A user name that people recognize and that holds the mark of its registration: realms keep it that drop attributes. */
const usernameOf = ({ userId, email }: Pick<NewDirectoryUser, 'userId' | 'email'>): string => {
  const [local = ''] = email.toLowerCase().split('@')
  const word = (local.match(/[a-z0-9]+/g) ?? []).join('-').slice(0, longestWord).replace(/-$/, '') || 'user'
  return `${word}-${userId.replaceAll('-', '').slice(0, 16)}`
}

const isOf = (user: Pick<NewDirectoryUser, 'userId' | 'email'>, { username, attributes }: Representation): boolean =>
  username === usernameOf(user) || [attributes?.[ownerAttribute]].flat().includes(user.userId)

const findMade = async (
  admin: Admin,
  user: Pick<NewDirectoryUser, 'userId' | 'email'>,
): Promise<Representation | undefined> => {
  const found = await admin.users.find({ email: user.email, exact: true })
  return found.find(one => isOf(user, one))
}

/** The role, which is made where it is missing. */
const role = async (admin: Admin): Promise<{ id: string; name: string }> => {
  const name = passwordLoginRole
  const find = () => admin.roles.findOneByName({ name })
  const create = () =>
    admin.roles.create({ name, description: 'May not log in by password' }).catch((error: unknown) => {
      // Another call was faster.
      if (statusOf(error) !== 409) throw error
    })
  const found = (await find()) ?? (await create().then(find))
  if (found?.id === undefined) throw new DirectoryTrouble(`The identity provider has no role ${name}.`, false)
  return { id: found.id, name }
}

const setPasswordLogin = async (admin: Admin, id: string, enabled: boolean): Promise<boolean> => {
  const wanted = { id, roles: [await role(admin)] }
  try {
    await (enabled ? admin.users.delRealmRoleMappings(wanted) : admin.users.addRealmRoleMappings(wanted))
    return true
  } catch (error) {
    if (statusOf(error) === 404) return false
    throw error
  }
}

const create = async (admin: Admin, user: NewDirectoryUser): Promise<string> => {
  const { userId, firstName, lastName, email } = user
  const members = { firstName, lastName, email, enabled: true, attributes: { [ownerAttribute]: [userId] } }
  try {
    return (await admin.users.create({ username: usernameOf(user), ...members })).id
  } catch (error) {
    if (statusOf(error) !== 409) throw error
    const there = await findMade(admin, user)
    if (there?.id === undefined) throw takenAddress()
    return there.id
  }
}

const make = async (admin: Admin, user: NewDirectoryUser): Promise<string> => {
  const subject = await create(admin, user)
  if (user.passwordLogin) return subject
  const isThere = await setPasswordLogin(admin, subject, false).catch((error: unknown) => {
    // The user is there already, whatever the refusal of the role says.
    throw new DirectoryTrouble(troubleOf(error).message, false)
  })
  if (!isThere) throw new DirectoryTrouble(noSuchUser(subject).message, false)
  return subject
}

/** Why a mail was not sent, without the words of the mail server. */
const reasonOf = (error: unknown): string => {
  const status = statusOf(error)
  if (status === 400) return 'The identity provider does not write to this user (400): disabled, or without an address.'
  if (status === 404) return 'The identity provider has no such user (404).'
  if (status === 500) return 'The identity provider could not send the mail (500).'
  return troubleOf(error).message
}

const send = async (admin: Admin, id: string): Promise<Unsent | undefined> => {
  try {
    await admin.users.executeActionsEmail({ id, actions: ['UPDATE_PASSWORD'] })
    return undefined
  } catch (error) {
    return { subject: id, reason: reasonOf(error) }
  }
}

const isPerson = ({ serviceAccountClientId, username }: Representation): boolean =>
  serviceAccountClientId === undefined && username?.startsWith('service-account-') !== true

const known = async (admin: Admin, user: Representation): Promise<DirectoryUser> => {
  const { id: subject = '', firstName, lastName, email, enabled } = user
  const roles = await admin.users.listCompositeRealmRoleMappings({ id: subject })
  return {
    subject,
    firstName: firstName?.trim() || null,
    lastName: lastName?.trim() || null,
    email: email?.trim() || null,
    enabled: enabled !== false,
    passwordLogin: !roles.some(({ name }) => name === passwordLoginRole),
  }
}

const list = async (admin: Admin, first: number, max: number): Promise<UserPage> => {
  const found = await admin.users.find({ first, max })
  return { users: await forEach(found.filter(isPerson), user => known(admin, user)), more: found.length > 0 }
}

const missing = async (admin: Admin, subjects: readonly string[]): Promise<string[]> => {
  const found = await forEach(subjects, id => admin.users.findOne({ id }))
  return subjects.filter((_, index) => !found[index])
}

const remove = async (admin: Admin, id: string): Promise<void> => {
  try {
    await admin.users.del({ id })
  } catch (error) {
    if (statusOf(error) !== 404) throw error
  }
}

/** The users of the identity provider. */
export const usersOf = (asking: Asking): DirectoryUsers => ({
  make: user => asking(admin => make(admin, user)),
  findMade: user => asking(async admin => (await findMade(admin, user))?.id),
  setPasswordLogin: (subject, enabled) => asking(admin => setPasswordLogin(admin, subject, enabled)),
  sendUpdatePassword: subjects =>
    asking(
      async admin => (await forEach(subjects, id => send(admin, id))).filter(one => one !== undefined),
      longPatienceMs,
    ),
  list: (first, max) => asking(admin => list(admin, first, max), longPatienceMs),
  missing: subjects => asking(admin => missing(admin, subjects), longPatienceMs),
  remove: subject => asking(admin => remove(admin, subject)),
})
