// A proxy between a gateway and its service: it notes every call, and is away, deaf or slow when a test says so.
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { listening } from '../../scep-gateway/server.ts'

/** Which calls, such as `POST /api/v1/scep/sign`. */
type Which = (call: string) => boolean
const none: Which = () => false

/** What a proxy does to calls. */
interface Troubles {
  /** The connection breaks before the service hears of the call. */
  away: Which
  /** The connection breaks after the service has answered. */
  lost: Which
  /** The call waits until it is let go. */
  held: Which
}

interface Passed {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly isLost: () => boolean
}

const send = (port: string, { request, response, isLost }: Passed): void => {
  const { method, url: path, headers } = request
  const onward = httpRequest({ host: '127.0.0.1', port, method, path, headers }, answer => {
    if (isLost()) return void answer.resume().on('end', () => request.socket.destroy())
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
    return undefined
  })
  onward.on('error', () => request.socket.destroy())
  request.pipe(onward)
}

/** Starts a proxy to a service. */
export const startServiceProxy = async (target: string) => {
  const calls: string[] = []
  const troubles: Troubles = { away: none, lost: none, held: none }
  let waiting: (() => void)[] = []
  const { port: targetPort } = new URL(target)
  const pass = (request: IncomingMessage, response: ServerResponse): void => {
    const call = `${request.method} ${request.url?.replace(/\?.*/s, '')}`
    if (troubles.away(call)) return void request.socket.destroy()
    calls.push(call)
    const isLost = (): boolean => troubles.lost(call)
    const go = (): void => send(targetPort, { request, response, isLost })
    return troubles.held(call) ? void waiting.push(go) : go()
  }
  const server = createServer(pass)
  const port = await listening(server, 0, '127.0.0.1')
  /** Lets go what waits, and all that comes. */
  const release = (): void => {
    troubles.held = none
    for (const go of waiting.splice(0)) go()
  }
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    count: (path: string): number => calls.filter(call => call.endsWith(path)).length,
    setAway: (next: Which) => void (troubles.away = next),
    setLost: (next: Which) => void (troubles.lost = next),
    hold: (which: Which) => void (troubles.held = which),
    release,
    /** No troubles any more. */
    heal: (): void => {
      Object.assign(troubles, { away: none, lost: none })
      release()
    },
    stop: async (): Promise<void> => {
      waiting = []
      server.closeAllConnections()
      await new Promise(resolve => void server.close(resolve))
    },
  }
}
export type ServiceProxy = Awaited<ReturnType<typeof startServiceProxy>>
