// One request to an address that somebody else has named: to addresses that may be asked alone, judged where the connection is
// made, so that a name which means another machine a moment later gains nothing; no redirect is followed, no proxy is used,
// no login is sent, and time and octets are bounded.
import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup as resolve } from 'node:dns/promises'
import { type ClientRequest, type IncomingMessage, request as requestByHttp, type RequestOptions } from 'node:http'
import { request as requestByHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import pLimit from 'p-limit'

/** FORBIDDEN: no address that may be asked; UNREACHABLE: no answer in time; ANSWER: none of status 200, or too long. */
export type OutsideFault = 'FORBIDDEN' | 'UNREACHABLE' | 'ANSWER'

/** There is no answer; which connection failed in what way is not told to those who asked. */
export class OutsideError extends Error {
  override readonly name = 'OutsideError'
  readonly fault: OutsideFault

  constructor(fault: OutsideFault) {
    super(fault)
    this.fault = fault
  }
}

/** What is asked for where, and what may come back. */
export interface OutsideGet {
  /** http or https, without a login. */
  readonly url: string
  /** The most octets of an answer. */
  readonly most: number
  readonly ms: number
  /** Whether an IP address may be asked. */
  readonly mayBeAsked: (address: string) => boolean
}

/** The same, and what is sent. */
export interface OutsidePost extends OutsideGet {
  readonly body: Buffer
  readonly contentType: string
}

type Asked = OutsideGet & Partial<OutsidePost>

const forbidden = () => new OutsideError('FORBIDDEN')

/**
 * A lookup holds a thread of the pool in which keys sign, for as long as a name server takes: of its four, one at most is
 * for names that others chose.
 */
const oneAtATime = pLimit(1)

/** The lookup of a connection, of which only addresses come that may be asked; one that nobody waits for is not begun. */
const guarded = ({ mayBeAsked }: OutsideGet, signal: AbortSignal): LookupFunction => {
  const find = async (hostname: string, options: LookupOptions): Promise<LookupAddress[]> => {
    signal.throwIfAborted()
    const found = await resolve(hostname, { ...options, all: true })
    const addresses = found.filter(({ address }) => mayBeAsked(address))
    if (addresses.length === 0) throw forbidden()
    return addresses
  }
  const lookUp = callbackify((hostname: string, options: LookupOptions) => oneAtATime(find, hostname, options))
  return (hostname, options, callback) =>
    lookUp(hostname, options, (error, addresses) => {
      const [first] = addresses ?? []
      if (error || !first) callback(error ?? forbidden(), [])
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
}

const read = async (response: IncomingMessage, most: number): Promise<Buffer> => {
  if (response.statusCode !== 200) throw new OutsideError('ANSWER')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > most) throw new OutsideError('ANSWER')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const answered = (request: ClientRequest, most: number): Promise<Buffer> =>
  new Promise((settle, reject) => {
    request.on('error', reject)
    request.on('response', response => void read(response, most).then(settle, reject))
  })

const sentBy = ({ body, contentType }: Asked) =>
  body ? { 'Content-Type': contentType, 'Content-Length': body.length } : {}

const optionsOf = (asked: Asked): RequestOptions => {
  const signal = AbortSignal.timeout(asked.ms)
  return {
    method: asked.body ? 'POST' : 'GET',
    // A connection of its own: none that was made under another judgement, and no proxy of the environment.
    agent: false,
    lookup: guarded(asked, signal),
    headers: { ...sentBy(asked), Connection: 'close' },
    maxHeaderSize: 8192,
    signal,
  }
}

const ask = async (asked: Asked): Promise<Buffer> => {
  const url = new URL(asked.url)
  // No name, no lookup.
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !asked.mayBeAsked(literal)) throw forbidden()
  const request = (url.protocol === 'https:' ? requestByHttps : requestByHttp)(url, optionsOf(asked))
  try {
    const answer = answered(request, asked.most)
    request.end(asked.body)
    return await answer
  } catch (error) {
    throw error instanceof OutsideError ? error : new OutsideError('UNREACHABLE')
  } finally {
    request.destroy()
  }
}

/** The octets that an address answers a POST with, status 200; OutsideError. */
export const postOutside = (post: OutsidePost): Promise<Buffer> => ask(post)

/** The same of a GET. */
export const getOutside = (get: OutsideGet): Promise<Buffer> => ask(get)
