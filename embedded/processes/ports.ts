// Finds free ports and refuses taken ones before anything is started.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** A port that a part is going to listen on, with the variable that moves it elsewhere. */
export interface PlannedPort {
  readonly port: number
  readonly purpose: string
  readonly variable: string
}

const tryPort = (port: number): Promise<number | undefined> =>
  new Promise<number | undefined>(resolve => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined))
    })
  })

// Below the range from which systems take the ports of outgoing connections (Linux: 32768 and up): one of those can be
// gone before its listener starts.
const firstPort = 20_000
const endPort = 32_000
const handedOut = new Set<number>()

/** A port of the loopback interface that nobody listens on at the moment. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < 200; tries += 1) {
    const port = randomInt(firstPort, endPort)
    if (handedOut.has(port) || (await tryPort(port)) === undefined) continue
    handedOut.add(port)
    return port
  }
  throw new Error('No free port was found on 127.0.0.1: end some programs and try again.')
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
