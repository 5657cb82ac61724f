// What a certificate must be in every path in which it stands, and what its issuer must be (RFC 5280 6.1.3, 6.1.4).
import { DerError, readDer } from '../asn1/der-reader.ts'
import { extensionOids } from '../certificate/extensions.ts'
import { checkSignature, signatureName, type Signed, weaknessOf } from '../certificate/signed.ts'
import type { KeyUsage } from '../certificate/usages.ts'
import { findPublicKeyDescription, readPublicKeyParts, readRsaNumbers } from '../keys/public-key.ts'
import { type Allowance, Flaw } from './flaw.ts'
import type { PathCertificate } from './path-certificate.ts'

/** The extensions of policies, which usages.ts and extensions.ts do not know (RFC 5280 4.2.1.5, 4.2.1.11, 4.2.1.14). */
export const policyOids = {
  policyMappings: '2.5.29.33',
  policyConstraints: '2.5.29.36',
  inhibitAnyPolicy: '2.5.29.54',
} as const

// Of these the rest of the validation takes notice, or there is nothing in them to be judged.
const judged: ReadonlySet<string> = new Set([...Object.values(extensionOids), ...Object.values(policyOids)])

/** A time as it is told to callers, in whole seconds. */
export const timeText = (time: Date): string => time.toISOString().slice(0, 19).concat('Z')

const mustBeValid = ({ subjectDn, validity: { notBefore, notAfter } }: PathCertificate, now: Date): void => {
  if (now < notBefore) throw new Flaw(`The certificate of ${subjectDn} is not valid before ${timeText(notBefore)}.`)
  if (now > notAfter) throw new Flaw(`The certificate of ${subjectDn} expired at ${timeText(notAfter)}.`)
}

/** Throws a Flaw for a certificate that is not valid now, or has a critical extension that is not known here. */
export const mustStand = (certificate: PathCertificate, now: Date): void => {
  mustBeValid(certificate, now)
  const unknown = certificate.extensions.find(({ oid, critical }) => critical && !judged.has(oid))
  if (unknown)
    throw new Flaw(
      `The certificate of ${certificate.subjectDn} has the critical extension ${unknown.oid}, which is unknown.`,
    )
}

/** Whether the key may be used so (RFC 5280 6.1.4 n); one without the extension may. */
export const mayUse = ({ keyUsages }: PathCertificate, usage: KeyUsage): boolean => keyUsages?.includes(usage) ?? true

/** Throws a Flaw for what may not issue certificates (RFC 5280 6.1.4 k, n). */
export const mustIssue = (ca: PathCertificate): void => {
  if (!ca.isCa) throw new Flaw(`${ca.subjectDn} is no CA by its basic constraints.`)
  if (!mayUse(ca, 'keyCertSign')) throw new Flaw(`The key of ${ca.subjectDn} may not sign certificates (keyCertSign).`)
}

/** Larger ones keep the process busy: with an exponent as long as its modulus a key of 3072 bits takes 30 ms. */
const greatestModulus = 8192
const greatestExponent = 2n ** 256n

/** Keys of other algorithms, sizes and curves are not tried: what openssl computes with them can take long. */
const isKeyOfOurs = (publicKeySpki: Buffer): boolean => {
  const spki = readDer(publicKeySpki)
  const { cryptoAlgorithm, keySize, algorithm } = findPublicKeyDescription(spki) ?? {}
  if (cryptoAlgorithm !== 'RSA') return Boolean(algorithm)
  return (keySize ?? 0) <= greatestModulus && readRsaNumbers(readPublicKeyParts(spki).key).exponent < greatestExponent
}

const check = (signed: Signed, publicKeySpki: Buffer): string | null => {
  const weakness = weaknessOf(signed, publicKeySpki)
  if (weakness) return `made with ${weakness}, which can be forged`
  const verdict = isKeyOfOurs(publicKeySpki) ? checkSignature(signed, publicKeySpki) : null
  if (verdict === null) return `of an algorithm that cannot be checked here (${signatureName(signed)})`
  return verdict ? null : 'wrong'
}

/**
 * What is wrong with a signature under the key of a certificate; null when it is right. Throws a Flaw where it would be one
 * too many: a list that is not checked must make no path valid.
 */
export const signatureFlaw = (
  signed: Signed,
  { publicKeySpki }: PathCertificate,
  allowance: Allowance,
): string | null => {
  if (!allowance.spend('signatures')) throw new Flaw('There are more signatures than are checked.')
  try {
    return check(signed, publicKeySpki)
  } catch (error) {
    if (error instanceof DerError) return 'malformed, or the key is'
    throw error
  }
}
