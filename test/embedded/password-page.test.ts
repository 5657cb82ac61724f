// The page on which users of the embedded identity provider set their passwords: once, for a limited time; and its roles.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openDirectory } from '../../activities/directory/keycloak.ts'
import type { IdentityProvider } from '../../embedded/servers/identity-provider.ts'
import { startOwnIdentityProvider } from '../support/own-identity-provider.ts'
import { linkIn, mailsTo, sendForm } from '../support/people.ts'

let provider: IdentityProvider
const own = { clientId: 'own', secret: 'own-secret' }

beforeAll(async () => {
  provider = await startOwnIdentityProvider('page')
  await provider.store.upsertClient({ ...own, managesClients: true })
}, 60_000)
afterAll(() => provider.stop())

const directory = () =>
  openDirectory({ url: provider.url, realm: 'certwright', clientId: own.clientId, clientSecret: own.secret })

const invite = async () => {
  const email = `<b>${randomUUID()}@example.org`.slice(3)
  const user = await provider.store.upsertUser({ username: email, email, firstName: 'A<b>', lastName: 'B' })
  expect(await directory().users.sendUpdatePassword([user.id])).toEqual([])
  const [mail] = await mailsTo(email)
  return { email, user, link: linkIn(mail?.text ?? '') }
}
const matches = async (email: string, password: string) =>
  (await provider.store.findUserByPassword(email, password)) !== undefined
const both = (password: string) => ({ password, repeated: password })

test('opening the link changes nothing; its form sets the password, once', async () => {
  const { email, link } = await invite()
  const open = () => fetch(link)
  for (const page of [await open(), await open()]) {
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(await page.text()).toContain(email)
  }
  expect((await sendForm(link, both('a long password'))).status).toBe(200)
  expect(await matches(email, 'a long password')).toBe(true)
  expect((await sendForm(link, both('another password'))).status).toBe(400)
  expect((await open()).status).toBe(400)
  expect(await matches(email, 'another password')).toBe(false)
})

test('a password that is short or not the same twice is refused, and the link still counts', async () => {
  const { email, link } = await invite()
  const short = await sendForm(link, both('short'))
  expect([short.status, short.text]).toEqual([400, expect.stringContaining('at least 12 characters')])
  const other = await sendForm(link, { password: 'a long password', repeated: 'b long password' })
  expect([other.status, other.text]).toEqual([400, expect.stringContaining('not the same')])
  expect(other.text).not.toContain('a long password')
  expect((await sendForm(link, both('a long password'))).status).toBe(200)
  expect(await matches(email, 'a long password')).toBe(true)
})

test('a link that is over, of nobody, or of a disabled user counts no more', async () => {
  const { user, link } = await invite()
  const over = await provider.store.makePasswordLink(user.id, -1)
  const forged = new URL(link)
  for (const key of [over, 'nonsense', '']) {
    forged.searchParams.set('key', key)
    expect((await fetch(forged)).status).toBe(400)
    expect((await sendForm(forged.href, both('a long password'))).status).toBe(400)
  }
  await provider.store.updateUser(user.id, { ...user, enabled: false })
  expect((await sendForm(link, both('a long password'))).status).toBe(400)
})

test('setting a password ends the other links of the user', async () => {
  const { user, link } = await invite()
  const other = new URL(link)
  other.searchParams.set('key', await provider.store.makePasswordLink(user.id, 60))
  expect((await sendForm(other.href, both('a long password'))).status).toBe(200)
  expect((await fetch(link)).status).toBe(400)
})

test('the role that forbids login by password is made where it is missing', async () => {
  const { user } = await invite()
  await provider.store.removeRole('disable_password_login')
  expect(await directory().users.setPasswordLogin(user.id, false)).toBe(true)
  expect((await provider.store.rolesOf(user.id)).map(({ name }) => name)).toEqual(['disable_password_login'])
})
