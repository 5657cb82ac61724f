// A proxy between a gateway and its service: it notes every call, and is away when a test says so.
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { listening } from '../../scep-gateway/server.ts'

/** Starts a proxy to a service; `away(call)` says of which calls the connection breaks. */
export const startServiceProxy = async (target: string) => {
  const calls: string[] = []
  let away = (_call: string): boolean => false
  const { port: targetPort } = new URL(target)
  const pass = (request: IncomingMessage, response: ServerResponse): void => {
    const { method, url: path, headers } = request
    const call = `${method} ${path?.replace(/\?.*/s, '')}`
    if (away(call)) return void request.socket.destroy()
    calls.push(call)
    const onward = httpRequest({ host: '127.0.0.1', port: targetPort, method, path, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => request.socket.destroy())
    request.pipe(onward)
    return undefined
  }
  const server = createServer(pass)
  const port = await listening(server, 0, '127.0.0.1')
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    count: (path: string): number => calls.filter(call => call.endsWith(path)).length,
    setAway: (next: typeof away) => void (away = next),
    stop: async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise(resolve => void server.close(resolve))
    },
  }
}
