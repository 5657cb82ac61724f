// The HTTP server of the API: how long connections live, and what is answered to requests that are no HTTP.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../domain/failure.ts'
import type { createApp } from './app.ts'
import { bodyOf } from './kernel/errors.ts'

/** A query of 1,000 ids (contract 12, downloadCertificatesAsZip) has 41,000 octets; Node's own limit is 16,384. */
const maxHeaderSize = 65_536

/** Longer than balancers and clients keep idle connections, so that they close them and not we (contract 1.2). */
const keepAliveTimeout = 65_000

/** How long the rest of a refused request is read on before its connection is closed. */
const patienceMs = 2000
const patienceOctets = 4 * 1024 * 1024

const refusals: Readonly<Record<string, readonly [string, Failure]>> = {
  HPE_HEADER_OVERFLOW: [
    '400 Bad Request',
    new Failure('REQUEST_TOO_LARGE', 'The path, the query and the headers are longer than the 65536 octets allowed.'),
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    '408 Request Timeout',
    new Failure('INVALID_REQUEST', 'The request was not sent in time.'),
  ],
}
const malformed = ['400 Bad Request', new Failure('INVALID_REQUEST', 'The request is not HTTP.')] as const

/** What is answered outside the application, which says more itself. */
const answerOf = (failure: Failure) => {
  const body = JSON.stringify(bodyOf(failure))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  }
  return { headers, body }
}

const answerTo = (code = ''): string => {
  const [status, failure] = refusals[code] ?? malformed
  const { headers, body } = answerOf(failure)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `${[`HTTP/1.1 ${status}`, ...lines].join('\r\n')}\r\n\r\n${body}`
}

const refuse = (response: ServerResponse, status: number, message: string): void => {
  const { headers, body } = answerOf(new Failure('INVALID_REQUEST', message))
  response.writeHead(status, headers).end(body)
}

/** Path and query of a request's target, also of the absolute form that proxies send (RFC 9112 3.2); null for others. */
const targetOf = (url = ''): string | null => {
  if (url.startsWith('/') || url === '*') return url
  const absolute = /^https?:/i.test(url) ? URL.parse(url) : null
  return absolute && absolute.pathname + absolute.search
}

/** Answers what Node takes for a request and the application could not read; else hands it on. */
const admitting =
  (respond: (request: IncomingMessage, response: ServerResponse) => Promise<void>) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const target = targetOf(request.url)
    if (target === null) return refuse(response, 400, 'The target of the request is none.')
    if (request.httpVersion === '1.1' && request.headers.host === undefined)
      return refuse(response, 400, 'The header Host is missing.')
    request.url = target
    void respond(request, response)
  }

/** Answers what Node refuses before there is a request, as other failures are (contract 1.7), and reads on a little. */
const refuseMalformed = (server: Server): void => {
  const answering = new WeakMap<Socket, ServerResponse>()
  const refused = new WeakMap<Socket, number>()
  server.on('request', ({ socket }, response) => void answering.set(socket, response))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const seen = refused.get(socket)
    if (seen !== undefined) return void (socket.bytesRead - seen > patienceOctets && socket.destroy())
    const response = answering.get(socket)
    // Half an answer cannot be followed by another.
    const isBusy = response !== undefined && response.headersSent && !response.writableFinished
    if (error.code === 'ECONNRESET' || !socket.writable || isBusy) return void socket.destroy()
    refused.set(socket, socket.bytesRead)
    socket.end(answerTo(error.code))
    setTimeout(() => socket.destroy(), patienceMs).unref()
  })
}

/** Makes the HTTP server of an application; it does not listen yet. */
export const serverOf = (app: ReturnType<typeof createApp>): Server => {
  // Node would answer a missing Host itself, with nothing.
  const options = { maxHeaderSize, keepAliveTimeout, requireHostHeader: false }
  const server = createServer(options, admitting(app.callback()))
  server.on('checkExpectation', (_, response) => refuse(response, 417, 'The header Expect asks for what is not done.'))
  refuseMalformed(server)
  return server
}
