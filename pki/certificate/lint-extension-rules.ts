// Rules for what extensions say, beyond those of lint-rules.ts: one line each beside its clause.
import { derNull } from '../asn1/der.ts'
import { type DerValue, readDer, readSequence } from '../asn1/der-reader.ts'
import { keyIdentifier } from '../keys/public-key.ts'
import { generalNameTags } from '../names/general-name.ts'
import { extensionOids } from './extensions.ts'
import * as read from './extension-reader.ts'
import type { Holds, LintRule, LintSubject } from './lint-subject.ts'
import { keyUsageNames, type KeyUsage } from './usages.ts'

const valueOf = ({ extensions }: LintSubject, name: read.ExtensionName): DerValue | null => {
  const found = read.findExtension(extensions, name)
  return found ? readDer(found.value) : null
}

/** OIDs of extensions that are never written here, and whose flaws would be flaws all the same. */
const foreignOids = {
  subjectDirectoryAttributes: '2.5.29.9',
  issuerAlternativeName: '2.5.29.18',
  policyMappings: '2.5.29.33',
  policyConstraints: '2.5.29.36',
  inhibitAnyPolicy: '2.5.29.54',
  subjectInformationAccess: '1.3.6.1.5.5.7.1.11',
} as const

const isNeverCritical =
  (oid: string): Holds =>
  ({ extensions }) =>
    !extensions.some(one => one.oid === oid && one.critical)

const isAlwaysCritical =
  (oid: string): Holds =>
  ({ extensions }) =>
    !extensions.some(one => one.oid === oid && !one.critical)

const isOfCas =
  (oid: string): Holds =>
  ({ extensions, constraints }) =>
    constraints.isCa || !extensions.some(one => one.oid === oid)

const knownOids: ReadonlySet<string> = new Set([...Object.values(extensionOids), ...Object.values(foreignOids)])

const hasNoUnknownCritical: Holds = ({ extensions }) =>
  extensions.every(({ oid, critical }) => !critical || knownOids.has(oid))

// DER (X.690 11.2.2): no bit behind the last one that is set.
const hasExactUsageBits: Holds = tbs => {
  const usage = valueOf(tbs, 'keyUsage')
  if (!usage) return true
  const [unused = 0, ...octets] = usage.content
  const bits = octets.length * 8 - unused
  return bits <= keyUsageNames.length && (((octets.at(-1) ?? 0) >> unused) & 1) === 1
}

const narrowing: readonly KeyUsage[] = ['encipherOnly', 'decipherOnly']

const narrowsAgreement: Holds = ({ keyUsages }) => {
  const narrowed = keyUsages.filter(usage => narrowing.includes(usage)).length
  return narrowed === 0 || (narrowed === 1 && keyUsages.includes('keyAgreement'))
}

const secretUsages: readonly KeyUsage[] = ['keyEncipherment', 'dataEncipherment', 'keyAgreement']

const keepsSecretsApart: Holds = ({ keyUsages }) =>
  !keyUsages.includes('keyCertSign') || !keyUsages.some(usage => secretUsages.includes(usage))

/** The key usages of which a purpose needs one; a purpose that is not listed says nothing. */
const usagesOf: Readonly<Record<string, readonly KeyUsage[]>> = {
  serverAuth: ['digitalSignature', 'keyEncipherment', 'keyAgreement'],
  clientAuth: ['digitalSignature', 'keyAgreement'],
  codeSigning: ['digitalSignature'],
  emailProtection: ['digitalSignature', 'nonRepudiation', 'keyEncipherment', 'keyAgreement'],
  timeStamping: ['digitalSignature', 'nonRepudiation'],
  OCSPSigning: ['digitalSignature', 'nonRepudiation'],
}

const hasSomePurpose: Holds = ({ keyUsages, extendedKeyUsages }) =>
  extendedKeyUsages.length === 0 ||
  extendedKeyUsages.some(purpose => usagesOf[purpose]?.some(usage => keyUsages.includes(usage)) ?? true)

const issuerTag = 0xa1
const serialTag = 0x82

const namesIssuerWhole: Holds = tbs => {
  const members = valueOf(tbs, 'authorityKeyIdentifier')?.children ?? []
  const has = (wanted: number) => members.some(({ tag }) => tag === wanted)
  return has(issuerTag) === has(serialTag)
}

const identifiesIssuedKey: Holds = ({ extensions, constraints, publicKey }) =>
  !constraints.isCa || read.readSubjectKeyIdentifier(extensions)?.equals(keyIdentifier(publicKey.raw)) === true

const hasBarePolicies: Holds = tbs => {
  const policies = valueOf(tbs, 'certificatePolicies')
  return !policies || readSequence(policies).every(policy => readSequence(policy).length === 1)
}

const isUrl = (name: DerValue | undefined): boolean => name?.tag === generalNameTags.uri && name.content.length > 0

const pointHasUrl = (point: DerValue): boolean => {
  const name = readSequence(point).find(({ tag }) => tag === 0xa0)
  const whole = name?.children.find(({ tag }) => tag === 0xa0)
  return whole?.children.some(isUrl) ?? false
}

const hasLegalPoints: Holds = tbs => {
  const points = valueOf(tbs, 'crlDistributionPoints')
  return !points || (points.children.length > 0 && readSequence(points).every(pointHasUrl))
}

const hasLegalAccess: Holds = tbs => {
  const access = valueOf(tbs, 'authorityInformationAccess')
  return !access || (access.children.length > 0 && readSequence(access).every(one => isUrl(readSequence(one)[1])))
}

const checksOcspSignersOnly: Holds = tbs => {
  const found = read.findExtension(tbs.extensions, 'ocspNoCheck')
  return !found || (found.value.equals(derNull) && tbs.extendedKeyUsages.includes('OCSPSigning'))
}

const { crlDistributionPoints, authorityInformationAccess, nameConstraints, ocspNoCheck } = extensionOids

/** Criticality and place of each extension that RFC 5280 has something to say of. */
const places: readonly LintRule[] = [
  {
    rule: 'the CRL distribution points are not critical',
    clause: 'RFC 5280 4.2.1.13',
    holds: isNeverCritical(crlDistributionPoints),
  },
  {
    rule: 'the authority information access is not critical',
    clause: 'RFC 5280 4.2.2.1',
    holds: isNeverCritical(authorityInformationAccess),
  },
  {
    rule: 'the subject information access is not critical',
    clause: 'RFC 5280 4.2.2.2',
    holds: isNeverCritical(foreignOids.subjectInformationAccess),
  },
  {
    rule: "the issuer's alternative names are not critical",
    clause: 'RFC 5280 4.2.1.7',
    holds: isNeverCritical(foreignOids.issuerAlternativeName),
  },
  {
    rule: 'the directory attributes are not critical',
    clause: 'RFC 5280 4.2.1.8',
    holds: isNeverCritical(foreignOids.subjectDirectoryAttributes),
  },
  { rule: 'name constraints are critical', clause: 'RFC 5280 4.2.1.10', holds: isAlwaysCritical(nameConstraints) },
  { rule: 'only a CA has name constraints', clause: 'RFC 5280 4.2.1.10', holds: isOfCas(nameConstraints) },
  {
    rule: 'policy mappings are critical',
    clause: 'RFC 5280 4.2.1.5',
    holds: isAlwaysCritical(foreignOids.policyMappings),
  },
  { rule: 'only a CA maps policies', clause: 'RFC 5280 4.2.1.5', holds: isOfCas(foreignOids.policyMappings) },
  {
    rule: 'policy constraints are critical',
    clause: 'RFC 5280 4.2.1.11',
    holds: isAlwaysCritical(foreignOids.policyConstraints),
  },
  { rule: 'only a CA constrains policies', clause: 'RFC 5280 4.2.1.11', holds: isOfCas(foreignOids.policyConstraints) },
  {
    rule: 'the inhibition of any policy is critical',
    clause: 'RFC 5280 4.2.1.14',
    holds: isAlwaysCritical(foreignOids.inhibitAnyPolicy),
  },
  { rule: 'only a CA inhibits any policy', clause: 'RFC 5280 4.2.1.14', holds: isOfCas(foreignOids.inhibitAnyPolicy) },
]

/** The rules for extensions. */
export const extensionRules: readonly LintRule[] = [
  ...places,
  { rule: 'what is critical is known', clause: 'RFC 5280 4.2', holds: hasNoUnknownCritical },
  { rule: 'the key usage has its own bits and no more', clause: 'RFC 5280 4.2.1.3', holds: hasExactUsageBits },
  {
    rule: 'one of encipherOnly and decipherOnly narrows keyAgreement',
    clause: 'RFC 5280 4.2.1.3',
    holds: narrowsAgreement,
  },
  { rule: 'a key that signs certificates keeps no secrets', clause: 'RFC 3279 2.3.1', holds: keepsSecretsApart },
  { rule: 'some purpose fits the key usage', clause: 'RFC 5280 4.2.1.12', holds: hasSomePurpose },
  {
    rule: "the issuer's certificate is named whole or not at all",
    clause: 'RFC 5280 4.2.1.1',
    holds: namesIssuerWhole,
  },
  { rule: 'the identifier of a CA is that of its key', clause: 'RFC 5280 4.2.1.2', holds: identifiesIssuedKey },
  { rule: 'policies are OIDs alone', clause: 'RFC 5280 4.2.1.4', holds: hasBarePolicies },
  { rule: 'every CRL distribution point has a URL', clause: 'RFC 5280 4.2.1.13', holds: hasLegalPoints },
  { rule: 'every access description has a URL', clause: 'RFC 5280 4.2.2.1', holds: hasLegalAccess },
  { rule: 'no-check is of OCSP signers', clause: 'RFC 6960 4.2.2.2.1', holds: checksOcspSignersOnly },
  { rule: 'no-check is not critical', clause: 'RFC 6960 4.2.2.2.1', holds: isNeverCritical(ocspNoCheck) },
]
