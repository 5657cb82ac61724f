// The key of a certificate request for the checks of contract 5.4: brought in a PKCS#10 request or bare.
import { createHash } from 'node:crypto'
import type { KeyFacts } from '../../domain/key-rules.ts'
import type { KeySource } from '../../domain/request-rules.ts'
import { checkKeyStrength } from './key-strength.ts'
import { mustBeProven, parsePkcs10, type Pkcs10Description } from '../pkcs10.ts'
import { describePublicKey } from './public-key.ts'

/** A key source whose public key (DER SubjectPublicKeyInfo) is there already. */
export interface BroughtKey extends KeySource {
  /** DER SubjectPublicKeyInfo; throws as `describe`. */
  readonly spki: () => Buffer
}

const factsOf = (spki: Buffer): KeyFacts => {
  const { cryptoAlgorithm, keySize, namedCurve } = describePublicKey(spki)
  return { cryptoAlgorithm, keySize: cryptoAlgorithm === 'RSA' ? keySize : null, namedCurve }
}

const namesOf = ({ subject, sans, unread }: Pkcs10Description) => {
  const ofType = (type: string) => sans.filter(san => san.type === type).map(({ value }) => value)
  return {
    commonNames: subject.commonNames,
    organizations: subject.organizations,
    organizationalUnits: subject.organizationalUnits,
    countries: subject.countries,
    emails: [...subject.emailAddresses, ...ofType('EMAIL')],
    domains: ofType('DNS'),
    ips: ofType('IP'),
    unread,
  }
}

/** The key of a DER PKCS#10 request (INVALID_PKCS10). */
export const pkcs10Key = (der: Buffer): BroughtKey => {
  let read: Pkcs10Description | undefined
  const description = () => (read ??= parsePkcs10(der))
  return {
    spki: () => description().publicKeySpki,
    describe: () => factsOf(description().publicKeySpki),
    checkProof: () => mustBeProven(description()),
    checkStrength: () => checkKeyStrength(description().publicKeySpki),
    names: () => namesOf(description()),
  }
}

/** A bare key, DER SubjectPublicKeyInfo (INVALID_PUBLIC_KEY). */
export const bareKey = (spki: Buffer): BroughtKey => ({
  spki: () => spki,
  describe: () => factsOf(spki),
  checkProof: () => undefined,
  checkStrength: () => checkKeyStrength(spki),
  names: () => null,
})

/** SHA-256 of a DER SubjectPublicKeyInfo, lower-case hex: the same key has the same hash in every certificate. */
export const publicKeyHash = (spki: Buffer): string => createHash('sha256').update(spki).digest('hex')
