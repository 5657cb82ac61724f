// The body of a request, raw and bounded, whatever its media type says (contract 12.3).
import type { IncomingMessage } from 'node:http'

/**
 * The body; null as soon as it is longer than `most` octets. What is still on its way then is let through unread, so that
 * its sender sees the answer and no reset connection, for as long as a request may take.
 */
export const readBody = async (request: IncomingMessage, most: number): Promise<Buffer | null> => {
  const chunks: Buffer[] = []
  let octets = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    octets += chunk.length
    if (octets > most) break
    chunks.push(chunk)
  }
  if (octets <= most) return Buffer.concat(chunks)
  request.resume()
  return null
}
