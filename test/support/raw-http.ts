// HTTP as old devices write it: octets over a socket, and what comes back.
import { connect } from 'node:net'

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  /** Status line and headers. */
  readonly head: string
  readonly body: Buffer
}

const bodyOf = (head: string, rest: Buffer): Buffer => {
  const [, length] = /^content-length: (\d+)\r?$/im.exec(head) ?? []
  return length === undefined ? rest : rest.subarray(0, Number(length))
}

const isWhole = (all: Buffer): boolean => {
  const end = all.indexOf('\r\n\r\n')
  const [, length] = /^content-length: (\d+)\r?$/im.exec(all.subarray(0, Math.max(end, 0)).toString('latin1')) ?? []
  return end > 0 && length !== undefined && all.length >= end + 4 + Number(length)
}

/** Reads an answer. */
export const readAnswer = (all: Buffer): RawAnswer => {
  const end = all.indexOf('\r\n\r\n')
  const head = all.subarray(0, end).toString('latin1')
  return { status: Number(head.split(' ')[1]), head, body: bodyOf(head, all.subarray(end + 4)) }
}

/** Sends octets to a loopback port and answers what came back until it was whole or the connection ended. */
export const sendRaw = (port: number, octets: string | Buffer): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let all = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      all = Buffer.concat([all, chunk])
      if (isWhole(all)) socket.end()
    })
    socket.on('error', reject)
    socket.on('close', () => (all.length > 0 ? resolve(readAnswer(all)) : reject(new Error('No answer came.'))))
    socket.write(octets)
  })
