// Certificate revocation lists (RFC 5280 5), version 2, written directly: entries in blocks, so that a list of a million
// needs the memory of its octets and not of as many objects.
import type { KeyObject } from 'node:crypto'
import type { RevocationReason } from '../domain/enums.ts'
import { reasonCodes } from '../domain/revocation-rules.ts'
import { context, enumerated, integer, octetString, oid, sequence, tags, time, tlv } from './asn1/der.ts'
import { authorityKeyIdentifier, extension } from './certificate/extensions.ts'
import { signDer } from './certificate/signed.ts'
import type { Issuer } from './certificate/tbs-certificate.ts'
import { getKeyAlgorithm } from './keys/algorithms.ts'

/** One certificate that a list names. */
export interface CrlEntry {
  /** Hexadecimal. */
  readonly serialNumber: string
  readonly revocationDate: Date
  /** Null counts as UNSPECIFIED. */
  readonly reason: RevocationReason | null
}

/** Everything that makes up a list except the signature. */
export interface CrlInput {
  readonly issuer: Pick<Issuer, 'nameDer' | 'keyIdentifier' | 'algorithm'>
  /** Grows with every list of the CA (RFC 5280 5.2.3). */
  readonly number: number
  readonly thisUpdate: Date
  readonly nextUpdate: Date
  /** Blocks of `encodeEntries`. */
  readonly entries: readonly Buffer[]
}

const crlNumber = '2.5.29.20'
const reasonCode = '2.5.29.21'

const reasonExtensions = new Map(
  Object.entries(reasonCodes).map(([reason, code]) => [
    reason,
    sequence(sequence(oid(reasonCode), octetString(enumerated(code)))),
  ]),
)

// RFC 5280 5.3.1: absent rather than unspecified (0).
const entryExtensions = (reason: RevocationReason | null): Buffer[] => {
  const encoded = reason === null || reason === 'UNSPECIFIED' ? undefined : reasonExtensions.get(reason)
  return encoded ? [encoded] : []
}

const encodeEntry = ({ serialNumber, revocationDate, reason }: CrlEntry): Buffer =>
  sequence(integer(serialNumber), time(revocationDate), ...entryExtensions(reason))

/** A block of entries, DER. */
export const encodeEntries = (entries: readonly CrlEntry[]): Buffer => Buffer.concat(entries.map(encodeEntry))

const versionTwo = integer(1)

const tbsOf = ({ issuer, number, thisUpdate, nextUpdate, entries }: CrlInput): Buffer =>
  sequence(
    versionTwo,
    getKeyAlgorithm(issuer.algorithm.spec).signature.identifier,
    issuer.nameDer,
    time(thisUpdate),
    time(nextUpdate),
    // RFC 5280 5.1.2.6: absent when nothing is revoked.
    ...(entries.length > 0 ? [tlv(tags.sequence, ...entries)] : []),
    context(0, sequence(authorityKeyIdentifier(issuer.keyIdentifier), extension(crlNumber, integer(number)))),
  )

/** DER CertificateList, signed by the key of its issuer. */
export const signCrl = (input: CrlInput, key: KeyObject): Promise<Buffer> => signDer(tbsOf(input), key)
