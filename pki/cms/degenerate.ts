// SignedData without signatures, the bag that certificates and CRLs travel in (RFC 5652 5.2, RFC 8894 3.4).
import { readWholeBer } from '../asn1/ber.ts'
import { context, integer, oid, sequence, setOf } from '../asn1/der.ts'
import { readingCms } from './cms-error.ts'
import { contentInfo, contentTypes } from './content-info.ts'
import { readSignedData } from './signed-data.ts'

const degenerate = (member: Buffer): Buffer =>
  contentInfo(contentTypes.signedData, sequence(integer(1), setOf(), sequence(oid(contentTypes.data)), member, setOf()))

/** DER ContentInfo with the DER certificates in their order: clients take the first one for theirs. */
export const certificatesOnly = (certificates: readonly Buffer[]): Buffer => degenerate(context(0, ...certificates))

/** DER ContentInfo with one DER CRL, whose octets are not looked at. */
export const crlOnly = (crl: Buffer): Buffer => degenerate(context(1, crl))

/** What a bag holds, raw DER in its order. */
export interface Bag {
  readonly certificates: readonly Buffer[]
  readonly crls: readonly Buffer[]
}

/** The most octets of a bag: a CRL of several hundred thousand entries. */
export const longestBag = 16_777_216

/** Reads a ContentInfo with certificates or CRLs, DER or BER, signed or not; CmsError MALFORMED. */
export const readBag = (bytes: Buffer): Bag =>
  readingCms(() => {
    const { certificates, crls } = readWholeBer(bytes, readSignedData, longestBag)
    return { certificates, crls }
  })
