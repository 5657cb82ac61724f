// What a request asks for, out of its envelope (RFC 8894 3.3.1 to 3.3.5).
import { Failure } from '../../domain/failure.ts'
import { readWholeBer } from '../asn1/ber.ts'
import { tags } from '../asn1/der.ts'
import { DerError, type DerValue, expectTag, readSequence } from '../asn1/der-reader.ts'
import { readSigned } from '../certificate/signed.ts'
import { readIssuerAndSerial } from '../cms/parties.ts'
import { parseName } from '../names/name.ts'
import { attributeOids, readAttributes } from '../pkcs10-attributes.ts'
import { mustBeProven, parsePkcs10, type Pkcs10Description } from '../pkcs10.ts'
import { MalformedChallenge, type ReplyContext, ScepRefusal, undecipherable } from './refusal.ts'
import type { ScepRequest } from './request.ts'
import { findAnyText } from './text.ts'
import type { RequestType } from './vocabulary.ts'

/** PKCSReq and RenewalReq: the PKCS#10 request. */
export interface Enrolment {
  readonly kind: 'ENROLMENT'
  readonly request: Pkcs10Description
  /** A secret; null when it is absent or empty, which is the same. */
  readonly challengePassword: string | null
}

/** CertPoll: IssuerAndSubject, DER names. */
export interface Poll {
  readonly kind: 'POLL'
  readonly issuer: Buffer
  readonly subject: Buffer
}

/** GetCert and GetCRL: DER name and lower-case hex, as certificates are described. */
export interface Lookup {
  readonly kind: 'LOOKUP'
  readonly issuer: Buffer
  readonly serialNumber: string
}

/** What a request asks for. */
export type RequestContent = Enrolment | Poll | Lookup

/** The values of each attribute, which may have none. */
const challengesIn = (der: Buffer): (readonly DerValue[])[] => {
  const [, , , ...optional] = readSequence(readSigned(der).contents)
  return readAttributes(optional)
    .filter(({ oid }) => oid === attributeOids.challengePassword)
    .map(({ values }) => values)
}

// An attribute without a value is no absent one: it must not lead to the certificate of the signer.
const getChallenge = (der: Buffer, reply: ReplyContext): string | null => {
  const attributes = challengesIn(der)
  if (attributes.length === 0) return null
  const [[value, ...more] = [], ...others] = attributes
  const text = value && more.length === 0 && others.length === 0 ? findAnyText(value) : null
  if (text === null) throw new MalformedChallenge(reply)
  return text === '' ? null : text
}

const refusalOfProof = ({ code, message }: Failure, { signatureChecked }: Pkcs10Description, reply: ReplyContext) => {
  const isAlgorithm = code === 'CRYPTO_RESTRICTION_VIOLATION' || (code === 'INVALID_PKCS10' && !signatureChecked)
  return new ScepRefusal(isAlgorithm ? 'badAlg' : 'badRequest', message, reply)
}

/**
 * The signature of the request is all that shows that nobody has put its envelope together from blocks of another's. Until it
 * is right nothing is told of what was read, or strangers would read by it; but to those whose own key is in it.
 */
const checkProof = (request: Pkcs10Description, message: ScepRequest): void => {
  try {
    mustBeProven(request)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (!request.publicKeySpki.equals(message.signer.spki)) throw undecipherable(message)
    throw refusalOfProof(error, request, message)
  }
}

const readEnrolment = (plaintext: Buffer, message: ScepRequest): Enrolment => {
  const request = parsePkcs10(plaintext)
  checkProof(request, message)
  return { kind: 'ENROLMENT', request, challengePassword: getChallenge(plaintext, message) }
}

const readPoll = (plaintext: Buffer): Poll =>
  readWholeBer(plaintext, value => {
    const [issuer, subject, ...rest] = readSequence(value)
    if (rest.length > 0) throw new DerError('Issuer and subject are followed by more')
    return {
      kind: 'POLL',
      issuer: expectTag(issuer, tags.sequence).raw,
      subject: expectTag(subject, tags.sequence).raw,
    }
  })

/** The octets of a Name of one attribute of X.520 with one letter. */
const shortestIssuer = 14
/** In hex, without zeros before it (RFC 5280 4.1.2.2: 20 octets). */
const longestSerialNumber = 40

/**
 * Whether a certificate can have them. It also keeps who may look something up from reading the envelopes of others by what he
 * is told: of an envelope that he changes he chooses one block (of 16 octets at most), where a shorter Name would fit with the
 * head of a serial number that takes whatever follows.
 */
const isPossible = ({ issuer, serialNumber }: Omit<Lookup, 'kind'>): boolean =>
  issuer.length >= shortestIssuer &&
  parseName(issuer).every(relative => relative.every(({ text }) => text !== '')) &&
  serialNumber !== '' &&
  serialNumber.length <= longestSerialNumber

const readLookup = (plaintext: Buffer): Lookup =>
  readWholeBer(plaintext, value => {
    const { issuer, serialNumber: octets } = readIssuerAndSerial(value)
    const named = { issuer, serialNumber: octets.toString('hex').replace(/^0+(.)/, '$1') }
    if (!isPossible(named)) throw new DerError('No certificate has this issuer and serial number')
    return { kind: 'LOOKUP', ...named }
  })

const readers: Readonly<Record<RequestType, (plaintext: Buffer, message: ScepRequest) => RequestContent>> = {
  PKCSReq: readEnrolment,
  RenewalReq: readEnrolment,
  CertPoll: readPoll,
  GetCert: readLookup,
  GetCRL: readLookup,
}

/**
 * Reads what was in the envelope of a request. Throws nothing but ScepRefusal: what cannot be parsed is what could not be
 * decrypted (a wrong key may yield garbage), nor could an issuer and serial number be that no certificate can have, nor a
 * PKCS#10 request whose signature is wrong or cannot be checked. Only where its key is that of the signer of the message that is
 * told: badRequest for the signature, badAlg for a key or signature that is not supported. MalformedChallenge for a challenge
 * that stands twice, has no value or is no text.
 */
export const readRequestContent = (request: ScepRequest, plaintext: Buffer): RequestContent => {
  try {
    return readers[request.messageType](plaintext, request)
  } catch (error) {
    if (error instanceof DerError || error instanceof Failure) throw undecipherable(request)
    throw error
  }
}
