// The key of a certificate request for the checks of contract 5.4: brought in a PKCS#10 request or bare.
import { createHash } from 'node:crypto'
import { Failure } from '../../domain/failure.ts'
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

/** What came of a look at the key: nothing, or the Failure that is thrown in its place in the order of the checks. */
const refusalOf = async (look: () => Promise<void>): Promise<Failure | null> => {
  try {
    await look()
    return null
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

const keyOf = async (spki: () => Buffer): Promise<Pick<BroughtKey, 'spki' | 'describe' | 'checkStrength'>> => {
  const weakness = await refusalOf(async () => checkKeyStrength(spki()))
  return {
    spki,
    describe: () => factsOf(spki()),
    checkStrength: () => {
      if (weakness) throw weakness
    },
  }
}

/** The key of a DER PKCS#10 request (INVALID_PKCS10), its strength found out in the libuv pool. */
export const pkcs10Key = async (der: Buffer): Promise<BroughtKey> => {
  let read: Pkcs10Description | undefined
  const description = () => (read ??= parsePkcs10(der))
  return {
    ...(await keyOf(() => description().publicKeySpki)),
    checkProof: () => mustBeProven(description()),
    names: () => namesOf(description()),
  }
}

/** A bare key, DER SubjectPublicKeyInfo (INVALID_PUBLIC_KEY), its strength found out in the libuv pool. */
export const bareKey = async (spki: Buffer): Promise<BroughtKey> => ({
  ...(await keyOf(() => spki)),
  checkProof: () => undefined,
  names: () => null,
})

/** SHA-256 of a DER SubjectPublicKeyInfo, lower-case hex: the same key has the same hash in every certificate. */
export const publicKeyHash = (spki: Buffer): string => createHash('sha256').update(spki).digest('hex')
