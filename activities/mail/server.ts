// The mail server (RFC 5321): one connection at a time, every step of it bounded, whatever the server does.
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { canonicalEmail } from '../../domain/address.ts'
import type { Settings } from '../../storage/settings.ts'
import { MailTrouble, troubleOf } from './trouble.ts'

/** How the mail server is reached, by the settings `mail.*`. */
export interface MailServer {
  readonly host: string
  readonly port: number
  /** TLS from the start. */
  readonly tls: boolean
  /** TLS by STARTTLS, or no mail. */
  readonly starttls: boolean
  readonly login: { readonly user: string; readonly pass: string } | null
  readonly from: string
}

/** The milliseconds that each step may take, all in all. */
export interface Patience {
  readonly connectMs: number
  readonly loginMs: number
  readonly sendMs: number
}

const usual: Patience = { connectMs: 20_000, loginMs: 20_000, sendMs: 60_000 }

/** A server that answers more at once is none. */
const longestAnswer = 64 * 1024

/** The mail server of the settings; throws MailTrouble while mail is off or incomplete. */
export const readMailServer = async (settings: Settings): Promise<MailServer> => {
  if (!(await settings.isOn('mail.enabled'))) throw new MailTrouble('Mail is switched off (mail.enabled).')
  const host = await settings.text('mail.host')
  if (!host) throw new MailTrouble('The setting mail.host is missing.')
  const from = canonicalEmail((await settings.text('mail.from')) ?? '')
  if (from === null) throw new MailTrouble('The setting mail.from is missing or no address.')
  const user = await settings.text('mail.username')
  return {
    host,
    port: await settings.integer('mail.port'),
    tls: await settings.isOn('mail.tls'),
    starttls: await settings.isOn('mail.starttls'),
    login: user ? { user, pass: (await settings.secret('mail.password')) ?? '' } : null,
    from,
  }
}

type Done = (error?: Error | null) => void

/** One step of a connection: an error or the end of its time ends the connection as well. */
const step = (connection: SMTPConnection, limitMs: number, begin: (done: Done) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const end: Done = error => {
      clearTimeout(timer)
      connection.off('error', end)
      if (error) reject(troubleOf(error))
      else resolve()
    }
    const timer = setTimeout(() => {
      connection.close()
      end(new MailTrouble('The mail server did not answer in time.'))
    }, limitMs)
    connection.once('error', end)
    begin(end)
  })

/** A mail as it goes over the wire. */
export interface WireMail {
  readonly to: string
  readonly message: Buffer
}

/** An open connection; close it in the end. */
export class MailSession {
  readonly #connection: SMTPConnection
  readonly #from: string
  readonly #patience: Patience

  private constructor(connection: SMTPConnection, from: string, patience: Patience) {
    this.#connection = connection
    this.#from = from
    this.#patience = patience
  }

  /** Connects and logs in; throws MailTrouble. Certificates are verified against the CAs that the process trusts. */
  static async open(server: MailServer, patience: Patience = usual): Promise<MailSession> {
    const { host, port, tls: secure, starttls: requireTLS, login, from } = server
    const connection = new SMTPConnection({
      host,
      port,
      secure,
      requireTLS,
      ignoreTLS: !requireTLS,
      connectionTimeout: patience.connectMs,
      greetingTimeout: patience.connectMs,
      socketTimeout: patience.sendMs,
      dnsTimeout: patience.connectMs,
      socketCloseTimeout: 1000,
      maxResponseSize: longestAnswer,
      tls: { minVersion: 'TLSv1.2' },
    })
    // Between two steps nobody listens, and an error without a listener would end the process.
    connection.on('error', () => {})
    const session = new MailSession(connection, from, patience)
    try {
      await step(connection, patience.connectMs, done => connection.connect(done))
      if (login) await step(connection, patience.loginMs, done => connection.login({ credentials: login }, done))
      return session
    } catch (error) {
      session.close()
      throw error
    }
  }

  /** Hands a mail to the server; resolves when it has taken it, throws MailTrouble. */
  async send({ to, message }: WireMail): Promise<void> {
    const envelope = { from: this.#from, to: [to], size: message.length }
    await step(this.#connection, this.#patience.sendMs, done => this.#connection.send(envelope, message, done))
  }

  /** Forgets a mail that the server refused; answers whether the connection can be used on. */
  async reset(): Promise<boolean> {
    try {
      await step(this.#connection, this.#patience.connectMs, done => this.#connection.reset(done))
      return true
    } catch {
      return false
    }
  }

  /** Says good-bye, and leaves also without an answer. */
  close(): void {
    if (this.#connection.stage === 'connected' && !this.#connection.destroyed) this.#connection.quit()
    setTimeout(() => this.#connection.close(), 1000).unref()
  }
}
