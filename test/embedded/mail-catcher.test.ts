// The embedded mail catcher and its inbox.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { request } from 'node:http'
import { createTransport } from 'nodemailer'
import type { CaughtMail } from '../../embedded/servers/mail-inbox.ts'
import { type MailCatcher, startMailCatcher } from '../../embedded/servers/mail-catcher.ts'
import { freePort } from '../../embedded/processes/ports.ts'

let catcher: MailCatcher

beforeEach(async () => {
  catcher = await startMailCatcher({ smtpPort: await freePort(), inboxPort: await freePort() })
})

afterEach(() => catcher.stop())

const send = (mail: object = {}) =>
  createTransport({ host: '127.0.0.1', port: catcher.smtpPort }).sendMail({
    from: 'ca@example.com',
    to: 'owner@example.com',
    subject: 'Your <certificate>',
    text: 'Grüße & more',
    html: '<p>Grüße</p>',
    attachments: [{ filename: 'server.pem', content: 'PEM' }],
    ...mail,
  })

const list = async (query = '') =>
  (await (await fetch(`${catcher.inboxUrl}/api/messages${query}`)).json()) as CaughtMail[]

test('a sent mail is in the JSON interface with its parts', async () => {
  await send()
  expect(await list()).toMatchObject([
    {
      from: 'ca@example.com',
      to: ['owner@example.com'],
      subject: 'Your <certificate>',
      text: 'Grüße & more\n',
      html: '<p>Grüße</p>\n',
      attachments: [{ fileName: 'server.pem', size: 3 }],
    },
  ])
})

test('the list can be narrowed to a recipient, newest first', async () => {
  await send({ subject: 'first' })
  await send({ to: 'other@example.com' })
  await send({ subject: 'second' })
  const subjects = (await list('?to=Owner@example.com')).map(({ subject }) => subject)
  expect(subjects).toEqual(['second', 'first'])
})

test('the inbox page lists mails with escaped text and links to a page for each', async () => {
  await send()
  const page = await (await fetch(catcher.inboxUrl)).text()
  expect(page).toContain('Your &lt;certificate&gt;')
  const path = /href="(\/messages\/[^"]+)"/.exec(page)?.[1]
  const message = await (await fetch(`${catcher.inboxUrl}${path}`)).text()
  expect(message).toContain('Grüße &amp; more')
  expect(message).toContain('server.pem')
})

test('DELETE empties the inbox', async () => {
  await send()
  expect((await fetch(`${catcher.inboxUrl}/api/messages`, { method: 'DELETE' })).status).toBe(204)
  expect(await list()).toEqual([])
  expect(await (await fetch(catcher.inboxUrl)).text()).toContain('No mail yet')
})

test('an unknown message is 404', async () => {
  expect((await fetch(`${catcher.inboxUrl}/messages/none`)).status).toBe(404)
  expect((await fetch(`${catcher.inboxUrl}/api/messages/none`)).status).toBe(404)
})

test.each(['//', '//evil', '/\\', '/%', '/messages/%00', '/api/messages?to=%', 'http://[', '*', '?'])(
  'the inbox survives GET %s',
  async target => {
    const { port } = new URL(catcher.inboxUrl)
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path: target }, answer => {
        answer.resume()
        resolve(answer.statusCode)
      })
      asked.on('error', reject)
      asked.end()
    })
    expect([200, 400, 404]).toContain(status)
    expect((await fetch(catcher.inboxUrl)).status).toBe(200)
  },
)
