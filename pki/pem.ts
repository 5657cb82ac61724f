// PEM (RFC 7468) and base64 (RFC 4648) text: the one reader for all input. Time is linear in the text, whatever it holds.

/** The labels of RFC 7468 that the platform writes. */
export type PemLabel = 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'PRIVATE KEY' | 'PUBLIC KEY' | 'X509 CRL' | 'CMS'

/** One block: its label (empty for base64 without armour) and its DER, empty when the body is not base64. */
export interface PemBlock {
  readonly label: string
  readonly der: Buffer
}

/** PEM text of DER octets: LF, 64 columns, final newline (RFC 7468 2). */
export const encodePem = (label: PemLabel, der: Uint8Array): string => {
  const lines =
    Buffer.from(der.buffer, der.byteOffset, der.length)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

/** PEM blocks one after the other, as chains are written. */
export const encodePemChain = (label: PemLabel, ders: readonly Uint8Array[]): string =>
  ders.map(der => encodePem(label, der)).join('')

/** The objects that are read from text, with the labels that carry each (RFC 7468 5.1, 7; RFC 2986 in older tools). */
const labelsOf = {
  CERTIFICATE: ['CERTIFICATE', 'X509 CERTIFICATE', 'X.509 CERTIFICATE'],
  'CERTIFICATE REQUEST': ['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'],
  'PUBLIC KEY': ['PUBLIC KEY'],
} as const satisfies Partial<Record<PemLabel, readonly string[]>>

/** The longest text of one object: base64 of the longest that is read, with twice the white space that anybody writes. */
export const longestText = 200_000

/** A kind of object that is read from text, by its label. */
export type PemKind = keyof typeof labelsOf

// White space is that of RFC 7468 3. No groups but the last, of two at most: their backtracking would overflow the stack.
const form = /^[A-Za-z0-9+/ \t-\r]*(?:=[ \t-\r]*){0,2}$/

const octetsIn = (base64: string): number => Buffer.from(base64, 'base64').length

/** Whether text of this form, of which so many octets were read, is whole groups of four characters. */
const isWhole = (text: string, octets: number): boolean => {
  const first = text.indexOf('=')
  // One more character makes one more octet only where another was left over.
  if (first < 0) return octets % 3 === 0 && octetsIn(`${text}A`) === octets
  return octets % 3 === (text.includes('=', first + 1) ? 1 : 2)
}

/**
 * The octets of padded base64 text with any white space of ASCII, none for empty text; null when it is none (RFC 4648 4).
 * Texts of 32 MiB are read: passes over it are those of the engine, which takes nothing away piece by piece.
 */
export const findBase64 = (text: string): Buffer | null => {
  const trimmed = text.trim()
  if (!form.test(trimmed)) return null
  const octets = Buffer.from(trimmed, 'base64')
  return isWhole(trimmed, octets.length) ? octets : null
}

// Every label that is registered fits, and none of them holds a hyphen.
const begin = /-----BEGIN ([A-Z0-9 .]{1,64})-----/g

// RFC 1421 headers ("Proc-Type: …") may stand before the body, which begins behind the last line with a colon.
const withoutHeaders = (body: string): string => {
  const colon = body.lastIndexOf(':')
  if (colon < 0) return body
  const rest = body.slice(colon)
  const end = rest.search(/[\r\n]/)
  return end < 0 ? '' : rest.slice(end)
}

const noOctets = Buffer.alloc(0)

const bareBlock = (text: string): PemBlock[] => {
  const der = findBase64(text)
  return der && der.length > 0 ? [{ label: '', der }] : []
}

/**
 * All blocks of the text in their order; tolerates white space, CRLF and text around the blocks (RFC 7468 2), and bare
 * base64. A block without its END line before the next one has no octets.
 */
export const decodePem = (text: string): PemBlock[] => {
  const starts = [...text.matchAll(begin)]
  if (starts.length === 0) return bareBlock(text)
  return starts.map((start, index) => {
    const label = start[1] ?? ''
    const rest = text.slice(start.index + start[0].length, starts[index + 1]?.index)
    const end = rest.indexOf(`-----END ${label}-----`)
    const der = end < 0 ? null : findBase64(withoutHeaders(rest.slice(0, end)))
    return { label, der: der ?? noOctets }
  })
}

/** Whether a block may hold such an object: by its label, or as bare base64 without any. */
export const mayHold = (kind: PemKind, { label }: PemBlock): boolean =>
  label === '' || labelsOf[kind].some(known => known === label)

/** The octets of the first object of the kind, in PEM with anything around it or in bare base64; null without any. */
export const findObject = (kind: PemKind, text: string): Buffer | null => {
  const der = decodePem(text).find(block => mayHold(kind, block))?.der
  return der && der.length > 0 ? der : null
}

/** Whether the text has more blocks than a maximum; nothing is decoded. */
export const hasMoreBlocks = (text: string, max: number): boolean => text.matchAll(begin).drop(max).next().done !== true
