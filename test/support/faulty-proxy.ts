// A proxy before the identity provider that fails as networks and servers do, when a test says so.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** PASSES; DOWN: nobody listens; DROPS: a write is done and its answer is lost; a status: writes are refused with it. */
export type Fault = 'PASSES' | 'DOWN' | 'DROPS' | number

const isWrite = (method: string, url: string): boolean => method !== 'GET' && url.includes('/admin/')

/**
 * Starts a proxy to an address: `set` says how it fails from now on (or for so many writes), `writes` what it has passed
 * on; `beforeWrite` happens before it passes one on, `beforeRead` before any other request, by its address.
 */
export const startFaultyProxy = async (target: string) => {
  let fault: Fault = 'PASSES'
  let left = Infinity
  let before = async (): Promise<void> => undefined
  let beforeOther: (url: string) => Promise<void> = async () => undefined
  const writes: string[] = []
  const sockets = new Set<Socket>()
  const faultNow = (): Fault => {
    if (left <= 0) return 'PASSES'
    left -= 1
    return fault
  }
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/', headers } = request
    const write = isWrite(method, url)
    const faulty = write && faultNow()
    if (typeof faulty === 'number') return void response.writeHead(faulty).end('{"error":"unknown_error"}')
    await (write ? before() : beforeOther(url))
    if (request.socket.destroyed) return
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { host: _, connection: __, 'content-length': ___, ...rest } = headers
    const answer = await fetch(`${target}${url}`, {
      method,
      headers: rest as Record<string, string>,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    })
    if (write) writes.push(`${method} ${url}`)
    const text = await answer.text()
    if (faulty === 'DROPS') return void request.socket.destroy()
    const location = answer.headers.get('location')
    const type = answer.headers.get('content-type')
    response.writeHead(answer.status, { ...(type && { 'content-type': type }), ...(location && { location }) })
    response.end(text || undefined)
  }
  const server = createServer((request, response) => void pass(request, response))
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const listen = (port: number) => new Promise<void>(resolve => void server.listen(port, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  const set = async (next: Fault, writesOnly = Infinity): Promise<void> => {
    left = writesOnly
    if (fault === 'DOWN' && next !== 'DOWN') await listen(port)
    if (fault !== 'DOWN' && next === 'DOWN') await close()
    fault = next
  }
  return {
    url: `http://127.0.0.1:${port}`,
    writes,
    set,
    stop: () => set('DOWN'),
    beforeWrite: (hook: typeof before) => void (before = hook),
    beforeRead: (hook: typeof beforeOther) => void (beforeOther = hook),
  }
}
