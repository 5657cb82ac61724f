// What the tests of users share: registering one, the mails of the identity provider, and the page that they lead to.
import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import type { ApiCaller } from './api.ts'
import { LOGIN_CLIENT, stack } from './stack.ts'

/** The path of users. */
export const usersPath = '/api/v1/users'

/** A user to be registered. */
export const newPerson = (more: object = {}) => ({
  firstName: 'Grace',
  lastName: 'Hopper',
  email: `grace-${randomUUID()}@example.org`,
  ...more,
})

/** A user as it was answered. */
export interface Person {
  readonly id: string
  readonly providerId: string
  readonly email: string
}

/** Registers a user. */
export const makePerson = async (caller: ApiCaller, more: object = {}): Promise<Person> => {
  const reply = await caller.post(`${usersPath}/`, newPerson(more))
  expect([reply.status, reply.body.apiError]).toEqual([201, undefined])
  return reply.body
}

/** The mails to an address, newest first. */
export const mailsTo = async (address: string): Promise<{ text: string; subject: string }[]> => {
  const response = await fetch(`${stack.mailUrl()}/api/messages?to=${encodeURIComponent(address)}`)
  return (await response.json()) as { text: string; subject: string }[]
}

/** The link in a mail. */
export const linkIn = (text: string): string => /https?:\S+/.exec(text)?.[0] ?? ''

/** Sends the form behind a link. */
export const sendForm = async (link: string, fields: Record<string, string>) => {
  const url = new URL(link)
  const body = new URLSearchParams({ key: url.searchParams.get('key') ?? '', ...fields })
  url.search = ''
  const response = await fetch(url, { method: 'POST', body })
  return { status: response.status, text: await response.text() }
}

/** Whether a password gets a token. */
export const canLogIn = async (username: string, password: string): Promise<boolean> => {
  const { clientId: client_id, secret: client_secret } = LOGIN_CLIENT
  const fields = { grant_type: 'password', username, password, client_id, client_secret, scope: 'openid' }
  return (await fetch(stack.tokenUrl(), { method: 'POST', body: new URLSearchParams(fields) })).status === 200
}

/** A browser that keeps cookies, for pages that need them. */
const browser = () => {
  const cookies = new Map<string, string>()
  const visit = async (url: string, body?: URLSearchParams): Promise<{ url: string; text: string }> => {
    const cookie = [...cookies].map(pair => pair.join('=')).join('; ')
    const options = { redirect: 'manual', headers: { cookie }, ...(body && { method: 'POST', body }) } as const
    const response = await fetch(url, options)
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const next = response.headers.get('location')
    return next ? visit(new URL(next, url).href) : { url, text: await response.text() }
  }
  return visit
}

const addressIn = (text: string, pattern: RegExp): string => (pattern.exec(text)?.[1] ?? '').replaceAll('&amp;', '&')

/** Keycloak says first what is to be done, then shows the form. */
const setAtKeycloak = async (link: string, password: string): Promise<void> => {
  const visit = browser()
  const notice = await visit(link)
  const page = await visit(new URL(addressIn(notice.text, /<a href="([^"]*login-actions[^"]*)"/), notice.url).href)
  const form = addressIn(page.text, /<form[^>]*action="([^"]*)"/)
  const fields = { 'password-new': password, 'password-confirm': password }
  await visit(form, new URLSearchParams(fields))
}

/** Sets a password as a person does who follows the link of a mail. */
export const setPassword = async (link: string, password: string): Promise<void> => {
  if (process.env['KEYCLOAK_URL'] !== undefined) return setAtKeycloak(link, password)
  expect((await sendForm(link, { password, repeated: password })).status).toBe(200)
}
