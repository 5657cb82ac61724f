// Users: registered at the identity provider and in the records, told by what they log in, found again.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { User } from '../../storage/rows/user.ts'
import { factsOf, refusalOf } from '../support/issuing.ts'
import { openIdentities, type Identities } from '../support/identities.ts'
import { canLogIn, linkIn, mailsTo, makePerson, newPerson, setPassword, usersPath as path } from '../support/people.ts'
import { startService, type Service } from '../support/service.ts'
import { LOGIN_CLIENT, stack } from '../support/stack.ts'

let service: Service
let admin: Awaited<ReturnType<Service['user']>>
let store: Identities

beforeAll(async () => {
  service = await startService()
  store = await openIdentities()
}, 120_000)
beforeEach(async () => void (admin = await service.user({ GLOBAL: ['USERS_CREATE', 'USERS_READ', 'USERS_UPDATE'] })))
afterAll(async () => {
  await store.close()
  await service.stop()
})

const rolesOf = async (subject: string) => (await store.rolesOf(subject)).map(({ name }) => name)
const noPassword = 'disable_password_login'
const password = () => `password ${randomUUID()}`

describe('registering a user', () => {
  test('makes it at both sides, without a way to log in by password', async () => {
    const body = newPerson()
    const { status, body: made } = await admin.post(`${path}/`, body)
    expect(status).toBe(201)
    expect(made).toMatchObject({
      firstName: 'Grace',
      lastName: 'Hopper',
      email: body.email,
      enabled: true,
      passwordLoginEnabled: false,
      userCertificateDetails: null,
      raCertificateId: null,
      metadata: { version: 1, createdBy: admin.id, createdByType: 'USER' },
    })
    expect(await store.findUser(made.providerId)).toMatchObject({ email: body.email, enabled: true })
    expect(await rolesOf(made.providerId)).toEqual([noPassword])
    expect(await mailsTo(body.email)).toEqual([])
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED'])
    expect((await admin.get(`${path}/${made.id}`)).body).toEqual(made)
  })

  test('with login by password mails a link by which the user sets one and logs in', async () => {
    const made = await makePerson(admin, { enablePasswordLogin: true })
    expect(await rolesOf(made.providerId)).toEqual([])
    const [mail, ...more] = await mailsTo(made.email)
    expect(more).toEqual([])
    const link = linkIn(mail?.text ?? '')
    const page = await fetch(link)
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, expect.stringContaining('no-store')])
    const secret = password()
    await setPassword(link, secret)
    expect(await canLogIn(made.email, secret)).toBe(true)
    const { access_token: token } = (await (
      await fetch(stack.tokenUrl(), {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'password',
          username: made.email,
          password: secret,
          client_id: LOGIN_CLIENT.clientId,
          client_secret: LOGIN_CLIENT.secret,
          scope: 'openid',
        }),
      })
    ).json()) as { access_token: string }
    const self = service.as(token)
    expect((await self.get('/api/v1/authenticated-principal')).body.id).toBe(made.id)
    expect((await self.get(`${path}/${made.id}`)).body.id).toBe(made.id)
    expect(await service.em().count(User, { providerId: made.providerId })).toBe(1)
  })

  test('is refused for an address that a user of ours has, whatever its case', async () => {
    const { email } = await makePerson(admin)
    const reply = await admin.post(`${path}/`, newPerson({ email: email.toUpperCase() }))
    expect(refusalOf(reply)).toEqual([409, 'ALREADY_EXISTS'])
    expect(reply.body.fieldErrors).toEqual([{ field: 'email', message: 'is taken' }])
  })

  test('is refused for an address that somebody has at the identity provider, who stays as he is', async () => {
    const email = `stranger-${randomUUID()}@example.org`
    const stranger = await store.upsertUser({ username: email, email, firstName: 'A', lastName: 'B' })
    expect(refusalOf(await admin.post(`${path}/`, newPerson({ email })))).toEqual([409, 'ALREADY_EXISTS'])
    expect(await rolesOf(stranger.id)).toEqual([])
    expect(await service.em().count(User, { email })).toBe(0)
  })

  test('at the same moment with one address makes one user', async () => {
    const body = newPerson()
    const replies = await Promise.all([1, 2, 3].map(() => admin.post(`${path}/`, body)))
    expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([201, 409, 409])
    expect(await service.em().count(User, { email: body.email })).toBe(1)
    expect(await store.listUsers({ email: body.email, exact: true }, 0, 10)).toHaveLength(1)
  }, 60_000)

  test.each([
    ['an address that is none', { email: 'nobody' }, 'VALIDATION_FAILED'],
    ['no address', { email: undefined }, 'INVALID_REQUEST'],
    ['a name of 32 characters', { firstName: 'x'.repeat(32) }, 'INVALID_REQUEST'],
    ['a blank name', { lastName: ' ' }, 'INVALID_REQUEST'],
  ])('with %s is refused', async (_, more, code) => {
    expect(refusalOf(await admin.post(`${path}/`, newPerson(more)))).toEqual([400, code])
  })

  test('of one who has logged in before it was recorded completes the record of the login', async () => {
    const userId = randomUUID()
    const order = { userId, firstName: 'Early', lastName: 'Bird', email: `early-${userId}@example.org` }
    const subject = await service.services.directory.users.make({ ...order, passwordLogin: true })
    const early = service.em().create(User, { providerId: subject, email: order.email, firstName: 'Old' })
    await service.em().persist(early).flush()
    const em = service.em()
    const known = await em.findOneOrFail(User, { providerId: subject })
    const { registerUserRun } = await import('../../workflows/user-starts.ts')
    const { startOptions } = await import('../../workflows/starts.ts')
    const principal = { id: admin.id, type: 'USER' as const, name: 'admin' }
    const start = registerUserRun({ ...order, passwordLogin: false, principal })
    const id = await service.client.workflow.execute(start.workflow, startOptions(start, service.taskQueue))
    expect(id).toBe(known.id)
    expect((await admin.get(`${path}/${known.id}`)).body).toMatchObject({
      firstName: 'Early',
      passwordLoginEnabled: false,
    })
    expect(await service.em().count(User, { email: order.email })).toBe(1)
  })
})

describe('login by password', () => {
  const set = (id: string, enabled: boolean) =>
    admin.post(`${path}/${id}/update-password-login?enablePasswordLogin=${enabled}`)

  test('is forbidden by the role and allowed again, each an event; the provider refuses the password meanwhile', async () => {
    const made = await makePerson(admin, { enablePasswordLogin: true })
    const secret = password()
    const [mail] = await mailsTo(made.email)
    await setPassword(linkIn(mail?.text ?? ''), secret)
    expect((await set(made.id, false)).status).toBe(204)
    expect(await rolesOf(made.providerId)).toEqual([noPassword])
    expect(await canLogIn(made.email, secret)).toBe(false)
    expect((await admin.get(`${path}/${made.id}`)).body).toMatchObject({
      passwordLoginEnabled: false,
      metadata: { version: 2 },
    })
    expect((await set(made.id, false)).status).toBe(204)
    expect((await set(made.id, true)).status).toBe(204)
    expect(await canLogIn(made.email, secret)).toBe(true)
    expect(await factsOf(service, made.id)).toEqual([
      'ENTITY_CREATED',
      'PASSWORD_LOGIN_CHANGED',
      'PASSWORD_LOGIN_CHANGED',
    ])
  }, 60_000)

  test('of an unknown user is 404, without the parameter 400, of one who is gone at the provider 502', async () => {
    expect(refusalOf(await set(randomUUID(), false))).toEqual([404, 'USER_NOT_FOUND'])
    const made = await makePerson(admin)
    expect(refusalOf(await admin.post(`${path}/${made.id}/update-password-login`))).toEqual([400, 'INVALID_REQUEST'])
    await store.removeUser(made.providerId)
    expect(refusalOf(await set(made.id, true))).toEqual([502, 'IDENTITY_PROVIDER_ERROR'])
    expect((await admin.get(`${path}/${made.id}`)).body.passwordLoginEnabled).toBe(false)
  })
})

describe('mails to set a password', () => {
  const send = (userIds: unknown) => admin.post(`${path}/email-update-password-batch`, { userIds })

  test('go to all', async () => {
    const people = [await makePerson(admin), await makePerson(admin)]
    expect((await send(people.map(({ id }) => id))).status).toBe(204)
    for (const { email } of people) expect(await mailsTo(email)).toHaveLength(1)
  })

  test('are tried for all, and 502 names those to whom none went', async () => {
    const [first, gone, last] = [await makePerson(admin), await makePerson(admin), await makePerson(admin)]
    await store.removeUser(gone.providerId)
    const reply = await send([first.id, gone.id, last.id])
    expect(refusalOf(reply)).toEqual([502, 'IDENTITY_PROVIDER_ERROR'])
    expect(reply.body.errorMessage).toBe(`1 of the mails were not sent: ${gone.id}.`)
    expect(reply.body.fieldErrors).toEqual([
      { field: gone.id, message: 'The identity provider has no such user (404).' },
    ])
    for (const { email } of [first, last]) expect(await mailsTo(email)).toHaveLength(1)
  })

  test('are not sent at all when one is unknown', async () => {
    const known = await makePerson(admin)
    expect(refusalOf(await send([known.id, randomUUID()]))).toEqual([404, 'USER_NOT_FOUND'])
    expect(await mailsTo(known.email)).toEqual([])
  })

  test('of a list that is empty or too long are refused', async () => {
    expect(refusalOf(await send([]))).toEqual([400, 'INVALID_REQUEST'])
    const many = Array.from({ length: 1001 }, () => randomUUID())
    expect(refusalOf(await send(many))).toEqual([400, 'REQUEST_TOO_LARGE'])
  })
})

test('what needs a token or a right is refused without it', async () => {
  const { id } = await makePerson(admin)
  const nobody = await service.user({})
  for (const call of [
    (caller: typeof service.api.anonymous) => caller.post(`${path}/`, newPerson()),
    (caller: typeof service.api.anonymous) => caller.get(`${path}/${id}`),
    (caller: typeof service.api.anonymous) =>
      caller.post(`${path}/${id}/update-password-login?enablePasswordLogin=true`),
    (caller: typeof service.api.anonymous) => caller.post(`${path}/email-update-password-batch`, { userIds: [id] }),
  ]) {
    expect((await call(service.api.anonymous)).status).toBe(401)
    expect(refusalOf(await call(nobody))).toEqual([403, 'ACCESS_DENIED'])
  }
})
