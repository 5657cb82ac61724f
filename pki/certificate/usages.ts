// The names and encodings of key usages (RFC 5280 4.2.1.3) and extended key usages (4.2.1.12).
import type { CryptoAlgorithm } from '../../domain/enums.ts'

/** Key usages in the order of their bits. */
export const keyUsageNames = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const

/** The name of one key usage bit. */
export type KeyUsage = (typeof keyUsageNames)[number]

const encipherment: readonly KeyUsage[] = ['keyEncipherment', 'dataEncipherment']
const agreement: readonly KeyUsage[] = ['keyAgreement', 'encipherOnly', 'decipherOnly']

/** What a key of the algorithm cannot do (RFC 3279 2.3.1, RFC 8813 3, RFC 8410 5, RFC 9881 5). */
export const impossibleUsages: Readonly<Record<CryptoAlgorithm, readonly KeyUsage[]>> = {
  RSA: agreement,
  EC: encipherment,
  EDDSA: [...encipherment, ...agreement],
  ML_DSA: [...encipherment, ...agreement],
}

/** Extended key usages by name: RFC 5280, RFC 4945 5.1.3.12, RFC 6402 2.10. */
export const extendedKeyUsageOids = {
  anyExtendedKeyUsage: '2.5.29.37.0',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  OCSPSigning: '1.3.6.1.5.5.7.3.9',
  ipsecIKE: '1.3.6.1.5.5.7.3.17',
  cmcRA: '1.3.6.1.5.5.7.3.28',
} as const

const namesByOid = new Map<string, string>(Object.entries(extendedKeyUsageOids).map(([name, oid]) => [oid, name]))

/** The name of an extended key usage, or its OID where it has none. */
export const extendedKeyUsageName = (oid: string): string => namesByOid.get(oid) ?? oid

const oidsByName = new Map<string, string>(Object.entries(extendedKeyUsageOids))

/** The OID of an extended key usage given by name or OID, or null when it is neither. */
export const findExtendedKeyUsageOid = (name: string): string | null =>
  oidsByName.get(name) ?? (isOid(name) ? name : null)

/** Whether the text is a dotted object identifier with at least three arcs. */
export const isOid = (text: string): boolean =>
  /^([01]\.[1-3]?\d|2\.(0|[1-9]\d{0,8}))(\.(0|[1-9]\d{0,17})){1,30}$/.test(text)

/** Whether extended key usages, by names or OIDs, hold timeStamping, which stands alone and is critical (RFC 3161 2.3). */
export const isForTimeStamps = (usages: readonly string[]): boolean =>
  usages.some(usage => findExtendedKeyUsageOid(usage) === extendedKeyUsageOids.timeStamping)
