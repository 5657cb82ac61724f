import { createServer } from 'node:net'

/** A port that a part is going to listen on, with the variable that moves it elsewhere. */
export interface PlannedPort {
  readonly port: number
  readonly purpose: string
  readonly variable: string
}

const tryPort = (port: number) =>
  new Promise<number | undefined>(resolve => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined))
    })
  })

/** A port of the loopback interface that nobody listens on at the moment. */
export const freePort = async (): Promise<number> => {
  const port = await tryPort(0)
  if (port === undefined) throw new Error('The system has no free port on 127.0.0.1: end some programs and try again.')
  return port
}

/** Throws one message that names every taken port, what it is for and how to choose another. */
export const checkPorts = async (planned: readonly PlannedPort[]): Promise<void> => {
  const free = await Promise.all(planned.map(({ port }) => tryPort(port)))
  const taken = planned.filter((_, index) => free[index] === undefined)
  if (taken.length === 0) return
  const lines = taken.map(
    ({ port, purpose, variable }) =>
      `  Port ${port} (${purpose}) is taken: end the program that listens on it, or choose another with ${variable}=<port>.`,
  )
  throw new Error(`Certwright cannot start:\n${lines.join('\n')}`)
}
