// Users when the identity provider, the database or the worker fails: nothing is left behind at either side.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { User } from '../../storage/rows/user.ts'
import { startFaultyDirectory, type FaultyDirectory } from '../support/faulty-directory.ts'
import type { Fault } from '../support/faulty-proxy.ts'
import { factsOf, refusalOf, until } from '../support/issuing.ts'
import { linkIn, mailsTo, makePerson, newPerson, usersPath as path } from '../support/people.ts'
import { historyToText } from '../workflows/history-json.ts'
import { payloadsIn, textOf } from '../workflows/payloads.ts'

let faulty: FaultyDirectory
let service: FaultyDirectory['service']
let proxy: FaultyDirectory['proxy']
let store: FaultyDirectory['store']
let admin: Awaited<ReturnType<typeof service.user>>

beforeAll(async () => {
  faulty = await startFaultyDirectory()
  ;({ service, proxy, store } = faulty)
}, 120_000)
// A token lives for five minutes.
beforeEach(async () => void (admin = await service.user({ GLOBAL: ['ADMIN'] })))
afterEach(() => proxy.set('PASSES'))
afterAll(() => faulty.stop())

const knownAs = (email: string) => store.listUsers({ email, exact: true }, 0, 10)
const recordedAs = (email: string) => service.em().count(User, { email })
const refused = [502, 'IDENTITY_PROVIDER_ERROR']
const gone = (email: string) => until('nothing is left', async () => (await knownAs(email)).length === 0)

/** What fails at every attempt of a write; what was lost on the way can be undone afterwards. */
const faults: readonly (readonly [Fault, number])[] = [
  ['DOWN', Infinity],
  ['DROPS', 3],
  [500, 3],
  [403, Infinity],
]

describe.each(faults)('when the identity provider answers %s', (fault, writes) => {
  test('no user is registered', async () => {
    const body = newPerson()
    await proxy.set(fault, writes)
    expect(refusalOf(await admin.post(`${path}/`, body))).toEqual(refused)
    await proxy.set('PASSES')
    await gone(body.email)
    expect(await recordedAs(body.email)).toBe(0)
    expect((await admin.post(`${path}/`, body)).status).toBe(201)
  }, 90_000)

  test('login by password stays as it was', async () => {
    const made = await makePerson(admin)
    await proxy.set(fault, writes)
    const reply = await admin.post(`${path}/${made.id}/update-password-login?enablePasswordLogin=true`)
    expect(refusalOf(reply)).toEqual(refused)
    await proxy.set('PASSES')
    await until('the role is back', async () => (await store.rolesOf(made.providerId)).length === 1)
    expect((await admin.get(`${path}/${made.id}`)).body.passwordLoginEnabled).toBe(false)
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED'])
  }, 90_000)
})

test('a mail that cannot be sent at registration leaves no user', async () => {
  const body = newPerson({ enablePasswordLogin: true })
  let writes = 0
  // The user is made; what comes after it fails.
  proxy.beforeWrite(async () => {
    writes += 1
    if (writes === 1) await proxy.set(500, 3)
  })
  const reply = await admin.post(`${path}/`, body)
  proxy.beforeWrite(async () => undefined)
  await proxy.set('PASSES')
  expect(refusalOf(reply)).toEqual(refused)
  await gone(body.email)
  expect(await recordedAs(body.email)).toBe(0)
}, 90_000)

test('an identity provider that goes away when it has made the user has none left when it is back', async () => {
  const body = newPerson()
  let writes = 0
  // The user is made; the role is the next write.
  proxy.beforeWrite(async () => {
    writes += 1
    if (writes === 2) await proxy.set('DOWN')
  })
  const reply = await admin.post(`${path}/`, body)
  proxy.beforeWrite(async () => undefined)
  expect(refusalOf(reply)).toEqual(refused)
  expect(await knownAs(body.email)).toHaveLength(1)
  expect(await recordedAs(body.email)).toBe(0)
  await proxy.set('PASSES')
  await gone(body.email)
  expect(await recordedAs(body.email)).toBe(0)
  expect((await admin.post(`${path}/`, body)).status).toBe(201)
  expect(await knownAs(body.email)).toHaveLength(1)
}, 120_000)

test('an answer that is lost once is asked for again, and makes one user', async () => {
  const body = newPerson()
  await proxy.set('DROPS', 1)
  const { status, body: made } = await admin.post(`${path}/`, body)
  expect(status).toBe(201)
  expect(await knownAs(body.email)).toHaveLength(1)
  expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED'])
})

test('a user whom the records refuse is removed', async () => {
  const body = newPerson({ firstName: 'Forbidden' })
  const alter = (what: string) => service.em().execute(`alter table app_user ${what}`)
  await alter(`add constraint no_such check (first_name <> 'Forbidden') not valid`)
  try {
    expect((await admin.post(`${path}/`, body)).status).toBeGreaterThanOrEqual(500)
  } finally {
    await alter('drop constraint no_such')
  }
  await gone(body.email)
  expect(await recordedAs(body.email)).toBe(0)
}, 90_000)

test('a right that was lost meanwhile is told as such, and nothing is left', async () => {
  const loser = await service.user({ GLOBAL: ['USERS_CREATE'] })
  const body = newPerson()
  proxy.beforeWrite(async () => void (await service.em().nativeUpdate(User, { id: loser.id }, { enabled: false })))
  const { status, body: told } = await loser.post(`${path}/`, body)
  proxy.beforeWrite(async () => undefined)
  expect([status, told.apiError]).toEqual([401, 'PRINCIPAL_DISABLED'])
  expect(await knownAs(body.email)).toEqual([])
}, 90_000)

test('mails that cannot be asked for are all named', async () => {
  const people = [await makePerson(admin), await makePerson(admin)]
  await proxy.set('DOWN')
  const reply = await admin.post(`${path}/email-update-password-batch`, { userIds: people.map(({ id }) => id) })
  expect(refusalOf(reply)).toEqual(refused)
  for (const { id } of people) expect(reply.body.errorMessage).toContain(id)
}, 90_000)

test('no history holds the link of a mail', async () => {
  const { id, email } = await makePerson(admin, { enablePasswordLogin: true })
  const [mail] = await mailsTo(email)
  const key = new URL(linkIn(mail?.text ?? '')).searchParams.get('key') ?? ''
  expect(key).not.toBe('')
  const history = await service.client.workflow.getHandle(`user/${id}`).fetchHistory()
  const texts = await Promise.all(payloadsIn(history, 'registerUser').map(textOf))
  expect(texts.some(text => text.includes(id))).toBe(true)
  expect([historyToText(history), ...texts].join('\n')).not.toContain(key)
})
