// Mail servers of tests: real ones that take mails, refuse them, or behave as no server should.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { callbackify } from 'node:util'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { openssl, type Workbench } from '../pki/openssl.ts'

/** A mail that a server took. */
export interface TakenMail {
  readonly to: string
  readonly from: string
  /** As it came over the wire. */
  readonly source: string
  readonly mail: Email
}

/** What a server says to a command: nothing where it agrees. */
export type Refusal = { readonly code: number; readonly text: string } | undefined

/** How a server differs from one that takes everything. */
export interface MailServerOptions extends SMTPServerOptions {
  readonly onRecipient?: (address: string) => Refusal
  readonly onMail?: (mail: TakenMail) => Refusal
}

const errorOf = (refusal: Refusal): Error | null =>
  refusal ? Object.assign(new Error(refusal.text), { responseCode: refusal.code }) : null

const listening = async (server: { listen(port: number, host: string): unknown }, emitter: Server, port: number) => {
  server.listen(port, '127.0.0.1')
  await once(emitter, 'listening')
  return (emitter.address() as AddressInfo).port
}

/** Starts a mail server, on this port or a free one. */
export const startMailServer = async ({ onRecipient, onMail, ...options }: MailServerOptions = {}, wantedPort = 0) => {
  const mails: TakenMail[] = []
  let connections = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onConnect: (_, done) => {
      connections += 1
      done()
    },
    onRcptTo: ({ address }, _, done) => done(errorOf(onRecipient?.(address))),
    onData: (stream, { envelope }, done) =>
      callbackify(async () => {
        const source = await buffer(stream)
        const to = envelope.rcptTo.map(({ address }) => address).join()
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const taken = { to, from, source: source.toString(), mail: await PostalMime.parse(source) }
        const refusal = onMail?.(taken)
        if (!refusal) mails.push(taken)
        return errorOf(refusal)
      })((failed, refused) => done(failed ?? refused)),
    ...options,
  })
  server.on('error', () => {}) // a client that broke off
  const port = await listening(server, server.server, wantedPort)
  const stop = () => new Promise<void>(resolve => server.close(() => resolve()))
  return { port, mails, stop, connections: () => connections }
}
export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** Starts a server that does with each connection what the test says. */
export const startStranger = async (behave: (socket: Socket) => void) => {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    behave(socket)
  })
  const port = await listening(server, server, 0)
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { port, stop, open: () => sockets.size }
}

/** Answers each line that a client sends. */
export const answering = (greeting: string, answer: (line: string, socket: Socket) => string | undefined) => {
  return (socket: Socket): void => {
    socket.write(greeting)
    let rest = ''
    socket.on('data', chunk => {
      const lines = (rest + chunk.toString()).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const text = answer(line, socket)
        if (text !== undefined && socket.writable) socket.write(text)
      }
    })
  }
}

const kindOfIdentity = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ')

/** A key and a certificate of its own for `localhost`, PEM. */
export const makeServerIdentity = async (bench: Workbench, name = 'localhost') => {
  const key = await bench.file('')
  const made = await openssl(
    ...kindOfIdentity,
    '-keyout',
    key,
    '-subj',
    `/CN=${name}`,
    '-addext',
    `subjectAltName=DNS:${name}`,
  )
  const keyPem = await openssl('pkey', '-in', key)
  return { key: keyPem.output.toString(), cert: made.output.toString() }
}
