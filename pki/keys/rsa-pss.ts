// RSASSA-PSS signatures (RFC 4055 3.1), which are read and never made: their parameters, and the key as it is under them.
import { constants, createPublicKey, verify } from 'node:crypto'
import { bitString, derNull, oid, sequence } from '../asn1/der.ts'
import { type DerValue, expectTag, readInteger, readOid, readSequence } from '../asn1/der-reader.ts'
import { keyOids } from './algorithms.ts'

/** The object identifier of RSASSA-PSS, of signatures and of keys that make nothing else. */
export const rsaPssOid = '1.2.840.113549.1.1.10'

const digests: Readonly<Record<string, string | undefined>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.4': 'sha224',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
  '2.16.840.1.101.3.4.2.5': 'sha512-224',
  '2.16.840.1.101.3.4.2.6': 'sha512-256',
  '2.16.840.1.101.3.4.2.7': 'sha3-224',
  '2.16.840.1.101.3.4.2.8': 'sha3-256',
  '2.16.840.1.101.3.4.2.9': 'sha3-384',
  '2.16.840.1.101.3.4.2.10': 'sha3-512',
}

const mgf1Oid = '1.2.840.113549.1.1.8'
const rsaEncryption = sequence(oid(keyOids.rsaEncryption), derNull)

/** What is signed with RSASSA-PSS: digest and digest of the mask, as node:crypto names them, and the octets of salt. */
export interface PssParameters {
  readonly digest: string
  readonly maskDigest: string
  readonly saltLength: number
}

const memberOf = (members: readonly DerValue[], number: number): DerValue | undefined =>
  members.find(({ tag }) => tag === (0xa0 | number))?.children[0]

const numberOf = (value: DerValue): number => {
  const content = readInteger(value)
  return content.length <= 2 ? content.readIntBE(0, content.length) : -1
}

const digestOf = (identifier: DerValue | undefined): string | undefined =>
  identifier ? digests[readOid(readSequence(identifier)[0])] : 'sha1'

const maskDigestOf = (generator: DerValue | undefined): string | undefined => {
  if (!generator) return 'sha1'
  const [algorithm, digest] = readSequence(generator)
  return readOid(algorithm) === mgf1Oid && digest ? digestOf(digest) : undefined
}

/** The parameters of an RSASSA-PSS AlgorithmIdentifier, or null when they are none that can be used; throws a DerError. */
export const findPssParameters = (identifier: DerValue): PssParameters | null => {
  const [, parameters] = readSequence(identifier)
  const members = expectTag(parameters, 0x30).children
  const [salt, trailer] = [memberOf(members, 2), memberOf(members, 3)]
  const [digest, maskDigest] = [digestOf(memberOf(members, 0)), maskDigestOf(memberOf(members, 1))]
  const saltLength = salt ? numberOf(salt) : 20
  const isUsable = saltLength >= 0 && (!trailer || numberOf(trailer) === 1)
  return digest && maskDigest && isUsable ? { digest, maskDigest, saltLength } : null
}

/** The key as SubjectPublicKeyInfo: one of RSASSA-PSS makes openssl obey the parameters of the signature. */
const keyFor = ({ digest, maskDigest }: PssParameters, identifier: DerValue, rsaPublicKey: Buffer): Buffer =>
  sequence(digest === maskDigest ? rsaEncryption : identifier.raw, bitString(rsaPublicKey))

/**
 * Whether an RSASSA-PSS signature is right under an RSA key (the octets of its RSAPublicKey); null for parameters that
 * cannot be checked here. openssl masks with the digest of the signature, unless the key itself names another one; such
 * keys it reads with SHA-1 and SHA-2 alone.
 */
export const isPssSignature = (
  signed: { readonly contents: Buffer; readonly identifier: DerValue; readonly signature: Buffer },
  rsaPublicKey: Buffer,
): boolean | null => {
  const found = findPssParameters(signed.identifier)
  if (!found) return null
  try {
    const spki = keyFor(found, signed.identifier, rsaPublicKey)
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
    const options = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: found.saltLength }
    return verify(found.digest, signed.contents, options, signed.signature)
  } catch {
    return null
  }
}
