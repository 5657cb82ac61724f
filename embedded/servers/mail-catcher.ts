// The embedded mail server: accepts every mail, delivers none and shows all in a web inbox.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { callbackify } from 'node:util'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { type CaughtMail, answerInbox } from './mail-inbox.ts'

/** The ports of the mail catcher. */
export interface MailCatcherSettings {
  readonly smtpPort: number
  readonly inboxPort: number
}

/** A running mail catcher: takes every mail, delivers none, shows them all. */
export interface MailCatcher {
  readonly smtpPort: number
  readonly inboxUrl: string
  readonly mails: () => readonly CaughtMail[]
  readonly stop: () => Promise<void>
}

const maxMails = 1000
const maxBytes = 32 * 1024 * 1024

const sizeOf = (content: ArrayBuffer | string | Uint8Array): number =>
  typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength

const read = async (stream: SMTPServerDataStream, { envelope }: SMTPServerSession): Promise<CaughtMail> => {
  const source = await buffer(stream)
  const mail = await PostalMime.parse(source)
  return {
    id: randomUUID(),
    receivedDate: new Date().toISOString(),
    from: mail.from?.address ?? (envelope.mailFrom ? envelope.mailFrom.address : ''),
    to: envelope.rcptTo.map(({ address }) => address),
    subject: mail.subject ?? '',
    text: mail.text ?? '',
    html: mail.html ?? '',
    attachments: mail.attachments.map(({ filename, mimeType, content }) => ({
      fileName: filename ?? '',
      contentType: mimeType,
      size: sizeOf(content),
    })),
    source: source.toString('utf8'),
  }
}

// STARTTLS would offer a certificate that no client trusts.
const smtpServer = (keep: (mail: CaughtMail) => void): SMTPServer =>
  new SMTPServer({
    name: 'mail.localhost',
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    size: maxBytes,
    onAuth: ({ username }, _, done) => done(null, { user: username }),
    onData: (stream, session, done) =>
      callbackify(read)(stream, session, (error, mail) => {
        if (mail) keep(mail)
        done(error)
      }),
  })

/** Starts the mail catcher on its two ports. */
export const startMailCatcher = async ({ smtpPort, inboxPort }: MailCatcherSettings): Promise<MailCatcher> => {
  let caught: readonly CaughtMail[] = []
  const smtp = smtpServer(mail => (caught = [mail, ...caught].slice(0, maxMails)))
  smtp.on('error', () => {}) // a client that broke off
  const store = { mails: () => caught, clear: () => void (caught = []) }
  const inbox = createServer((request, response) => answerInbox(store, request, response))
  smtp.listen(smtpPort, '127.0.0.1')
  inbox.listen(inboxPort, '127.0.0.1')
  await Promise.all([once(smtp.server, 'listening'), once(inbox, 'listening')])
  return {
    smtpPort,
    inboxUrl: `http://127.0.0.1:${inboxPort}`,
    mails: store.mails,
    stop: async () => {
      inbox.closeAllConnections()
      await Promise.all([new Promise<void>(done => smtp.close(done)), new Promise(done => inbox.close(done))])
    },
  }
}
