// OCSP answers of others (RFC 6960 4.2) taken apart; whether they may be believed is the question of verify.ts.
import type { RevocationReason } from '../../domain/enums.ts'
import { reasonCodes } from '../../domain/revocation-rules.ts'
import { tags } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  longestObject,
  readBitString,
  readDer,
  readGeneralizedTime,
  readInteger,
  readOctetString,
  readOid,
  readSequence,
} from '../asn1/der-reader.ts'
import type { Signed } from '../certificate/signed.ts'
import { type CertId, readCertId } from './cert-id.ts'
import { mustKnowCritical, ocspOids, readNonce, readOcspExtensions } from './ocsp-extensions.ts'
import { OcspError, readingOcsp } from './ocsp-error.ts'
import { ocspErrors } from './response.ts'

/** What an answer says about a certificate. */
export interface ReadSingle {
  readonly certId: CertId
  readonly status: 'GOOD' | 'REVOKED' | 'UNKNOWN'
  readonly revocationDate: Date | null
  /** UNSPECIFIED for a revocation without one (RFC 5280 5.3.1). */
  readonly revocationReason: RevocationReason | null
  readonly thisUpdate: Date
  readonly nextUpdate: Date | null
}

/** A basic answer taken apart; nothing in it is verified. */
export interface ReadAnswer {
  readonly signed: Signed
  /** DER Name or SHA-1 of the key. */
  readonly responder: { readonly kind: 'name' | 'key'; readonly octets: Buffer }
  readonly producedAt: Date
  readonly singles: readonly ReadSingle[]
  readonly nonce: Buffer | null
  /** DER. */
  readonly certificates: readonly Buffer[]
}

/** The most octets of an answer: real ones have one to four thousand. */
export const longestAnswer = longestObject

const reasonsByCode = new Map(
  Object.entries(reasonCodes).map(([reason, code]) => [code, reason as RevocationReason] as const),
)

const onlyChild = (value: DerValue): DerValue => {
  const [child, ...rest] = value.children
  if (!child || rest.length > 0) throw new DerError('One value was expected')
  return child
}

const readReason = (wrapped: DerValue | undefined): RevocationReason => {
  if (!wrapped) return 'UNSPECIFIED'
  const { content } = expectTag(onlyChild(expectTag(wrapped, 0xa0)), tags.enumerated)
  const reason = content.length === 1 ? reasonsByCode.get(content[0] ?? -1) : undefined
  if (!reason) throw new DerError('The reason of the revocation is none')
  return reason
}

const statusesByTag: Readonly<Record<number, 'GOOD' | 'UNKNOWN'>> = { 0x80: 'GOOD', 0x82: 'UNKNOWN' }

const readStatus = (
  value: DerValue | undefined,
): Pick<ReadSingle, 'status' | 'revocationDate' | 'revocationReason'> => {
  if (value?.tag === 0xa1) {
    const [date, reason, ...rest] = value.children
    if (rest.length > 0) throw new DerError('The revocation is malformed')
    return { status: 'REVOKED', revocationDate: readGeneralizedTime(date), revocationReason: readReason(reason) }
  }
  const status = statusesByTag[value?.tag ?? 0]
  if (!status || value?.content.length !== 0) throw new DerError('The status is none of OCSP')
  return { status, revocationDate: null, revocationReason: null }
}

/** Takes members off a list in their order, those with a tag only where they are there. */
const taking = (members: DerValue[]) => (tag: number) => (members[0]?.tag === tag ? members.shift() : undefined)

const readSingle = (value: DerValue): ReadSingle => {
  const [certId, status, thisUpdate, ...optional] = readSequence(value)
  const take = taking(optional)
  const nextUpdate = take(0xa0)
  mustKnowCritical(readOcspExtensions(take(0xa1)), [])
  if (optional.length > 0) throw new DerError('An answer has members out of place')
  return {
    certId: readCertId(certId),
    ...readStatus(status),
    thisUpdate: readGeneralizedTime(thisUpdate),
    nextUpdate: nextUpdate ? readGeneralizedTime(onlyChild(nextUpdate)) : null,
  }
}

const readResponder = (value: DerValue | undefined): ReadAnswer['responder'] => {
  if (value?.tag === 0xa1) return { kind: 'name', octets: expectTag(onlyChild(value), tags.sequence).raw }
  return { kind: 'key', octets: readOctetString(onlyChild(expectTag(value, 0xa2))) }
}

const readData = (data: DerValue): Omit<ReadAnswer, 'signed' | 'certificates'> => {
  const members = readSequence(data)
  const take = taking(members)
  const version = take(0xa0)
  if (version && !readInteger(onlyChild(version)).equals(Buffer.of(0)))
    throw new DerError('The version is none of OCSP')
  const [responder, producedAt, singles, extensions, ...rest] = members
  if (rest.length > 0) throw new DerError('The answer has additional members')
  const read = readOcspExtensions(extensions && expectTag(extensions, 0xa1))
  mustKnowCritical(read, [ocspOids.nonce])
  return {
    responder: readResponder(responder),
    producedAt: readGeneralizedTime(producedAt),
    singles: readSequence(singles).map(readSingle),
    nonce: readNonce(read),
  }
}

const readCertificates = (wrapped: DerValue | undefined): Buffer[] =>
  wrapped ? readSequence(onlyChild(expectTag(wrapped, 0xa0))).map(({ raw }) => raw) : []

const readBasic = (der: Buffer): ReadAnswer => {
  const [contents, algorithmIdentifier, signature, certificates, ...rest] = readSequence(readDer(der))
  if (!contents || !algorithmIdentifier || rest.length > 0) throw new DerError('The answer is not a signed one')
  const [algorithm] = readSequence(algorithmIdentifier)
  return {
    signed: { contents, algorithmIdentifier, algorithmOid: readOid(algorithm), signature: readBitString(signature) },
    ...readData(contents),
    certificates: readCertificates(certificates),
  }
}

const statusNames = new Map<number, string>(Object.entries(ocspErrors).map(([name, code]) => [code, name]))

const mustBeSuccessful = (value: DerValue | undefined): void => {
  const { content } = expectTag(value, tags.enumerated)
  const status = content.length === 1 ? (content[0] ?? -1) : -1
  if (status === 0) return
  const name = statusNames.get(status)
  if (!name) throw new DerError('The status of the answer is none of OCSP')
  throw new OcspError('STATUS', `The responder answers ${name}`)
}

/**
 * Takes a DER OCSPResponse of at most 64 KiB apart (RFC 6960 4.2.1). OcspError STATUS when it is none of success,
 * MALFORMED for whatever else.
 */
export const readOcspResponse = (der: Buffer): ReadAnswer =>
  readingOcsp(() => {
    const [status, wrapped, ...rest] = readSequence(readDer(der, undefined, longestAnswer))
    if (rest.length > 0) throw new DerError('The answer has additional members')
    mustBeSuccessful(status)
    const [type, basic, ...more] = readSequence(onlyChild(expectTag(wrapped, 0xa0)))
    if (more.length > 0 || readOid(type) !== ocspOids.basic) throw new DerError('The answer is no basic one')
    return readBasic(readOctetString(basic))
  })
