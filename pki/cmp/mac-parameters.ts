// How a message of CMP says that a password protects it: the parameters of PasswordBasedMac (RFC 9810 5.1.3.1, RFC 9481 6.1.1)
// and of PBMAC1 (RFC 9481 6.1.2, RFC 8018 7.1), with the digests and HMACs that they are made of.
import { tags } from '../asn1/der.ts'
import { DerError, type DerValue, readInteger, readOctetString, readSequence } from '../asn1/der-reader.ts'
import { CmpError, readingCmp } from './cmp-error.ts'
import { type AlgorithmIdentifier, readAlgorithm } from './protected-part.ts'

/** A digest, or the HMAC by it: its name in contract 6.8 and that of node:crypto. */
export interface Digest {
  readonly name: string
  readonly hash: string
  readonly octets: number
  /** The OIDs of the digest itself. */
  readonly digestOid: string
  /** Those of its HMAC, of RFC 8018 B.1.2; HMAC-SHA1 has one of RFC 4210 as well. */
  readonly hmacOids: readonly string[]
}

const nistDigest = (number: number): string => `2.16.840.1.101.3.4.2.${number}`
const rsadsi = (number: number): string => `1.2.840.113549.2.${number}`

const digests: readonly Digest[] = [
  { name: 'SHA-1', hash: 'sha1', octets: 20, digestOid: '1.3.14.3.2.26', hmacOids: [rsadsi(7), '1.3.6.1.5.5.8.1.2'] },
  { name: 'SHA-224', hash: 'sha224', octets: 28, digestOid: nistDigest(4), hmacOids: [rsadsi(8)] },
  { name: 'SHA-256', hash: 'sha256', octets: 32, digestOid: nistDigest(1), hmacOids: [rsadsi(9)] },
  { name: 'SHA-384', hash: 'sha384', octets: 48, digestOid: nistDigest(2), hmacOids: [rsadsi(10)] },
  { name: 'SHA-512', hash: 'sha512', octets: 64, digestOid: nistDigest(3), hmacOids: [rsadsi(11)] },
]

/** The digest of a name such as `SHA-256` or an OID; null for what is none here. */
export const findDigest = (text: string): Digest | null =>
  digests.find(({ name, digestOid }) => text === name || text === digestOid) ?? null

/** The digest of an HMAC by its name, such as `HMAC-SHA256`, or an OID; null for what is none here. */
export const findHmac = (text: string): Digest | null =>
  digests.find(({ name, hmacOids }) => text === `HMAC-${name.replace('-', '')}` || hmacOids.includes(text)) ?? null

/** The OIDs of what is read here. */
export const macOids = {
  passwordBasedMac: '1.2.840.113533.7.66.13',
  pbmac1: '1.2.840.113549.1.5.14',
  pbkdf2: '1.2.840.113549.1.5.12',
} as const

/** How a key is made of a password, and which HMAC takes it. */
export interface MacParameters {
  readonly scheme: 'PBM' | 'PBMAC1'
  readonly salt: Buffer
  /** 1 to 2^31 - 1; what is too much says whoever has to do it. */
  readonly iterationCount: number
  /** PBM: what is repeated; PBMAC1: the digest of the pseudorandom function of PBKDF2. */
  readonly owf: Digest
  readonly mac: Digest
  /** Octets of the key of PBMAC1. */
  readonly keyLength: number
}

const longestKey = 256

const readCount = (value: DerValue | undefined, most = 2 ** 31 - 1): number => {
  const content = readInteger(value)
  const count = content.length > 5 ? 0 : content.readIntBE(0, content.length)
  if (count < 1 || count > most) throw new DerError('A number is out of range')
  return count
}

const mustLackParameters = ({ parameters }: AlgorithmIdentifier): void => {
  if (parameters && parameters.tag !== tags.null)
    throw new DerError('An algorithm has parameters that it does not take')
}

const readKnown = (value: DerValue | undefined, find: (oid: string) => Digest | null): Digest => {
  const algorithm = readAlgorithm(value)
  mustLackParameters(algorithm)
  const found = find(algorithm.oid)
  if (!found) throw new DerError('An algorithm of the MAC is none that is known here')
  return found
}

const readPbm = (parameters: DerValue | undefined): MacParameters => {
  const [salt, owf, iterationCount, mac, ...rest] = readSequence(parameters)
  if (rest.length > 0) throw new DerError('The parameters have additional members')
  return {
    scheme: 'PBM',
    salt: readOctetString(salt),
    owf: readKnown(owf, findDigest),
    iterationCount: readCount(iterationCount),
    mac: readKnown(mac, findHmac),
    keyLength: 0,
  }
}

/** RFC 8018 A.2: absent, the function is HMAC-SHA1. */
const usualFunction = 'HMAC-SHA1'

const readPbkdf2 = (value: DerValue | undefined) => {
  const { oid, parameters } = readAlgorithm(value)
  if (oid !== macOids.pbkdf2) throw new DerError('The key is not derived by PBKDF2')
  const [salt, iterationCount, ...optional] = readSequence(parameters)
  const keyLength = optional[0]?.tag === tags.integer ? optional.shift() : undefined
  const prf = optional.shift()
  if (optional.length > 0) throw new DerError('The parameters have additional members')
  const owf = prf ? readKnown(prf, findHmac) : findHmac(usualFunction)
  if (!owf) throw new DerError('The function is not known')
  return {
    salt: readOctetString(salt),
    iterationCount: readCount(iterationCount),
    keyLength: keyLength && readCount(keyLength, longestKey),
    owf,
  }
}

const readPbmac1 = (parameters: DerValue | undefined): MacParameters => {
  const [derivation, scheme, ...rest] = readSequence(parameters)
  if (rest.length > 0) throw new DerError('The parameters have additional members')
  const { keyLength, ...derived } = readPbkdf2(derivation)
  const mac = readKnown(scheme, findHmac)
  return { scheme: 'PBMAC1', ...derived, mac, keyLength: keyLength ?? mac.octets }
}

const readers: Readonly<Record<string, (parameters: DerValue | undefined) => MacParameters>> = {
  [macOids.passwordBasedMac]: readPbm,
  [macOids.pbmac1]: readPbmac1,
}

/** The parameters of a MAC by a password as the header of a message has them; CmpError for whatever else. */
export const readMacParameters = (protectionAlg: AlgorithmIdentifier | null): MacParameters => {
  const read = readers[protectionAlg?.oid ?? '']
  if (!read) throw new CmpError('The header does not say that a password protects the message')
  return readingCmp(() => read(protectionAlg?.parameters))
}
