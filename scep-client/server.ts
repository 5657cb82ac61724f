// What the client asks of a SCEP server over HTTP. The server is believed by its CA's fingerprint, as RFC 8894 2.2 has it,
// and by the signatures of its replies: who it is for TLS does not matter (7.10).
import { createHash, X509Certificate } from 'node:crypto'
import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { readBag } from '../pki/cms/degenerate.ts'

const timeoutMs = 60_000
const mostOctets = 16_777_216

interface Call {
  readonly method: 'GET' | 'POST'
  readonly body?: Buffer
}

const responseTo = (url: URL, { method, body }: Call): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const send = url.protocol === 'http:' ? overHttp : overHttps
    const asked = send(url, { method, rejectUnauthorized: false, signal: AbortSignal.timeout(timeoutMs) }, resolve)
    asked.on('error', reject)
    asked.end(body)
  })

/** The body of an answer with status 200. */
const exchange = async (url: URL, call: Call): Promise<Buffer> => {
  const response = await responseTo(url, call)
  const chunks: Buffer[] = []
  let octets = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    octets += chunk.length
    if (octets > mostOctets) throw new Error(`${url.pathname} answered too much`)
    chunks.push(chunk)
  }
  const answer = Buffer.concat(chunks)
  if (response.statusCode === 200) return answer
  throw new Error(`The server answered ${response.statusCode}: ${answer.toString('utf8', 0, 500).trim()}`)
}

const fingerprintOf = (der: Buffer): string => createHash('sha256').update(der).digest('hex')

/** The certificates up to the CA that is known, each signed by the next; throws when the CA is not among them. */
const believed = (certificates: readonly Buffer[], fingerprint: string): readonly Buffer[] => {
  const known = certificates.findIndex(der => fingerprintOf(der) === fingerprint)
  if (known < 0) throw new Error(`No certificate of the server has the fingerprint ${fingerprint}.`)
  const path = certificates.slice(0, known + 1).map(der => new X509Certificate(der))
  for (const [index, issuer] of path.slice(1).entries())
    if (path[index]?.checkIssued(issuer) !== true || !path[index].verify(issuer.publicKey))
      throw new Error('The SCEP signer of the server is not issued by the known CA.')
  return certificates.slice(0, known + 1)
}

/** A SCEP server: whom messages are encrypted to, its CA, and how it answers messages. */
export interface ScepServer {
  readonly signer: Buffer
  readonly ca: Buffer
  readonly ask: (message: Buffer) => Promise<Buffer>
}

/** Reads the certificates of a server and believes those that the known CA stands for. */
export const meetServer = async (address: string, fingerprint: string): Promise<ScepServer> => {
  const at = (query: string): URL => new URL(`?${query}`, address)
  const bag = readBag(await exchange(at('operation=GetCACert&message=ca'), { method: 'GET' }))
  const path = believed(bag.certificates, fingerprint)
  const [signer] = path
  const ca = path.at(-1)
  if (!signer || !ca) throw new Error('The server has no certificates.')
  return { signer, ca, ask: body => exchange(at('operation=PKIOperation'), { method: 'POST', body }) }
}
