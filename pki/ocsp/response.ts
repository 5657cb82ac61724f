// OCSP answers (RFC 6960 4.2), written: refusals, and signed answers about any number of certificates.
import type { KeyObject } from 'node:crypto'
import type { RevocationReason } from '../../domain/enums.ts'
import { reasonCodes } from '../../domain/revocation-rules.ts'
import {
  bitString,
  context,
  enumerated,
  generalizedTime,
  implicit,
  octetString,
  oid,
  sequence,
  tags,
  tlv,
} from '../asn1/der.ts'
import { signOctets } from '../certificate/signed.ts'
import { keyAlgorithmOf } from '../keys/algorithms.ts'
import { keyHash } from './cert-id.ts'
import { nonceExtension, ocspOids } from './ocsp-extensions.ts'

/** The OCSPResponseStatus of RFC 6960 4.2.1 other than successful. */
export const ocspErrors = {
  malformedRequest: 1,
  internalError: 2,
  tryLater: 3,
  sigRequired: 5,
  unauthorized: 6,
} as const

/** DER OCSPResponse that refuses to answer; it is not signed. */
export const encodeOcspError = (status: keyof typeof ocspErrors): Buffer => sequence(enumerated(ocspErrors[status]))

/** The status of one certificate; a reason that is null or UNSPECIFIED is not told. */
export type OcspSingleStatus =
  | { readonly status: 'good' | 'unknown' }
  | { readonly status: 'revoked'; readonly date: Date; readonly reason: RevocationReason | null }

/** The answer about one certificate. */
export type OcspSingle = OcspSingleStatus & {
  /** DER CertID as it was asked. */
  readonly certId: Buffer
  readonly thisUpdate: Date
  readonly nextUpdate: Date | null
}

/** Who signs: by DER Name, or by DER SubjectPublicKeyInfo (of which the SHA-1 is told). */
export type OcspResponder = { readonly byName: Buffer } | { readonly byKey: Buffer }

/** Everything that makes up an answer except the signature. */
export interface OcspAnswer {
  readonly responder: OcspResponder
  readonly producedAt: Date
  readonly singles: readonly OcspSingle[]
  /** That of the request, or null without one. */
  readonly nonce: Buffer | null
  /** DER certificates that go along: that of a delegated signer. */
  readonly certificates: readonly Buffer[]
}

const responderId = (responder: OcspResponder): Buffer =>
  'byName' in responder ? context(1, responder.byName) : context(2, octetString(keyHash(responder.byKey, 'sha1')))

const reasonOf = (reason: RevocationReason | null): Buffer[] =>
  reason === null || reason === 'UNSPECIFIED' ? [] : [context(0, enumerated(reasonCodes[reason]))]

const certStatus = (single: OcspSingleStatus): Buffer => {
  if (single.status !== 'revoked') return implicit(single.status === 'good' ? 0 : 2, Buffer.alloc(0))
  return context(1, generalizedTime(single.date), ...reasonOf(single.reason))
}

const encodeSingle = (single: OcspSingle): Buffer =>
  sequence(
    single.certId,
    certStatus(single),
    generalizedTime(single.thisUpdate),
    ...(single.nextUpdate ? [context(0, generalizedTime(single.nextUpdate))] : []),
  )

const responseData = ({ responder, producedAt, singles, nonce }: OcspAnswer): Buffer =>
  sequence(
    responderId(responder),
    generalizedTime(producedAt),
    tlv(tags.sequence, ...singles.map(encodeSingle)),
    ...(nonce ? [context(1, sequence(nonceExtension(nonce)))] : []),
  )

const successful = enumerated(0)

/** DER OCSPResponse with a BasicOCSPResponse, signed by the key with its natural digest (contract 10.2). */
export const signOcspResponse = async (answer: OcspAnswer, key: KeyObject): Promise<Buffer> => {
  const data = responseData(answer)
  const signature = bitString(await signOctets(data, key))
  const { identifier } = keyAlgorithmOf(key).signature
  const certificates = answer.certificates.length > 0 ? [context(0, sequence(...answer.certificates))] : []
  const basic = sequence(data, identifier, signature, ...certificates)
  return sequence(successful, context(0, sequence(oid(ocspOids.basic), octetString(basic))))
}
