// The web inbox of the mail catcher: HTML pages and a JSON interface.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** A caught mail as the JSON interface shows it. */
export interface CaughtMail {
  readonly id: string
  readonly receivedDate: string
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly attachments: readonly { readonly fileName: string; readonly contentType: string; readonly size: number }[]
  readonly source: string
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text: string): string => text.replace(/[&<>"']/g, character => escapes[character] ?? character)

const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
  table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid #ddd }
  pre { white-space: pre-wrap; background: #f6f6f6; padding: 1rem } iframe { width: 100%; height: 30rem; border: 1px solid #ddd }
  a { color: #0645ad } .empty { color: #666 }`

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escape(title)}</title><style>${style}</style></head>
<body>${body}</body></html>`

const row = ({ id, receivedDate, from, to, subject }: CaughtMail): string =>
  `<tr><td><a href="/messages/${id}">${escape(subject || '(no subject)')}</a></td><td>${escape(from)}</td>` +
  `<td>${escape(to.join(', '))}</td><td><time>${receivedDate}</time></td></tr>`

const listPage = (mails: readonly CaughtMail[]): string => {
  const head = '<tr><th>Subject</th><th>From</th><th>To</th><th>Received</th></tr>'
  const table = `<table>${head}${mails.map(row).join('')}</table>`
  const none = '<p class="empty">No mail yet. What Certwright sends arrives here and nowhere else.</p>'
  return page('Inbox', `<h1>Inbox (${mails.length})</h1>${mails.length > 0 ? table : none}`)
}

const messagePage = ({ from, to, receivedDate, subject, text, html, attachments }: CaughtMail): string => {
  const facts = `<p>From ${escape(from)}<br>To ${escape(to.join(', '))}<br>${receivedDate}</p>`
  const files = attachments.map(({ fileName, size }) => `<li>${escape(fileName)} (${size} bytes)</li>`).join('')
  const formatted = html ? `<h2>HTML</h2><iframe sandbox srcdoc="${escape(html)}"></iframe>` : ''
  const body = `<pre>${escape(text)}</pre>${formatted}${files && `<h2>Attachments</h2><ul>${files}</ul>`}`
  return page(subject, `<p><a href="/">Inbox</a></p><h1>${escape(subject || '(no subject)')}</h1>${facts}${body}`)
}

/** The mails that the inbox shows: newest first, and a way to forget them all. */
export interface MailStore {
  readonly mails: () => readonly CaughtMail[]
  readonly clear: () => void
}

type Answer = readonly [status: number, body?: string | object]

const found = (mail: CaughtMail | undefined, show: (mail: CaughtMail) => string | object): Answer =>
  mail ? [200, show(mail)] : [404, page('Not found', '<p>There is no such message. <a href="/">Inbox</a></p>')]

const answerTo = (method: string, { pathname, searchParams }: URL, { mails, clear }: MailStore): Answer => {
  const route = `${method} ${pathname}`
  const recipient = searchParams.get('to')?.toLowerCase()
  const id = pathname.split('/').at(-1)
  const mail = mails().find(candidate => candidate.id === id)
  if (route === 'GET /') return [200, listPage(mails())]
  if (route.startsWith('GET /messages/')) return found(mail, messagePage)
  if (route.startsWith('GET /api/messages/')) return found(mail, known => known)
  if (route === 'GET /api/messages') {
    return [200, mails().filter(({ to }) => recipient === undefined || to.some(one => one.toLowerCase() === recipient))]
  }
  if (route !== 'DELETE /api/messages') return [404, page('Not found', '<p><a href="/">Inbox</a></p>')]
  clear()
  return [204]
}

/** A target such as `//` looks like a host without a name: whatever the client sent is a path here. */
const urlOf = ({ url = '/' }: IncomingMessage): URL =>
  URL.parse(`http://inbox${url}`) ?? new URL('http://inbox/unreadable')

/** Answers one request to the web inbox or its JSON interface (`/api/messages`, optionally `?to=<address>`). */
export const answerInbox = (store: MailStore, request: IncomingMessage, response: ServerResponse): void => {
  const [status, body] = answerTo(request.method ?? 'GET', urlOf(request), store)
  const html = typeof body === 'string'
  response.writeHead(status, {
    'content-type': html ? 'text/html; charset=utf-8' : 'application/json',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'",
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(html ? body : body && JSON.stringify(body))
}
