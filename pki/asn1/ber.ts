// BER (ITU-T X.690 8), in which messages of others come: turned into the same value with definite, shortest lengths, so
// that the strict reader serves for it.
import * as pkijs from '../pkijs.ts'
import { tags, tlv } from './der.ts'
import { DerError, DerValue } from './der-reader.ts'

/** The most octets of a message (contract 6.8). */
export const longestMessage = 1_048_576

// Real messages have 15 levels and some hundred values.
const limits = { maxDepth: 40, maxNodes: 4000, parseEmbedded: false, copyInput: false }

const contentOf = ({ valueBeforeDecodeView: raw, idBlock, lenBlock }: pkijs.BaseBlock): Uint8Array =>
  raw.subarray(idBlock.blockLength + lenBlock.blockLength)

const piecesOf = (block: pkijs.OctetString): Uint8Array[] =>
  block.idBlock.isConstructed
    ? block.valueBlock.value.flatMap(piece => (piece instanceof pkijs.OctetString ? piecesOf(piece) : []))
    : [contentOf(block)]

const writeDefinite = (block: pkijs.BaseBlock): Buffer => {
  const [tag = 0] = block.valueBeforeDecodeView
  if (block instanceof pkijs.OctetString) return tlv(tags.octetString, ...piecesOf(block))
  if (block instanceof pkijs.Constructed) return tlv(tag, ...block.valueBlock.value.map(value => writeDefinite(value)))
  return tlv(tag, contentOf(block))
}

const parse = (bytes: Buffer, most: number): { block: pkijs.BaseBlock; end: number } => {
  try {
    const { result, offset } = pkijs.fromBER(bytes, { ...limits, maxContentLength: most })
    if (offset < 0) throw new DerError(result.error)
    return { block: result, end: offset }
  } catch (error) {
    throw error instanceof DerError ? error : new DerError('It is not BER')
  }
}

/** Reads a value and gets what follows it. */
type Read<T> = (value: DerValue, rest: Buffer) => T

const readAsDer = <T>(bytes: Buffer, read: Read<T>): T => {
  const value = new DerValue(bytes, 0, bytes.length)
  return read(value, bytes.subarray(value.end))
}

const readAsBer = <T>(bytes: Buffer, read: Read<T>, most: number): T => {
  const { block, end } = parse(bytes, most)
  const definite = writeDefinite(block)
  return read(new DerValue(definite, 0, definite.length), bytes.subarray(end))
}

/**
 * What `read` makes of the first value of the octets: as DER, and where it throws a DerError once more over the value in
 * definite, shortest lengths and with strings in one piece. Throws the DerError of the second time, and one for more than
 * `most` octets, 40 levels or 4,000 values of BER.
 */
export const readBer = <T>(bytes: Buffer, read: Read<T>, most = longestMessage): T => {
  if (bytes.length > most) throw new DerError(`It has more than ${most} octets`)
  try {
    return readAsDer(bytes, read)
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    return readAsBer(bytes, read, most)
  }
}

/** As readBer, and nothing may follow the value. */
export const readWholeBer = <T>(bytes: Buffer, read: (value: DerValue) => T, most = longestMessage): T => {
  const readAlone = (value: DerValue, rest: Buffer) => {
    if (rest.length > 0) throw new DerError('Octets follow the value')
    return read(value)
  }
  return readBer(bytes, readAlone, most)
}
