// The body of a request, raw and bounded, whatever its media type says (contract 12.3).
import type { IncomingMessage } from 'node:http'

/** So much of a body that is too long is read away, so that its sender sees the answer and no reset connection. */
const patienceOctets = 8 * 1024 * 1024

/** The body; null when it is longer than `most` octets. */
export const readBody = async (request: IncomingMessage, most: number): Promise<Buffer | null> => {
  const chunks: Buffer[] = []
  let octets = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    octets += chunk.length
    if (octets <= most) chunks.push(chunk)
    else chunks.length = 0
    if (octets > patienceOctets) break
  }
  return octets > most ? null : Buffer.concat(chunks)
}
