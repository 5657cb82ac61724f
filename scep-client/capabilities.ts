// How a server is spoken to by what it says that it can do (RFC 8894 3.5): the best of that.
import type { RequestAlgorithms } from '../pki/scep/client.ts'

/** How messages are made and sent. */
export interface Manner {
  readonly algorithms: RequestAlgorithms
  /** By POST, not by GET. */
  readonly posts: boolean
  /** RenewalReq is known; a renewal is a PKCSReq else, signed by the old certificate as the drafts had it. */
  readonly renews: boolean
}

/**
 * The manner for the text of GetCACaps. A server that says nothing, and one that says SCEPStandard, can do what RFC 8894 2.9
 * asks of every server; nobody is ever spoken to by DES or MD5.
 */
export const mannerOf = (text: string): Manner => {
  const words = new Set(text.split(/[\r\n]/).map(line => line.trim().toLowerCase()))
  words.delete('')
  const isStandard = words.size === 0 || words.has('scepstandard')
  const can = (...names: readonly string[]): boolean => isStandard || names.some(name => words.has(name))
  return {
    algorithms: {
      cipher: can('aes') ? 'AES-128-CBC' : 'DES-EDE3-CBC',
      digest: can('sha-256') ? 'SHA-256' : can('sha-512') ? 'SHA-512' : 'SHA-1',
    },
    posts: can('postpkioperation'),
    renews: words.has('renewal'),
  }
}
