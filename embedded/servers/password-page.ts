// The page on which a user of the embedded identity provider sets a password, and the mail that leads there. It works
// without JavaScript; opening it changes nothing, so that mail scanners spend no link: its button does.
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createTransport } from 'nodemailer'
import type { IdentityStore } from './identity-store.ts'

/** Where the page is, below the realm. */
export const passwordPath = '/login-actions/action-token'

const longestForm = 4096
const shortestPassword = 12
const longestPassword = 255

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1.5rem;color:#1b2733;background:#f6f8fa}
main{background:#fff;border:1px solid #d5dde5;border-radius:.75rem;padding:2rem}
h1{font-size:1.4rem;margin:0 0 1rem}label{display:block;margin:0 0 1rem;color:#5a6b7b;font-size:.875rem}
input{display:block;box-sizing:border-box;width:100%;margin-top:.25rem;padding:.5rem .75rem;font:1rem/1.5 system-ui,sans-serif;border:1px solid #b6c2cd;border-radius:.5rem}
button{font:inherit;padding:.6rem 1.4rem;border:0;border-radius:.5rem;background:#0b5cad;color:#fff;cursor:pointer}
button:focus-visible,input:focus-visible{outline:3px solid #7db8f0;outline-offset:2px}.fault{color:#b3261e}
@media(prefers-color-scheme:dark){body{background:#11181f;color:#e6edf3}main{background:#18222c;border-color:#2c3a48}label{color:#9fb0c0}input{background:#11181f;color:inherit;border-color:#2c3a48}.fault{color:#ff8a80}}`

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** A text as HTML shows it, also inside an attribute. */
const shown = (text: string): string => text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)

const pageOf = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`

type Page = readonly [status: number, html: string]

const overPage: Page = [
  400,
  pageOf(
    'This did not work',
    '<p>This link is not valid: it was used already, or it has expired. Ask whoever looks after your account for another mail.</p>',
  ),
]

const donePage: Page = [200, pageOf('Your password is set', '<p>You can log in with it now, and close this page.</p>')]

const field = (name: string, label: string): string =>
  `<label>${label}<input type="password" name="${name}" autocomplete="new-password" required minlength="${shortestPassword}" maxlength="${longestPassword}"></label>`

const formPage = (token: string, who: string, fault?: string): Page => [
  fault === undefined ? 200 : 400,
  pageOf(
    'Set your password',
    `<p>For ${shown(who)}, at least ${shortestPassword} characters.</p>
${fault === undefined ? '' : `<p class="fault" role="alert">${shown(fault)}</p>\n`}<form method="post" action="?">
<input type="hidden" name="key" value="${shown(token)}">
${field('password', 'New password')}
${field('repeated', 'The same again')}
<button type="submit">Set password</button>
</form>`,
  ),
]

const faultIn = (password: string, repeated: string): string | undefined => {
  const length = Array.from(password).length
  if (length < shortestPassword) return `The password needs at least ${shortestPassword} characters.`
  if (length > longestPassword) return `The password can have at most ${longestPassword} characters.`
  return password === repeated ? undefined : 'The two passwords are not the same.'
}

const formIn = async (request: IncomingMessage): Promise<URLSearchParams> => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > longestForm) return new URLSearchParams()
  }
  return new URLSearchParams(text)
}

const answer = async (store: IdentityStore, request: IncomingMessage): Promise<Page> => {
  const isForm = request.method === 'POST'
  const members = isForm ? await formIn(request) : new URL(request.url ?? '', 'http://localhost').searchParams
  const token = members.get('key') ?? ''
  const user = await store.findPasswordLink(token)
  if (!user) return overPage
  const who = user.email ?? user.username
  if (!isForm) return formPage(token, who)
  const password = members.get('password') ?? ''
  const fault = faultIn(password, members.get('repeated') ?? '')
  if (fault !== undefined) return formPage(token, who, fault)
  return (await store.spendPasswordLink(token, password)) ? donePage : overPage
}

/** Answers a request to the page. */
export const answerPasswordPage = async (
  store: IdentityStore,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const trouble: Page = [
    500,
    pageOf('This did not work', '<p>Something unexpected happened. Please try again later.</p>'),
  ]
  const [status, html] = await answer(store, request).catch(() => trouble)
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
  response.end(html)
}

const mailPatienceMs = 5000

const textOf = (link: string, hours: number): string => `You can set the password of your account here:

${link}

The link works once, within ${hours < 1.5 ? 'an hour' : `${Math.round(hours)} hours`}. If you did not expect this mail, do nothing.
`

/** How mails with such links are sent: by the mail server at a port of this machine; without one none can be. */
export const passwordMails = (
  store: IdentityStore,
  { issuer, smtpPort }: { readonly issuer: string; readonly smtpPort: number | undefined },
) => {
  const limits = { connectionTimeout: mailPatienceMs, greetingTimeout: mailPatienceMs, socketTimeout: mailPatienceMs }
  return async ({ id, email }: { readonly id: string; readonly email: string }, seconds: number): Promise<void> => {
    if (smtpPort === undefined) throw new Error('The identity provider has no mail server.')
    const token = await store.makePasswordLink(id, seconds)
    const transport = createTransport({ host: '127.0.0.1', port: smtpPort, secure: false, ignoreTLS: true, ...limits })
    try {
      await transport.sendMail({
        from: 'identity-provider@localhost.localdomain',
        to: { name: '', address: email },
        subject: 'Set your password',
        text: textOf(`${issuer}${passwordPath}?key=${token}`, seconds / 3600),
      })
    } finally {
      transport.close()
    }
  }
}
