// Certificate revocation lists (RFC 5280 5), version 2, complete or delta, of a CA or of one of its partitions; written
// directly, entries in blocks, so that a list of a million needs the memory of its octets and not of as many objects.
import type { KeyObject } from 'node:crypto'
import type { RevocationReason } from '../domain/enums.ts'
import { reasonCodes } from '../domain/revocation-rules.ts'
import { context, enumerated, header, integer, octetString, oid, sequence, tags, time } from './asn1/der.ts'
import { authorityKeyIdentifier, distributionPointName, extension, freshestCrl } from './certificate/extensions.ts'
import { signParts } from './certificate/signed.ts'
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
  /** The URLs by which certificates name the partition that the list tells of; none for a list of all. */
  readonly distributionPoints?: readonly string[]
  /** Where the deltas of a complete list are had. */
  readonly freshestCrl?: readonly string[]
  /** The number of the complete list that a delta begins at; a list without it is complete. */
  readonly baseNumber?: number
}

const oids = { crlNumber: '2.5.29.20', reasonCode: '2.5.29.21', deltaCrl: '2.5.29.27', issuingPoint: '2.5.29.28' }

const reasonExtensions = new Map(
  Object.entries(reasonCodes).map(([reason, code]) => [
    reason,
    sequence(sequence(oid(oids.reasonCode), octetString(enumerated(code)))),
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

// A delta has the scope of its base, told in the same octets, and names no deltas itself (RFC 5280 5.2.4 to 5.2.6).
const listExtensions = ({ issuer, number, distributionPoints = [], freshestCrl: deltas = [], baseNumber }: CrlInput) =>
  sequence(
    authorityKeyIdentifier(issuer.keyIdentifier),
    extension(oids.crlNumber, integer(number)),
    ...(baseNumber === undefined ? [] : [extension(oids.deltaCrl, integer(baseNumber), true)]),
    ...(distributionPoints.length > 0
      ? [extension(oids.issuingPoint, sequence(context(0, distributionPointName(...distributionPoints))), true)]
      : []),
    ...(deltas.length > 0 && baseNumber === undefined ? [freshestCrl(deltas)] : []),
  )

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0)

/** The contents of TBSCertList in parts: the blocks of entries stay where they are. */
const tbsParts = (input: CrlInput): Buffer[] => {
  const { issuer, thisUpdate, nextUpdate, entries } = input
  return [
    versionTwo,
    getKeyAlgorithm(issuer.algorithm.spec).signature.identifier,
    issuer.nameDer,
    time(thisUpdate),
    time(nextUpdate),
    // RFC 5280 5.1.2.6: absent when nothing is revoked.
    ...(entries.length > 0 ? [header(tags.sequence, lengthOf(entries)), ...entries] : []),
    context(0, listExtensions(input)),
  ]
}

/** DER CertificateList, signed by the key of its issuer. */
export const signCrl = (input: CrlInput, key: KeyObject): Promise<Buffer> => signParts(tbsParts(input), key)
