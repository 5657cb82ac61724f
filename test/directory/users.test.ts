// The users of the identity provider as the worker writes and lists them: the embedded one, or a Keycloak (provider.ts).
import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, test } from '@jest/globals'
import { openDirectory } from '../../activities/directory/keycloak.ts'
import { admin, settings, tokenOf } from './provider.ts'

const { users } = openDirectory(settings)
const made = new Set<string>()

afterAll(async () => {
  for (const subject of made) await users.remove(subject)
})

const newUser = (members: { email?: string; passwordLogin?: boolean } = {}) => {
  const userId = randomUUID()
  const user = { userId, firstName: 'Grace', lastName: 'Hopper', email: `grace-${userId}@example.org` }
  return { ...user, passwordLogin: true, ...members }
}

const make = async (user: ReturnType<typeof newUser>): Promise<string> => {
  const subject = await users.make(user)
  made.add(subject)
  return subject
}

const representationOf = async (subject: string) => (await admin('GET', `/users/${subject}`)).body
const rolesOf = async (subject: string): Promise<string[]> =>
  (await admin('GET', `/users/${subject}/role-mappings/realm`)).body.map(({ name }: { name: string }) => name)
const disable = (subject: string) => admin('PUT', `/users/${subject}`, { body: { enabled: false } })

describe('a user who is made', () => {
  test('is known by name and address, and may log in by password', async () => {
    const user = newUser()
    const subject = await make(user)
    const { firstName, lastName, email } = user
    expect(await representationOf(subject)).toMatchObject({ firstName, lastName, email, enabled: true })
    expect(await rolesOf(subject)).not.toContain('disable_password_login')
  })

  test('may not log in by password when that is not wanted', async () => {
    expect(await rolesOf(await make(newUser({ passwordLogin: false })))).toContain('disable_password_login')
  })

  test('is made once, however often that is asked, and completed', async () => {
    const user = newUser()
    const subject = await make(user)
    expect(await make({ ...user, passwordLogin: false })).toBe(subject)
    expect(await rolesOf(subject)).toContain('disable_password_login')
    expect((await admin('GET', `/users?email=${user.email}&exact=true`)).body).toHaveLength(1)
  })

  test('is found again by the registration alone', async () => {
    const user = newUser()
    expect(await users.findMade(user)).toBeUndefined()
    const subject = await make(user)
    expect(await users.findMade(user)).toBe(subject)
    expect(await users.findMade({ ...newUser(), email: user.email })).toBeUndefined()
  })

  test.each([
    ['the same', (email: string) => email],
    ['another case of the', (email: string) => email.toUpperCase()],
  ])('never takes the place of somebody with %s address', async (_, written) => {
    const user = newUser()
    const subject = await make(user)
    const other = newUser({ email: written(user.email), passwordLogin: false })
    await expect(users.make(other)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    expect(await rolesOf(subject)).not.toContain('disable_password_login')
    expect(await users.findMade(other)).toBeUndefined()
  })
})

describe('login by password', () => {
  test('is forbidden by a role and allowed by taking it, however often', async () => {
    const subject = await make(newUser())
    for (const enabled of [false, false, true, true]) {
      expect(await users.setPasswordLogin(subject, enabled)).toBe(true)
      expect((await rolesOf(subject)).includes('disable_password_login')).toBe(!enabled)
    }
  })

  test('of nobody is told as such', async () => {
    expect(await users.setPasswordLogin(randomUUID(), false)).toBe(false)
  })
})

test('mails to set a password are tried for all, and those that were not sent are told with the reason', async () => {
  const [first, second, disabled] = [await make(newUser()), await make(newUser()), await make(newUser())]
  await disable(disabled)
  const unknown = randomUUID()
  expect(await users.sendUpdatePassword([first, disabled, unknown, second])).toEqual([
    { subject: disabled, reason: expect.stringContaining('does not write to this user (400)') },
    { subject: unknown, reason: 'The identity provider has no such user (404).' },
  ])
})

describe('the list of users', () => {
  const listed = async () => {
    const found = new Map<string, object>()
    for (let first = 0; ; first += 100) {
      const page = await users.list(first, 100)
      for (const { subject, ...user } of page.users) found.set(subject, user)
      if (!page.more) return found
    }
  }

  test('holds each as it is, and no service account', async () => {
    const [plain, closed] = [newUser(), newUser({ passwordLogin: false })]
    const [subject, closedSubject] = [await make(plain), await make(closed)]
    await disable(closedSubject)
    const found = await listed()
    const named = { firstName: 'Grace', lastName: 'Hopper' }
    expect(found.get(subject)).toEqual({ ...named, email: plain.email, enabled: true, passwordLogin: true })
    expect(found.get(closedSubject)).toEqual({ ...named, email: closed.email, enabled: false, passwordLogin: false })
    const { token = '' } = await tokenOf(settings.clientId, settings.clientSecret)
    const account = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub: string }
    expect(account.sub).not.toBe('')
    expect(found.has(account.sub)).toBe(false)
  })

  test('is told apart from who is surely not there', async () => {
    const subject = await make(newUser())
    const gone = randomUUID()
    expect(await users.missing([gone, subject])).toEqual([gone])
  })
})

test('a user who is removed is gone, and removing again is nothing', async () => {
  const user = newUser()
  const subject = await make(user)
  await users.remove(subject)
  expect(await users.findMade(user)).toBeUndefined()
  await users.remove(subject)
  expect(await users.missing([subject])).toEqual([subject])
})

test('a client that may not do so is told which roles it lacks', async () => {
  const { status } = await admin('GET', '/users', { token: 'none' })
  expect(status).toBe(401)
  const wrong = openDirectory({ ...settings, clientSecret: 'wrong' })
  await expect(wrong.users.make(newUser())).rejects.toMatchObject({
    code: 'IDENTITY_PROVIDER_ERROR',
    message: expect.stringContaining('refuses the login of the worker'),
  })
})
