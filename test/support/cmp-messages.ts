// Messages of CMP, cut and put together.
import { randomBytes } from 'node:crypto'
import {
  bitString,
  context,
  derNull,
  integer,
  octetString,
  oid,
  sequence,
  setOf,
  utf8String,
} from '../../pki/asn1/der.ts'
import { type DerValue, readBitString, readDer, readOctetString } from '../../pki/asn1/der-reader.ts'
import { readMacParameters } from '../../pki/cmp/mac-parameters.ts'
import { parseProtectedPart } from '../../pki/cmp/protected-part.ts'

const hmac = (number: number): Buffer => sequence(oid(`1.2.840.113549.2.${number}`), derNull)

/** The names of contract 6.8 with the numbers of their OIDs, of digest and HMAC. */
export const macNames = {
  'SHA-224': [4, 8],
  'SHA-256': [1, 9],
  'SHA-384': [2, 10],
  'SHA-512': [3, 11],
} as const

/** What a MAC is made with. */
export interface MacChoice {
  readonly salt?: Buffer
  readonly iterationCount?: number
  readonly owf?: keyof typeof macNames
  readonly mac?: keyof typeof macNames
  readonly keyLength?: number
}

const chosenIn = ({
  salt = Buffer.alloc(16, 7),
  iterationCount = 500,
  owf = 'SHA-256',
  mac = 'SHA-256',
}: MacChoice) => ({
  salt,
  iterationCount,
  owf,
  mac,
})

/** AlgorithmIdentifier of PasswordBasedMac. */
export const pbm = (choice: MacChoice = {}): Buffer => {
  const { salt, iterationCount, owf, mac } = chosenIn(choice)
  const digest = sequence(oid(`2.16.840.1.101.3.4.2.${macNames[owf][0]}`))
  const parameters = sequence(octetString(salt), digest, integer(iterationCount), hmac(macNames[mac][1]))
  return sequence(oid('1.2.840.113533.7.66.13'), parameters)
}

/** AlgorithmIdentifier of PBMAC1. */
export const pbmac1 = (choice: MacChoice = {}): Buffer => {
  const { salt, iterationCount, owf, mac } = chosenIn(choice)
  const length = choice.keyLength === undefined ? [] : [integer(choice.keyLength)]
  const pbkdf2 = sequence(octetString(salt), integer(iterationCount), ...length, hmac(macNames[owf][1]))
  const derivation = sequence(oid('1.2.840.113549.1.5.12'), pbkdf2)
  return sequence(oid('1.2.840.113549.1.5.14'), sequence(derivation, hmac(macNames[mac][1])))
}

const nameOf = (commonName: string): Buffer => sequence(setOf(sequence(oid('2.5.4.3'), utf8String(commonName))))

/** What a part is made of; the body is a pkiconf unless it is given. */
export interface PartChoice {
  readonly protectionAlg?: Buffer | undefined
  /** DER Name. */
  readonly sender?: Buffer
  readonly senderKID?: Buffer | undefined
  readonly transactionID?: Buffer
  readonly recipNonce?: Buffer
  readonly body?: Buffer
}

/** A ProtectedPart. */
export const protectedPart = ({ protectionAlg, senderKID, ...rest }: PartChoice = {}): Buffer => {
  const { sender = nameOf('CMP server'), transactionID = randomBytes(16), recipNonce = randomBytes(16) } = rest
  const header = sequence(
    integer(2),
    context(4, sender),
    context(4, nameOf('client')),
    ...(protectionAlg ? [context(1, protectionAlg)] : []),
    ...(senderKID ? [context(2, octetString(senderKID))] : []),
    context(4, octetString(transactionID)),
    context(5, octetString(randomBytes(16))),
    context(6, octetString(recipNonce)),
  )
  return sequence(header, rest.body ?? context(19, derNull))
}

/** A message as it goes over the wire, in its parts. */
export interface Message {
  readonly part: Buffer
  readonly protection: Buffer
  readonly transactionID: Buffer
  readonly senderNonce: Buffer
}

/** A member of a header; version and names, whose tags are the same, come before it. */
const within = ({ children }: DerValue, tag: number): Buffer =>
  readOctetString(children.slice(3).find(child => child.tag === tag)?.children[0])

/** Reads a PKIMessage. */
export const readMessage = (der: Buffer): Message => {
  const [header, body, protection] = readDer(der).children
  if (!header || !body) throw new Error('This is no message.')
  return {
    part: sequence(header.raw, body.raw),
    protection: protection?.tag === 0xa0 ? readBitString(protection.children[0]) : Buffer.alloc(0),
    transactionID: within(header, 0xa4),
    senderNonce: within(header, 0xa5),
  }
}

/** A PKIMessage of a part and its protection. */
export const messageOf = (part: Buffer, protection: Buffer, extraCerts: readonly Buffer[] = []): Buffer => {
  const members = readDer(part).children.map(({ raw }) => raw)
  const certificates = extraCerts.length > 0 ? [context(1, sequence(...extraCerts))] : []
  return sequence(...members, context(0, bitString(protection)), ...certificates)
}

/** The members that a call about a MAC says of a part. */
export const statedIn = (part: Buffer) => {
  const { salt, iterationCount, owf, mac } = readMacParameters(parseProtectedPart(part).protectionAlg)
  return {
    dataBase64: part.toString('base64'),
    salt: salt.toString('base64'),
    iterationCount,
    owfAlgorithm: owf.name,
    macAlgorithm: `HMAC-${mac.name.replace('-', '')}`,
  }
}
