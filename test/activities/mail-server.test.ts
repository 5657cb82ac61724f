// One connection to a mail server: TLS, login, and what servers do that do not behave.
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { MailSession, type MailServer as Reached, type Patience } from '../../activities/mail/server.ts'
import { MailTrouble } from '../../activities/mail/trouble.ts'
import { Workbench } from '../pki/openssl.ts'
import {
  answering,
  makeServerIdentity,
  startMailServer,
  startStranger,
  type MailServerOptions,
} from '../support/mail-server.ts'

const bench = new Workbench()
const trustedBefore = getCACertificates('default')
let trusted: { key: string; cert: string }
let strange: { key: string; cert: string }
let misnamed: { key: string; cert: string }
let stop: (() => Promise<void>) | undefined

beforeAll(async () => {
  trusted = await makeServerIdentity(bench)
  strange = await makeServerIdentity(bench)
  misnamed = await makeServerIdentity(bench, 'elsewhere.example.org')
  // As NODE_EXTRA_CA_CERTS does at the start of a process.
  setDefaultCACertificates([...trustedBefore, trusted.cert, misnamed.cert])
})
afterEach(async () => {
  await stop?.()
  stop = undefined
})
afterAll(async () => {
  setDefaultCACertificates(trustedBefore)
  await bench.clear()
})

const patient: Patience = { connectMs: 10_000, loginMs: 10_000, sendMs: 10_000 }
const hasty: Patience = { connectMs: 400, loginMs: 400, sendMs: 400 }

const reached = (port: number, members: Partial<Reached> = {}): Reached => ({
  host: 'localhost',
  port,
  tls: false,
  starttls: false,
  login: null,
  from: 'ca@example.org',
  ...members,
})

const mail = { to: 'ops@example.org', message: Buffer.from('Subject: hello\r\n\r\nhello\r\n') }

const sendTo = async (server: Reached, patience = patient): Promise<void> => {
  const session = await MailSession.open(server, patience)
  try {
    await session.send(mail)
  } finally {
    session.close()
  }
}

const troubleOf = async (server: Reached, patience = patient): Promise<MailTrouble> => {
  const trouble = await sendTo(server, patience).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(trouble instanceof MailTrouble)) throw new Error(`No trouble, but ${String(trouble)}`)
  return trouble
}

const serve = async (options: MailServerOptions = {}) => {
  const server = await startMailServer(options)
  stop = server.stop
  return server
}
const stranger = async (behave: Parameters<typeof startStranger>[0]) => {
  const server = await startStranger(behave)
  stop = server.stop
  return server
}

const secret = 'Passwörter-und-mehr'
const auth: MailServerOptions = {
  authOptional: false,
  allowInsecureAuth: true,
  onAuth: ({ username, password }, _, done) =>
    username === 'certwright' && password === secret
      ? done(null, { user: username })
      : done(new Error(`Bad login ${username} ${password}`)),
}
const login = { user: 'certwright', pass: secret }

test('a mail goes over a plain connection, also to a server that offers STARTTLS', async () => {
  const server = await serve({ disabledCommands: [], ...strange })
  await sendTo(reached(server.port))
  expect(server.mails.map(({ to, from }) => [to, from])).toEqual([['ops@example.org', 'ca@example.org']])
})

test('a mail goes over STARTTLS to a server whose certificate is trusted', async () => {
  let secure: boolean | undefined
  const options = {
    disabledCommands: [],
    ...trusted,
    onMailFrom: (_: unknown, session: { secure: boolean }, done: () => void) => {
      secure = session.secure
      done()
    },
  }
  const server = await serve(options)
  await sendTo(reached(server.port, { starttls: true }))
  expect([server.mails.length, secure]).toEqual([1, true])
})

test('a mail goes over TLS from the start', async () => {
  const server = await serve({ secure: true, ...trusted })
  await sendTo(reached(server.port, { tls: true }))
  expect(server.mails).toHaveLength(1)
})

test.each([
  ['tls', { secure: true }],
  ['starttls', { disabledCommands: [] }],
])('with %s a certificate that nobody trusts, or of another name, is refused', async (setting, options) => {
  for (const identity of [strange, misnamed]) {
    const server = await serve({ ...options, ...identity })
    const trouble = await troubleOf(reached(server.port, { [setting]: true }))
    expect(trouble.message).toMatch(/^The certificate of the mail server is not accepted \([A-Z_]+\)\.$/)
    expect([trouble.scope, trouble.permanent]).toEqual(['SERVER', false])
    expect(server.mails).toEqual([])
    await server.stop()
  }
  stop = undefined
})

test('with starttls a server without STARTTLS gets neither login nor mail', async () => {
  const server = await serve(auth)
  const trouble = await troubleOf(reached(server.port, { starttls: true, login }))
  expect(trouble.message).toContain('TLS with the mail server failed')
  expect(server.mails).toEqual([])
})

test('a login is made by the settings, in TLS and in the clear', async () => {
  const plain = await serve(auth)
  await sendTo(reached(plain.port, { login }))
  expect(plain.mails).toHaveLength(1)
  await plain.stop()
  const secured = await serve({ ...auth, secure: true, ...trusted })
  await sendTo(reached(secured.port, { tls: true, login }))
  expect(secured.mails).toHaveLength(1)
})

test('a refused login is temporary and tells neither the password nor what the server said', async () => {
  const { port } = await serve(auth)
  for (const pass of [`${secret}!`, '']) {
    const trouble = await troubleOf(reached(port, { login: { user: 'certwright', pass } }))
    expect(trouble).toMatchObject({ scope: 'SERVER', permanent: false, answer: null })
    expect(trouble.message).toMatch(/^The mail server refused the login( \(535\))?\.$/)
    expect(JSON.stringify(trouble)).not.toContain(secret)
  }
})

test('a login that is missing is temporary', async () => {
  const { port } = await serve(auth)
  expect(await troubleOf(reached(port))).toMatchObject({ scope: 'SERVER', permanent: false })
})

test.each([
  [550, 'MAIL', true],
  [553, 'MAIL', true],
  [450, 'MAIL', false],
  [452, 'MAIL', false],
  [421, 'SERVER', false],
  [530, 'SERVER', false],
])('a recipient that is refused with %i concerns the %s, permanent: %s', async (code, scope, permanent) => {
  const { port } = await serve({ onRecipient: address => ({ code, text: `5.1.1 <${address}> no` }) })
  const trouble = await troubleOf(reached(port))
  expect(trouble).toMatchObject({ scope, permanent })
  expect(trouble.message).toContain(String(code))
  expect(trouble.message).not.toContain('ops@example.org')
})

test.each([
  [554, 'MAIL', true],
  [451, 'MAIL', false],
])('a mail that is refused with %i after its data concerns the %s, permanent: %s', async (code, scope, permanent) => {
  const { port } = await serve({ onMail: () => ({ code, text: 'the mail said hello' }) })
  const trouble = await troubleOf(reached(port))
  expect(trouble).toMatchObject({ scope, permanent })
  expect(trouble.message).toBe(`The mail server refused the mail (${code}).`)
})

test('after a refused recipient the same connection takes the next mail', async () => {
  const server = await serve({
    onRecipient: address => (address.startsWith('no') ? { code: 550, text: 'no' } : undefined),
  })
  const session = await MailSession.open(reached(server.port), patient)
  await expect(session.send({ ...mail, to: 'no@example.org' })).rejects.toMatchObject({ permanent: true })
  expect(await session.reset()).toBe(true)
  await session.send(mail)
  session.close()
  expect([server.mails.length, server.connections()]).toEqual([1, 1])
})

test('a sender that is refused is no fault of the mail', async () => {
  const { port } = await serve({
    onMailFrom: (_, __, done) => done(Object.assign(new Error('no'), { responseCode: 550 })),
  })
  const trouble = await troubleOf(reached(port))
  expect(trouble).toMatchObject({ scope: 'SERVER', permanent: false })
  expect(trouble.message).toContain('The mail server refused the sender')
})

test('a server that is not there is temporary', async () => {
  const { port, stop: leave } = await startMailServer()
  await leave()
  expect(await troubleOf(reached(port))).toMatchObject({ scope: 'SERVER', permanent: false })
  const nowhere = await troubleOf(reached(port, { host: 'mail.invalid' }))
  expect(nowhere.message).toMatch(/^The name of the mail server cannot be resolved/)
})

const polite = answering('220 hello\r\n', line => (line.startsWith('EHLO') ? '250 hello\r\n' : undefined))

test.each<[string, Parameters<typeof startStranger>[0]]>([
  ['says nothing', () => {}],
  ['greets letter by letter without end', socket => drip(socket, () => '2')],
  ['greets line by line without end', socket => drip(socket, () => '220-still greeting\r\n')],
  ['answers nothing after its greeting', polite],
  [
    'answers a mail letter by letter',
    socket => {
      polite(socket)
      socket.on('data', chunk => chunk.toString().startsWith('MAIL') && drip(socket, () => '2'))
    },
  ],
])('a server that %s is left in time', async (_, behave) => {
  const server = await stranger(behave)
  const begin = performance.now()
  const trouble = await troubleOf(reached(server.port), hasty)
  expect(trouble).toMatchObject({ scope: 'SERVER', permanent: false })
  expect(trouble.message).toMatch(/^The mail server did not answer in time/)
  // Both steps and what a busy machine adds: without bounds it would be minutes.
  expect(performance.now() - begin).toBeLessThan(15_000)
})

const drip = (
  socket: { write(text: string): unknown; destroyed: boolean; on(e: 'close', l: () => void): unknown },
  text: () => string,
): void => {
  const timer = setInterval(() => socket.destroyed || socket.write(text()), 20)
  socket.on('close', () => clearInterval(timer))
}

const dialogue = (data: string | undefined) =>
  answering('220 hello\r\n', (line, socket) => {
    if (line === 'DATA') return '354 go on\r\n'
    if (line === '.' || line.startsWith('Subject')) {
      if (data === undefined) socket.destroy()
      return data
    }
    return line === '' || line === 'hello' ? undefined : '250 yes\r\n'
  })

test.each<[string, Parameters<typeof startStranger>[0]]>([
  ['closes at once', socket => socket.end()],
  ['resets at once', socket => socket.resetAndDestroy()],
  ['breaks off in the middle of the data', dialogue(undefined)],
  ['greets with garbage', socket => socket.write(Buffer.from('\u0000\u0001garbage\r\n\r\n'))],
  ['greets with 70 KB', socket => socket.write('2'.repeat(70_000))],
  ['speaks HTTP', answering('HTTP/1.1 400 Bad Request\r\n\r\n', () => 'what?\r\n')],
  ['answers the data with garbage', dialogue('\u0007 nonsense\r\n')],
  ['serves nobody', answering('554 no mail here\r\n', () => '503 no\r\n')],
])('a server that %s is tried again later', async (_, behave) => {
  const { port } = await stranger(behave)
  expect(await troubleOf(reached(port))).toMatchObject({ permanent: false })
})

test('no connection stays behind', async () => {
  const server = await stranger(polite)
  await troubleOf(reached(server.port), hasty)
  const end = performance.now() + 10_000
  while (server.open() > 0 && performance.now() < end) await new Promise(resolve => void setTimeout(resolve, 50))
  expect(server.open()).toBe(0)
})
