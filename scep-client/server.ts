// What the client asks of a SCEP server over HTTP. The server is believed by its CA's fingerprint, as RFC 8894 2.2 has it,
// and by the signatures of its replies: who it is for TLS does not matter (7.10).
import { createHash, X509Certificate } from 'node:crypto'
import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { readBag } from '../pki/cms/degenerate.ts'
import { type Manner, mannerOf } from './capabilities.ts'

class ServerRefusal extends Error {}

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

/** An answer with status 200: its media type without parameters, and its body. */
interface Answer {
  readonly type: string
  readonly body: Buffer
}

const exchange = async (url: URL, call: Call): Promise<Answer> => {
  const response = await responseTo(url, call)
  const chunks: Buffer[] = []
  let octets = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    octets += chunk.length
    if (octets > mostOctets) throw new Error(`${url.pathname} answered too much`)
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks)
  const [type = ''] = (response.headers['content-type'] ?? '').split(';')
  if (response.statusCode === 200) return { type: type.trim().toLowerCase(), body }
  throw new ServerRefusal(`The server answered ${response.statusCode}: ${body.toString('utf8', 0, 500).trim()}`)
}

const fingerprintOf = (der: Buffer): string => createHash('sha256').update(der).digest('hex')

/** GetCACert answers one certificate as it is, more of them in a bag (RFC 8894 4.2.1). */
const certificatesIn = ({ type, body }: Answer): readonly Buffer[] =>
  type === 'application/x-x509-ca-cert' ? [body] : readBag(body).certificates

// Servers older than GetCACaps answer an error.
const capabilities = async (get: (query: string) => Promise<Answer>): Promise<string> => {
  try {
    return (await get('operation=GetCACaps')).body.toString('latin1')
  } catch (error) {
    if (error instanceof ServerRefusal) return ''
    throw error
  }
}

/** An agent of Microsoft's (NDES), the RA of RFC 6402, and any usage. */
const agentUsages: ReadonlySet<string> = new Set(['1.3.6.1.4.1.311.20.2.1', '1.3.6.1.5.5.7.3.28', '2.5.29.37.0'])

/** Whether a certificate can be that of a SCEP server: those of devices and servers are for something else. */
const maySign = ({ ca, keyUsage: usages }: X509Certificate): boolean =>
  ca || !usages || usages.some(usage => agentUsages.has(usage))

/**
 * The certificates up to the CA that is known, each signed by the next; throws when the CA is not among them, and where the
 * first is a certificate of somebody else to whom it has issued, who could read challenges.
 */
const believed = (certificates: readonly Buffer[], fingerprint: string): readonly Buffer[] => {
  const known = certificates.findIndex(der => fingerprintOf(der) === fingerprint)
  if (known < 0) throw new Error(`No certificate of the server has the fingerprint ${fingerprint}.`)
  const path = certificates.slice(0, known + 1).map(der => new X509Certificate(der))
  for (const [index, issuer] of path.slice(1).entries())
    if (path[index]?.checkIssued(issuer) !== true || !path[index].verify(issuer.publicKey))
      throw new Error('The SCEP signer of the server is not issued by the known CA.')
  if (known > 0 && !maySign(path[0]!)) throw new Error('The certificate of the server is not that of a SCEP signer.')
  return certificates.slice(0, known + 1)
}

/** A SCEP server: whom messages are encrypted to, its CA, how it is spoken to, and how it answers messages. */
export interface ScepServer {
  readonly signer: Buffer
  readonly ca: Buffer
  readonly manner: Manner
  readonly ask: (message: Buffer) => Promise<Buffer>
}

/** Reads the certificates of a server and believes those that the known CA stands for. */
export const meetServer = async (address: string, fingerprint: string): Promise<ScepServer> => {
  const at = (query: string): URL => new URL(`?${query}`, address)
  const get = (query: string): Promise<Answer> => exchange(at(query), { method: 'GET' })
  const path = believed(certificatesIn(await get('operation=GetCACert&message=ca')), fingerprint)
  const manner = mannerOf(await capabilities(get))
  const [signer] = path
  const ca = path.at(-1)
  if (!signer || !ca) throw new Error('The server has no certificates.')
  const ask = async (message: Buffer): Promise<Buffer> => {
    const asked = manner.posts
      ? exchange(at('operation=PKIOperation'), { method: 'POST', body: message })
      : get(`operation=PKIOperation&message=${encodeURIComponent(message.toString('base64'))}`)
    return (await asked).body
  }
  return { signer, ca, manner, ask }
}
