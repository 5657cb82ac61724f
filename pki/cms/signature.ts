// Whether the signature of a SignerInfo is right (RFC 5652 5.4 to 5.6), by RSASSA-PKCS1-v1_5 or RSASSA-PSS.
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { setOf } from '../asn1/der.ts'
import { DerError, type DerValue, readDer, readOctetString, readOid, readSet } from '../asn1/der-reader.ts'
import { findSignatureAlgorithm, keyOids } from '../keys/algorithms.ts'
import { readPublicKeyParts } from '../keys/public-key.ts'
import { findPssParameters, isPssSignature, rsaPssOid } from '../keys/rsa-pss.ts'
import {
  type AlgorithmRules,
  type Digest,
  getDigest,
  md5WithRsaOid,
  readAlgorithm,
  refuseAlgorithm,
} from './algorithms.ts'
import { CmsError, readingCms } from './cms-error.ts'
import { contentTypes } from './content-info.ts'
import { isNamedBy, type Party, readParty } from './parties.ts'
import { attributeValues, type SignedData, type SignerInfo } from './signed-data.ts'

/** The object identifiers of the attributes that every signature has (RFC 5652 11). */
export const signatureAttributeOids = {
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
} as const

/** Who signed, by which digest. */
export interface Verified {
  readonly signer: Party
  readonly digest: Digest
}

const refuse = (message: string): never => {
  throw new CmsError('SIGNATURE', message)
}

/** The value of an attribute that must be there once with one value, else CmsError SIGNATURE. */
const getOnly = (info: SignerInfo, dotted: string): DerValue => {
  const [value, ...more] = attributeValues(info, dotted)
  return value && more.length === 0 ? value : refuse(`The attribute ${dotted} is not there exactly once`)
}

const checkContent = (info: SignerInfo, content: Buffer, digest: Digest): void => {
  const { contentType, messageDigest } = signatureAttributeOids
  if (readOid(getOnly(info, contentType)) !== contentTypes.data) refuse('The attribute contentType is not data')
  const stated = readOctetString(getOnly(info, messageDigest))
  if (!stated.equals(hash(digest.hash, content, 'buffer'))) refuse('The digest is not that of the content')
}

const leastModulus = 1024
// Larger ones keep the process busy.
const greatestModulus = 8192

const importRsa = ({ spki }: Party): KeyObject => {
  const { algorithmOid } = readPublicKeyParts(readDer(spki))
  if (algorithmOid !== keyOids.rsaEncryption) return refuseAlgorithm(algorithmOid)
  try {
    return createPublicKey({ key: spki, format: 'der', type: 'spki' })
  } catch {
    return refuse('The key of the signer is malformed')
  }
}

// Under the exponent 1 everybody signs, under an even one nobody. 3 is in the field, and openssl reads the whole block that is
// signed, so that none is forged by its cube root; a longer one than FIPS 186-5 has only costs time.
const leastExponent = 3n
const greatestExponent = 2n ** 256n

const isUsableExponent = (exponent: bigint): boolean =>
  exponent >= leastExponent && exponent < greatestExponent && exponent % 2n === 1n

const getKey = (party: Party): KeyObject => {
  const key = importRsa(party)
  const { modulusLength: bits = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (bits < leastModulus || bits > greatestModulus)
    throw new CmsError('ALGORITHM', `RSA keys of ${bits} bits are not supported`)
  if (!isUsableExponent(publicExponent))
    throw new CmsError('ALGORITHM', 'RSA exponents that are even, below 3 or of more than 256 bits are not supported')
  return key
}

/** Judges octets by the key of a party. */
type Judge = (party: Party, octets: Buffer) => boolean

const pssJudge = ({ signatureAlgorithm: identifier, signature }: SignerInfo, digest: Digest): Judge => {
  if (findPssParameters(identifier)?.digest !== digest.hash) return refuseAlgorithm(rsaPssOid)
  return (party, octets) => {
    getKey(party)
    const rsaPublicKey = readPublicKeyParts(readDer(party.spki)).key
    return isPssSignature({ contents: octets, identifier, signature }, rsaPublicKey) === true
  }
}

const judgeOf = (info: SignerInfo, digest: Digest): Judge => {
  const { dotted } = readAlgorithm(info.signatureAlgorithm)
  if (dotted === rsaPssOid) return pssJudge(info, digest)
  const byDigest: Judge = (party, octets) => verify(digest.hash, octets, getKey(party), info.signature)
  if (digest.name === 'MD5' && dotted === md5WithRsaOid) return byDigest
  const algorithm = findSignatureAlgorithm(dotted)
  const named = dotted === keyOids.rsaEncryption ? digest.hash : algorithm?.digest
  if (dotted !== keyOids.rsaEncryption && algorithm?.keyOid !== keyOids.rsaEncryption) return refuseAlgorithm(dotted)
  if (named !== digest.hash) return refuse('The signature is by another digest')
  return byDigest
}

const sortedForm = (signedAttributes: Buffer): Buffer =>
  setOf(...readSet(readDer(signedAttributes, undefined, signedAttributes.length)).map(({ raw }) => raw))

// Who signs with attributes out of order signs them as they are, or as they should be.
const isSignedBy = (party: Party, signedAttributes: Buffer, judge: Judge): boolean =>
  judge(party, signedAttributes) || judge(party, sortedForm(signedAttributes))

const readableParty = (der: Buffer): Party[] => {
  try {
    return [readParty(der)]
  } catch (error) {
    if (error instanceof DerError) return []
    throw error
  }
}

// Certificates made to look like another have its names: the signer is the one whose key signed.
const mostNamesakes = 4

const findSigner = (info: SignerInfo, certificates: readonly Buffer[], judge: Judge): Party => {
  const { signedAttributes } = info
  if (!signedAttributes) return refuse('There are no signed attributes')
  const named = certificates.flatMap(readableParty).filter(party => isNamedBy(party, info.id))
  if (named.length === 0) refuse('The certificate of the signer is missing')
  const signer = named.slice(0, mostNamesakes).find(party => isSignedBy(party, signedAttributes, judge))
  return signer ?? refuse('The signature is wrong')
}

/**
 * Verifies the one signature of a SignedData over its content: signer certificate among the certificates, signature over
 * the signed attributes in their received or in sorted order, contentType data, messageDigest. CmsError SIGNATURE when that
 * is not so, ALGORITHM for a digest, signature or key that is not supported, MALFORMED for a part that is unreadable.
 */
export const verifySignedData = (
  { content, certificates, signerInfos }: SignedData,
  rules: AlgorithmRules = {},
): Verified =>
  readingCms(() => {
    const [info, ...more] = signerInfos
    if (!info || more.length > 0) return refuse('There is not exactly one signature')
    if (!content) return refuse('There is no content')
    const digest = getDigest(readAlgorithm(info.digestAlgorithm).dotted, rules)
    const signer = findSigner(info, certificates, judgeOf(info, digest))
    checkContent(info, content, digest)
    return { signer, digest }
  })
