// The client of bench/peers.ts: the same light one for ours and for the peers, over connections that are kept.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

/** Whom to call, and with what on each call. */
export interface Callee {
  readonly base: string
  readonly token?: string
  /** The root of its TLS certificate, PEM. */
  readonly ca?: string
}

/** Makes one call, such as `call('GET /realms/…')`, and answers the text; throws unless it succeeds. */
export type Call = (what: string, body?: unknown) => Promise<string>

const textOf = async (answer: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

/** A client that keeps up to so many connections. */
export const callerOf = ({ base, token, ca }: Callee, connections = 32): Call => {
  const settings = { keepAlive: true, maxSockets: connections, ...(ca && { ca }) }
  const secure = base.startsWith('https:')
  const agent = secure ? new HttpsAgent(settings) : new HttpAgent(settings)
  const request = secure ? httpsRequest : httpRequest
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  return async (what, body) => {
    const [method = 'GET', path = '/'] = what.split(' ')
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(`${base}${path}`, { method, agent, headers }, resolve)
      sent.once('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
    const text = await textOf(answer)
    if ((answer.statusCode ?? 500) >= 300)
      throw new Error(`${what} answered ${answer.statusCode}: ${text.slice(0, 500)}`)
    return text
  }
}
