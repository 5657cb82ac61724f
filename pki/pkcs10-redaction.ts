// PKCS#10 requests without the secrets that they carry: what is stored and shown of them (contract 5.4).
import { bitString, context, sequence } from './asn1/der.ts'
import { DerError, expectTag, readOid, readSequence, type DerValue } from './asn1/der-reader.ts'
import { readSigned } from './certificate/signed.ts'

/** Attributes whose values are secrets of the sender. */
const secretAttributes: ReadonlySet<string> = new Set([
  '1.2.840.113549.1.9.7', // challengePassword (RFC 2985 5.4.1)
  '1.2.840.113549.1.9.16.2.56', // otpChallenge (RFC 7894 3.1)
  '1.2.840.113549.1.9.16.2.57', // revocationChallenge (RFC 7894 3.2)
  '1.2.840.113549.1.9.16.2.58', // estIdentityLinking (RFC 7894 3.3)
])

const isSecret = (attribute: DerValue): boolean => secretAttributes.has(readOid(readSequence(attribute)[0]))

const raw = ({ raw: octets }: DerValue): Buffer => octets

/**
 * The request (DER, as parsePkcs10 takes it) itself when it carries no secret; else without its secret attributes and
 * with an empty signature: the true one would tell a right guess of the password from a wrong one.
 */
export const withoutSecrets = (der: Buffer): Buffer => {
  const { contents, algorithmIdentifier } = readSigned(der)
  const [version, subject, publicKey, attributes] = readSequence(contents)
  const all = attributes ? expectTag(attributes, 0xa0).children : []
  const kept = all.filter(attribute => !isSecret(attribute))
  if (kept.length === all.length || !version || !subject || !publicKey) return der
  const info = sequence(version.raw, subject.raw, publicKey.raw, context(0, ...kept.map(raw)))
  return sequence(info, algorithmIdentifier.raw, bitString(Buffer.alloc(0)))
}

/** Whether secrets were taken out of a stored request, which happens after its signature was checked only. */
export const isRedacted = (der: Buffer): boolean => {
  try {
    return readSigned(der).signature.length === 0
  } catch (error) {
    if (error instanceof DerError) return false
    throw error
  }
}
