// RSASSA-PSS signatures (RFC 4055 3.1), which are read and never made: their parameters, and the key as it is under them.
import { constants, createPublicKey, verify } from 'node:crypto'
import { bitString, sequence } from '../asn1/der.ts'
import { type DerValue, expectTag, readInteger, readOid, readSequence } from '../asn1/der-reader.ts'

/** The object identifier of RSASSA-PSS, of signatures and of keys that make nothing else. */
export const rsaPssOid = '1.2.840.113549.1.1.10'

const digests: Readonly<Record<string, string | undefined>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.4': 'sha224',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
  '2.16.840.1.101.3.4.2.7': 'sha3-224',
  '2.16.840.1.101.3.4.2.8': 'sha3-256',
  '2.16.840.1.101.3.4.2.9': 'sha3-384',
  '2.16.840.1.101.3.4.2.10': 'sha3-512',
}

/** What is signed with RSASSA-PSS: the digest of node:crypto and the octets of salt. */
export interface PssParameters {
  readonly digest: string
  readonly saltLength: number
}

const memberOf = (members: readonly DerValue[], number: number): DerValue | undefined =>
  members.find(({ tag }) => tag === (0xa0 | number))?.children[0]

const saltOf = (value: DerValue): number => {
  const content = readInteger(value)
  return content.length <= 2 ? content.readIntBE(0, content.length) : -1
}

/** The parameters of an RSASSA-PSS AlgorithmIdentifier, or null when they are none that can be used; throws a DerError. */
export const findPssParameters = (identifier: DerValue): PssParameters | null => {
  const [, parameters] = readSequence(identifier)
  const members = expectTag(parameters, 0x30).children
  const [hash, salt] = [memberOf(members, 0), memberOf(members, 2)]
  const digest = hash ? digests[readOid(readSequence(hash)[0])] : 'sha1'
  const saltLength = salt ? saltOf(salt) : 20
  return digest && saltLength >= 0 ? { digest, saltLength } : null
}

/**
 * Whether an RSASSA-PSS signature is right under an RSA key (the octets of its RSAPublicKey); null for parameters that
 * cannot be checked here. The key is read as an RSASSA-PSS key of the signature's own parameters, so that openssl obeys
 * all of them, the mask generation as well.
 */
export const isPssSignature = (
  signed: { readonly contents: Buffer; readonly identifier: DerValue; readonly signature: Buffer },
  rsaPublicKey: Buffer,
): boolean | null => {
  const found = findPssParameters(signed.identifier)
  if (!found) return null
  const spki = sequence(signed.identifier.raw, bitString(rsaPublicKey))
  try {
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
    const options = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: found.saltLength }
    return verify(found.digest, signed.contents, options, signed.signature)
  } catch {
    return null
  }
}
