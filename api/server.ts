// The HTTP server around the application.
import { createServer, type Server } from 'node:http'
import type { createApp } from './app.ts'

/** A query of 1,000 ids (contract 12, downloadCertificatesAsZip) has 41,000 octets; Node's own limit is 16,384. */
const maxHeaderSize = 65_536

/** Makes the server of an application; it does not listen yet. */
export const serverOf = (app: ReturnType<typeof createApp>): Server => {
  const respond = app.callback()
  return createServer({ maxHeaderSize }, (request, response) => void respond(request, response))
}
