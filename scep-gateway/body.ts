// The body of a request, raw and bounded, whatever its media type says (contract 12.3).
import type { IncomingMessage } from 'node:http'

/** Who sends it has gone, or took too long, in the middle of the body: nobody is there to be answered. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff'
}

const read = async (request: IncomingMessage, most: number): Promise<Buffer | null> => {
  const chunks: Buffer[] = []
  let octets = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    octets += chunk.length
    if (octets > most) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * The body; null as soon as it is longer than `most` octets. What is still on its way then is let through unread, so that
 * its sender sees the answer and no reset connection, for as long as a request may take. BrokenOff.
 */
export const readBody = async (request: IncomingMessage, most: number): Promise<Buffer | null> => {
  try {
    const body = await read(request, most)
    if (body === null) request.resume()
    return body
  } catch (error) {
    if (request.complete) throw error
    throw new BrokenOff('the body broke off', { cause: error })
  }
}
