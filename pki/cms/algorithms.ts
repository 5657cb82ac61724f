// The algorithms of CMS messages (RFC 3370, RFC 3565, RFC 5754, RFC 8894 2.9): digests, content ciphers, key transports. DES
// and MD5 (RFC 8894 7.5) are here for whoever allows them in so many words.
import { derNull, oid, sequence } from '../asn1/der.ts'
import { type DerValue, readOid, readSequence } from '../asn1/der-reader.ts'
import { CmsError } from './cms-error.ts'

/** A digest: the names of contract 6.8 and of node:crypto, its octets, and its AlgorithmIdentifier with NULL. */
export interface Digest {
  readonly name: DigestName | 'MD5'
  /** What replies to a message by this digest are signed with. */
  readonly answer: DigestName
  readonly oid: string
  readonly hash: string
  readonly octets: number
  readonly identifier: Buffer
}

/** The digests that messages are signed with. */
export type DigestName = 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512'

const digest = (name: Digest['name'], dotted: string, octets: number): Digest => ({
  name,
  answer: name === 'MD5' ? 'SHA-1' : name,
  oid: dotted,
  hash: name.replace('-', '').toLowerCase(),
  octets,
  identifier: sequence(oid(dotted), derNull),
})

/** The digests by name. */
export const digests: Readonly<Record<DigestName, Digest>> = {
  'SHA-1': digest('SHA-1', '1.3.14.3.2.26', 20),
  'SHA-256': digest('SHA-256', '2.16.840.1.101.3.4.2.1', 32),
  'SHA-384': digest('SHA-384', '2.16.840.1.101.3.4.2.2', 48),
  'SHA-512': digest('SHA-512', '2.16.840.1.101.3.4.2.3', 64),
}

const md5 = digest('MD5', '1.2.840.113549.2.5', 16)

/** The ciphers that contents are encrypted with. */
export type ContentCipherName = 'AES-128-CBC' | 'AES-192-CBC' | 'AES-256-CBC' | 'DES-EDE3-CBC' | 'DES-CBC'

/** A content cipher: the name of node:crypto and how often it wants the key, and the octets of key and block. */
export interface ContentCipher {
  readonly name: ContentCipherName
  readonly oid: string
  readonly cipher: string
  readonly keyCopies: number
  readonly keyOctets: number
  readonly blockOctets: number
}

const cipher = (name: ContentCipherName, dotted: string, octets: readonly [number, number]): ContentCipher => ({
  name,
  oid: dotted,
  cipher: name.toLowerCase(),
  keyCopies: 1,
  keyOctets: octets[0],
  blockOctets: octets[1],
})

/** The content ciphers by name, without those that have to be allowed. */
export const contentCiphers: Readonly<Record<Exclude<ContentCipherName, 'DES-CBC'>, ContentCipher>> = {
  'AES-128-CBC': cipher('AES-128-CBC', '2.16.840.1.101.3.4.1.2', [16, 16]),
  'AES-192-CBC': cipher('AES-192-CBC', '2.16.840.1.101.3.4.1.22', [24, 16]),
  'AES-256-CBC': cipher('AES-256-CBC', '2.16.840.1.101.3.4.1.42', [32, 16]),
  'DES-EDE3-CBC': cipher('DES-EDE3-CBC', '1.2.840.113549.3.7', [24, 8]),
}

// openssl has single DES among its old algorithms only; DES-EDE3 with one key three times is the same.
const des = { ...cipher('DES-CBC', '1.3.14.3.2.7', [8, 8]), cipher: 'des-ede3-cbc', keyCopies: 3 }

/** The content cipher of a name. */
export const cipherNamed = (name: ContentCipherName): ContentCipher => (name === 'DES-CBC' ? des : contentCiphers[name])

/** A content key as node:crypto wants it. */
export const cipherKey = ({ keyCopies }: ContentCipher, key: Buffer): Buffer =>
  Buffer.concat(Array.from({ length: keyCopies }, () => key))

/** Whether DES and MD5 are taken too; they are not unless that is said. */
export interface AlgorithmRules {
  readonly insecureAlgorithms?: boolean
}

/** The signature algorithm MD5 with RSA (RFC 3370 3.2). */
export const md5WithRsaOid = '1.2.840.113549.1.1.4'

/** RSAES-OAEP (RFC 4055 4.1). */
export const oaepOid = '1.2.840.113549.1.1.7'

// Recognised and refused (RFC 8894 7.5), so that a log says more than numbers.
const refused: Readonly<Record<string, string | undefined>> = {
  [md5.oid]: 'MD5',
  [md5WithRsaOid]: 'MD5 with RSA',
  [des.oid]: 'DES-CBC',
  '1.2.840.113549.3.2': 'RC2-CBC',
}

const refusal = (dotted: string): CmsError =>
  new CmsError('ALGORITHM', `The algorithm ${refused[dotted] ?? dotted} is not supported`)

/** The OID of an AlgorithmIdentifier and its parameters, null without; throws a DerError. */
export const readAlgorithm = (identifier: DerValue | undefined): { dotted: string; parameters: DerValue | null } => {
  const [type, parameters = null] = readSequence(identifier)
  return { dotted: readOid(type), parameters }
}

/** The digest of an OID, else CmsError ALGORITHM. */
export const getDigest = (dotted: string, { insecureAlgorithms = false }: AlgorithmRules = {}): Digest => {
  const known = [...Object.values(digests), ...(insecureAlgorithms ? [md5] : [])]
  const found = known.find(row => row.oid === dotted)
  if (!found) throw refusal(dotted)
  return found
}

/** The content cipher of an OID, else CmsError ALGORITHM. */
export const getContentCipher = (
  dotted: string,
  { insecureAlgorithms = false }: AlgorithmRules = {},
): ContentCipher => {
  const known = [...Object.values(contentCiphers), ...(insecureAlgorithms ? [des] : [])]
  const found = known.find(row => row.oid === dotted)
  if (!found) throw refusal(dotted)
  return found
}

/** Fails with CmsError ALGORITHM. */
export const refuseAlgorithm = (dotted: string): never => {
  throw refusal(dotted)
}
