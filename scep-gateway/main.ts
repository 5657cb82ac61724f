// The SCEP gateway's process: wiring, and a life that ends cleanly.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { z } from 'zod'
import { createGateway } from './app.ts'
import { ScepGatewayConfig } from './config.ts'
import { makeSelfSigned } from './self-signed.ts'

const parsed = ScepGatewayConfig.safeParse(process.env)
if (!parsed.success) {
  console.error(`The configuration of the SCEP gateway is wrong:\n${z.prettifyError(parsed.error)}`)
  process.exit(2)
}
const { SERVER_PORT, SERVER_ADDRESS, SERVER_SSL_CERTIFICATE, SERVER_SSL_PRIVATE_KEY } = parsed.data

const identity =
  SERVER_SSL_CERTIFICATE && SERVER_SSL_PRIVATE_KEY
    ? { cert: await readFile(SERVER_SSL_CERTIFICATE), key: await readFile(SERVER_SSL_PRIVATE_KEY) }
    : await makeSelfSigned(new Date())

const gateway = createGateway().callback()
const server = createServer(identity, (request, response) => void gateway(request, response))
server.listen(SERVER_PORT, SERVER_ADDRESS)

const stop = (): void => {
  server.close()
  server.closeAllConnections()
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
