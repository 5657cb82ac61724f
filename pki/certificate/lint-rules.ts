// The rules that every certificate keeps, each one small function beside its clause.
import { canonicalEmail, isDomain } from '../../domain/address.ts'
import { tags } from '../asn1/der.ts'
import { type DerValue, readDer, readOid, readSequence } from '../asn1/der-reader.ts'
import * as read from './extension-reader.ts'
import { generalNameTags } from '../names/general-name.ts'
import { attributeNames, attributeTypes, type NameAttribute } from '../names/name.ts'
import { extensionRules } from './lint-extension-rules.ts'
import { nameRules } from './lint-name-rules.ts'
import { type Holds, isEmptyName, type LintRule } from './lint-subject.ts'
import { impossibleUsages, isForTimeStamps } from './usages.ts'

const isVersionThree: Holds = ({ version }) => version === 2

const hasLegalSerial: Holds = ({ serialNumber }) =>
  serialNumber.length <= 20 && (serialNumber[0] ?? 0x80) < 0x80 && serialNumber.some(octet => octet !== 0)

const isSignedAsIssuer: Holds = ({ signature }, { issuer }) =>
  signature.raw.equals(issuer.algorithm.signature.identifier)

const isRightTime = ({ tag }: DerValue, date: Date) => {
  const year = date.getUTCFullYear()
  return tag === (year >= 1950 && year < 2050 ? tags.utcTime : tags.generalizedTime)
}

// A fraction of a second or another zone is unreadable, which is a finding too.
const hasLegalTimes: Holds = ({ notBefore, notAfter, validity }) =>
  isRightTime(notBefore, validity.notBefore) && isRightTime(notAfter, validity.notAfter)

const hasOrderedTimes: Holds = ({ validity }) => validity.notAfter > validity.notBefore

const isWithinIssuer: Holds = ({ validity }, { issuer }) =>
  validity.notAfter <= issuer.validity.notAfter && validity.notBefore >= issuer.validity.notBefore

const namesIssuer: Holds = ({ issuer }, context) => !isEmptyName(issuer) && issuer.raw.equals(context.issuer.nameDer)

const hasSomeName: Holds = ({ subject, extensions }) =>
  !isEmptyName(subject) || read.findExtension(extensions, 'subjectAlternativeName') !== undefined

const hasRightSanCriticality: Holds = ({ subject, extensions }) => {
  const san = read.findExtension(extensions, 'subjectAlternativeName')
  return san === undefined || san.critical === isEmptyName(subject)
}

const legalGeneralNames: Readonly<Record<number, (content: Buffer) => boolean>> = {
  [generalNameTags.dns]: content => isDomain(content.toString('latin1')),
  [generalNameTags.ip]: content => content.length === 4 || content.length === 16,
  [generalNameTags.email]: content => canonicalEmail(content.toString('latin1')) !== null,
}

const hasLegalSans: Holds = ({ extensions }) => {
  const san = read.findExtension(extensions, 'subjectAlternativeName')
  if (!san) return true
  const names = readSequence(readDer(san.value))
  return names.length > 0 && names.every(({ tag, content }) => legalGeneralNames[tag]?.(content) ?? false)
}

const hasEachExtensionOnce: Holds = ({ extensions }) =>
  extensions.length > 0 && new Set(extensions.map(({ oid }) => oid)).size === extensions.length

const hasKeyUsage: Holds = ({ extensions, keyUsages }) =>
  read.findExtension(extensions, 'keyUsage')?.critical === true && keyUsages.length > 0

const hasPossibleKeyUsage: Holds = ({ key, keyUsages }) =>
  key !== null && !keyUsages.some(usage => impossibleUsages[key.cryptoAlgorithm].includes(usage))

const hasNoAnyUsage: Holds = ({ extendedKeyUsages }) => !extendedKeyUsages.includes('anyExtendedKeyUsage')

const hasUsageWhenListed: Holds = ({ extensions, extendedKeyUsages }) =>
  read.findExtension(extensions, 'extendedKeyUsage') === undefined || extendedKeyUsages.length > 0

const stampsTimeAlone: Holds = ({ extensions, extendedKeyUsages }) =>
  !isForTimeStamps(extendedKeyUsages) ||
  (extendedKeyUsages.length === 1 && read.findExtension(extensions, 'extendedKeyUsage')?.critical === true)

const hasBasicConstraints: Holds = ({ extensions }) =>
  read.findExtension(extensions, 'basicConstraints')?.critical === true

const signsCertificatesOnlyAsCa: Holds = ({ constraints, keyUsages }) =>
  constraints.isCa === keyUsages.includes('keyCertSign')

const boundsPathOnlyAsCa: Holds = ({ constraints }) => constraints.isCa || constraints.pathLength === null

const identifiesIssuerKey: Holds = ({ extensions }, { issuer }) =>
  read.findExtension(extensions, 'authorityKeyIdentifier')?.critical === false &&
  read.readAuthorityKeyIdentifier(extensions)?.equals(issuer.keyIdentifier) === true

const identifiesOwnKey: Holds = ({ extensions }) =>
  read.findExtension(extensions, 'subjectKeyIdentifier')?.critical === false &&
  (read.readSubjectKeyIdentifier(extensions)?.length ?? 0) > 0

const printableForm = /^[A-Za-z0-9 '()+,\-./:=?]*$/

const hasLegalString = ({ text, der }: NameAttribute) =>
  text !== null && (der[0] === tags.printableString ? printableForm.test(text) : true)

const stringTags: readonly (number | undefined)[] = [tags.printableString, tags.utf8String]
const asciiOids: readonly string[] = [attributeTypes.DC.oid, attributeTypes.emailAddress.oid]

const hasLegalEncoding = (attribute: NameAttribute) =>
  hasLegalString(attribute) &&
  (asciiOids.includes(attribute.oid) ? attribute.der[0] === tags.ia5String : stringTags.includes(attribute.der[0]))

const hasLegalStrings: Holds = ({ attributes }) => attributes.every(hasLegalEncoding)

const hasLegalCountry: Holds = ({ attributes }) =>
  attributes
    .filter(({ oid }) => oid === attributeTypes.C.oid)
    .every(({ der, text }) => der[0] === tags.printableString && /^[A-Z]{2}$/.test(text ?? ''))

const hasLegalLength = ({ oid, text }: NameAttribute) => {
  const name = attributeNames.get(oid)
  const length = Array.from(text ?? '').length
  return length > 0 && (name === undefined || length <= attributeTypes[name].maxLength)
}

const hasLegalLengths: Holds = ({ attributes }) => attributes.every(hasLegalLength)

const hasRequestedKey: Holds = ({ publicKey }, { publicKeySpki }) => publicKey.raw.equals(publicKeySpki)

const hasKnownKey: Holds = ({ key }) => (key?.algorithm ?? null) !== null

const hasLegalPolicies: Holds = ({ extensions }) => {
  const policies = read.findExtension(extensions, 'certificatePolicies')
  if (!policies) return true
  const oids = readSequence(readDer(policies.value)).map(policy => readOid(readSequence(policy)[0]))
  return oids.length > 0 && new Set(oids).size === oids.length
}

const isHttpUrl = (url: string) => /^https?:\/\/[\u0021-\u007e]+$/.test(url)

const hasLegalUrls: Holds = ({ extensions }) =>
  [
    ...read.readCrlDistributionPoints(extensions),
    ...read.readFreshestCrl(extensions),
    ...read.readAccessUrls(extensions, 'ocsp'),
    ...read.readAccessUrls(extensions, 'caIssuers'),
  ].every(isHttpUrl)

// A delta completes a list: without the place of the list nobody can use it.
const hasLegalFreshestCrl: Holds = ({ extensions }) => {
  const freshest = read.findExtension(extensions, 'freshestCrl')
  if (!freshest) return true
  const names = [read.readFreshestCrl(extensions), read.readCrlDistributionPoints(extensions)]
  return !freshest.critical && names.every(({ length }) => length > 0)
}

/** All rules: what holds for every certificate that is signed here, and where it is written. */
export const lintRules: readonly LintRule[] = [
  { rule: 'the version is 3', clause: 'RFC 5280 4.1.2.1', holds: isVersionThree },
  { rule: 'the serial is positive, of 1 to 20 octets', clause: 'RFC 5280 4.1.2.2', holds: hasLegalSerial },
  { rule: "the algorithm is that of the issuer's key", clause: 'RFC 5280 4.1.2.3', holds: isSignedAsIssuer },
  { rule: 'the issuer is named byte by byte', clause: 'RFC 5280 4.1.2.4', holds: namesIssuer },
  { rule: 'times are UTCTime until 2049, then GeneralizedTime', clause: 'RFC 5280 4.1.2.5', holds: hasLegalTimes },
  { rule: 'the validity ends after it begins', clause: 'RFC 5280 4.1.2.5', holds: hasOrderedTimes },
  { rule: "the validity is within the issuer's", clause: 'contract 10.2', holds: isWithinIssuer },
  { rule: 'there is a subject or an alternative name', clause: 'RFC 5280 4.1.2.6', holds: hasSomeName },
  { rule: 'attributes are UTF8String or PrintableString', clause: 'RFC 5280 4.1.2.4', holds: hasLegalStrings },
  { rule: 'the country is two letters', clause: 'RFC 5280 A.1', holds: hasLegalCountry },
  { rule: 'attributes are within their bounds', clause: 'RFC 5280 A.1', holds: hasLegalLengths },
  { rule: 'the key is the requested one byte by byte', clause: 'RFC 5280 4.1.2.7', holds: hasRequestedKey },
  { rule: 'the key is of a known kind', clause: 'RFC 3279 2.3', holds: hasKnownKey },
  { rule: 'every extension is there once', clause: 'RFC 5280 4.2', holds: hasEachExtensionOnce },
  { rule: "the issuer's key is identified", clause: 'RFC 5280 4.2.1.1', holds: identifiesIssuerKey },
  { rule: 'the own key is identified', clause: 'RFC 5280 4.2.1.2', holds: identifiesOwnKey },
  { rule: 'the key usage is there and critical', clause: 'RFC 5280 4.2.1.3', holds: hasKeyUsage },
  { rule: 'the key usage fits the key', clause: 'RFC 3279 2.3.1', holds: hasPossibleKeyUsage },
  ...nameRules,
  ...extensionRules,
  { rule: 'policies are there once', clause: 'RFC 5280 4.2.1.4', holds: hasLegalPolicies },
  {
    rule: 'alternative names are critical without a subject',
    clause: 'RFC 5280 4.2.1.6',
    holds: hasRightSanCriticality,
  },
  { rule: 'alternative names are legal', clause: 'RFC 5280 4.2.1.6', holds: hasLegalSans },
  { rule: 'the basic constraints are there and critical', clause: 'contract 10.2', holds: hasBasicConstraints },
  { rule: 'a CA, and only a CA, signs certificates', clause: 'RFC 5280 4.2.1.9', holds: signsCertificatesOnlyAsCa },
  { rule: 'only a CA bounds the path', clause: 'RFC 5280 4.2.1.9', holds: boundsPathOnlyAsCa },
  { rule: 'no any extended key usage', clause: 'RFC 5280 4.2.1.12', holds: hasNoAnyUsage },
  { rule: 'an extended key usage lists something', clause: 'RFC 5280 4.2.1.12', holds: hasUsageWhenListed },
  { rule: 'time stamping stands alone and is critical', clause: 'RFC 3161 2.3', holds: stampsTimeAlone },
  { rule: 'URLs are absolute http or https', clause: 'RFC 5280 4.2.1.13', holds: hasLegalUrls },
  { rule: 'the freshest CRL is not critical, beside the CRL', clause: 'RFC 5280 4.2.1.15', holds: hasLegalFreshestCrl },
]
