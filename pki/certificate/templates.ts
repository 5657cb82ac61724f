// Certificate templates (contract 10.2) as data, what they need of an end entity, and the alternative names they allow.
import { isDomain, type SubjectAlternativeName } from '../../domain/address.ts'
import type { EndEntityProperty, ValidFor } from '../../domain/enums.ts'
import type { KeySpec } from '../../domain/key-rules.ts'
import type { SubjectNameData } from '../names/name.ts'
import { extendedKeyUsageOids, findExtendedKeyUsageOid, impossibleUsages, type KeyUsage } from './usages.ts'

/** A kind of alternative name that a template can allow. */
export type SanType = 'DNS' | 'IP' | 'EMAIL'

/** What a template puts into a certificate and asks of the end entity. */
export interface Template {
  readonly name: string
  /** For RA purposes: shown by the all-operation only. */
  readonly ra: boolean
  readonly keyUsages: readonly KeyUsage[]
  /** Names of RFC 5280 or OIDs. */
  readonly extendedKeyUsages: readonly string[]
  readonly sanAllowed: readonly SanType[]
  readonly sanRequired: boolean
  /** A common name that is a host name becomes a DNS name. */
  readonly commonNameIsDnsName: boolean
  /** EC keys get keyAgreement in the place of keyEncipherment. */
  readonly ecKeyAgreement: boolean
  readonly rsaOnly: boolean
  readonly policyOids: readonly string[]
  readonly maxValidFor: ValidFor | null
  readonly isCa: boolean
  readonly pathLength: number | null
  readonly ocspNoCheck: boolean
}

/** The subject data from which names enter a certificate (contract 5.6). */
export interface TemplateSubject extends SubjectNameData {
  readonly email?: string | null | undefined
  readonly domains?: readonly string[] | null | undefined
  readonly ips?: readonly string[] | null | undefined
}

/** A need of the template that the end entity or key does not meet; its code is END_ENTITY_RULE_VIOLATION. */
export interface TemplateViolation {
  readonly apiError: 'END_ENTITY_RULE_VIOLATION'
  readonly property: EndEntityProperty | null
  readonly message: string
}

/** Every kind of alternative name that a template can allow, in the order of contract 10.2. */
export const allSanTypes: readonly SanType[] = ['DNS', 'IP', 'EMAIL']

/** A template of this name; what is not said is that of a plain signature. */
export const template = (name: string, members: Partial<Template>): Template => ({
  name,
  ra: false,
  keyUsages: ['digitalSignature'],
  extendedKeyUsages: [],
  sanAllowed: [],
  sanRequired: false,
  commonNameIsDnsName: false,
  ecKeyAgreement: false,
  rsaOnly: false,
  policyOids: [],
  maxValidFor: null,
  isCa: false,
  pathLength: null,
  ocspNoCheck: false,
  ...members,
})

const signAndEncipher: readonly KeyUsage[] = ['digitalSignature', 'keyEncipherment']

const server: Partial<Template> = {
  keyUsages: signAndEncipher,
  sanAllowed: ['DNS', 'IP'],
  sanRequired: true,
  commonNameIsDnsName: true,
}

const mailbox: Partial<Template> = { keyUsages: signAndEncipher, sanAllowed: ['EMAIL'], sanRequired: true }

/** The templates that every LOCAL provider has, in the order of contract 10.2. */
export const builtInTemplates: readonly Template[] = [
  template('SERVER', { ...server, extendedKeyUsages: ['serverAuth'] }),
  template('CLIENT', { extendedKeyUsages: ['clientAuth'], sanAllowed: allSanTypes }),
  template('SERVER_AND_CLIENT', { ...server, extendedKeyUsages: ['serverAuth', 'clientAuth'] }),
  template('PERSON', { ...mailbox, extendedKeyUsages: ['clientAuth', 'emailProtection'], ecKeyAgreement: true }),
  template('CODE_SIGNING', { extendedKeyUsages: ['codeSigning'] }),
  template('DEVICE', {
    keyUsages: signAndEncipher,
    extendedKeyUsages: ['clientAuth', 'ipsecIKE'],
    sanAllowed: ['DNS', 'IP'],
  }),
  template('RA_USER', { ...mailbox, ra: true, keyUsages: ['digitalSignature'], extendedKeyUsages: ['clientAuth'] }),
  template('CMP_SIGNER', { ra: true, extendedKeyUsages: ['cmcRA'] }),
  template('SCEP_SIGNER', { ra: true, keyUsages: signAndEncipher, rsaOnly: true }),
]

const infrastructureNames: readonly string[] = ['RA_USER', 'CMP_SIGNER']

/** Whoever believes the infrastructure believes certificates with one of these. */
const infrastructureUsages: readonly (string | null)[] = [
  extendedKeyUsageOids.OCSPSigning, // RFC 6960 4.2.2.2
  '1.3.6.1.5.5.7.3.15', // scvpServer, RFC 5055 3.5
  '1.3.6.1.5.5.7.3.27', // cmcCA, RFC 6402 2.10
  extendedKeyUsageOids.cmcRA,
  '1.3.6.1.5.5.7.3.29', // cmcArchive
  '1.3.6.1.5.5.7.3.32', // cmKGA, RFC 9480 2.2
  '1.3.6.1.4.1.311.20.2.1', // certificate request agent of Microsoft: enrols in the name of others
]

/** Whether its certificates sign for the infrastructure, by its name or by an extended key usage (contract 5.1). */
export const isForInfrastructure = ({ name, extendedKeyUsages }: Template): boolean =>
  infrastructureNames.includes(name) ||
  extendedKeyUsages.some(usage => infrastructureUsages.includes(findExtendedKeyUsageOid(usage)))

/** The key usages of CAs alone. */
export const caUsages: readonly KeyUsage[] = ['keyCertSign', 'cRLSign']

/** Templates of the service's own certificates, which no policy can name. */
export const internalTemplates = {
  OCSP_SIGNER: template('OCSP_SIGNER', { extendedKeyUsages: ['OCSPSigning'], ocspNoCheck: true }),
  ROOT_CA: template('ROOT_CA', { keyUsages: caUsages, isCa: true }),
  ISSUING_CA: template('ISSUING_CA', { keyUsages: caUsages, isCa: true, pathLength: 0 }),
  SINGLE_CA: template('SINGLE_CA', { keyUsages: caUsages, isCa: true, pathLength: 0 }),
} as const satisfies Record<string, Template>

const hasClientAuthAlone = ({ extendedKeyUsages }: Template): boolean =>
  extendedKeyUsages.every(usage => findExtendedKeyUsageOid(usage) === extendedKeyUsageOids.clientAuth) &&
  extendedKeyUsages.length > 0

/**
 * The key usages for a kind of key: keyEncipherment is for RSA only and never beside clientAuth alone (RFC 5280
 * 4.2.1.12), PERSON agrees on keys with EC (contract 10.2).
 */
export const keyUsagesFor = (template: Template, { cryptoAlgorithm }: KeySpec): KeyUsage[] => {
  const { keyUsages, ecKeyAgreement } = template
  const impossible = hasClientAuthAlone(template) ? ['keyEncipherment'] : []
  const usages = keyUsages.filter(usage => ![...impossible, ...impossibleUsages[cryptoAlgorithm]].includes(usage))
  const agrees = ecKeyAgreement && cryptoAlgorithm === 'EC' && !usages.includes('keyAgreement')
  return agrees ? [...usages, 'keyAgreement'] : usages
}

const dnsNames = ({ commonNameIsDnsName }: Template, { commonName, domains }: TemplateSubject): string[] => {
  const name = commonNameIsDnsName && commonName && isDomain(commonName) ? [commonName.toLowerCase()] : []
  return [...new Set([...name, ...(domains ?? [])])]
}

/** The alternative names that the template takes from the subject data: DNS, then IP, then e-mail. */
export const subjectAlternativeNames = (template: Template, subject: TemplateSubject): SubjectAlternativeName[] => {
  const names: Readonly<Record<SanType, readonly string[]>> = {
    DNS: dnsNames(template, subject),
    IP: subject.ips ?? [],
    EMAIL: subject.email ? [subject.email] : [],
  }
  const allowed = allSanTypes.filter(type => template.sanAllowed.includes(type))
  return allowed.flatMap(type => names[type].map(value => ({ type, value })))
}

/** The domains of the subject data with the DNS names that the template makes of other fields. */
export const heldDomains = (template: Template, subject: TemplateSubject): string[] => {
  const made = template.sanAllowed.includes('DNS') ? dnsNames(template, subject) : []
  return [...new Set([...(subject.domains ?? []), ...made])]
}

const violation = (property: EndEntityProperty | null, message: string): TemplateViolation => ({
  apiError: 'END_ENTITY_RULE_VIOLATION',
  property,
  message,
})

const sanProperties = { DNS: 'DOMAIN', IP: 'IP', EMAIL: 'EMAIL' } as const satisfies Record<SanType, EndEntityProperty>

const hasSubjectName = (subject: SubjectNameData) =>
  Boolean(subject.commonName ?? subject.organization ?? subject.organizationalUnit ?? subject.country)

/** The needs of the template that subject data and key do not meet; empty when all is well (contract 5.4 step 10). */
export const templateNeeds = (template: Template, subject: TemplateSubject, spec: KeySpec): TemplateViolation[] => {
  const violations: TemplateViolation[] = []
  const names = subjectAlternativeNames(template, subject)
  const [firstType] = template.sanAllowed
  if (template.sanRequired && names.length === 0)
    violations.push(
      violation(
        firstType ? sanProperties[firstType] : null,
        `Template ${template.name} needs a name of ${template.sanAllowed.join(' or ')}`,
      ),
    )
  if (names.length === 0 && !hasSubjectName(subject))
    violations.push(violation('COMMON_NAME', 'The certificate would hold neither a subject nor an alternative name'))
  if (template.rsaOnly && spec.cryptoAlgorithm !== 'RSA')
    violations.push(violation(null, `Template ${template.name} takes RSA keys only`))
  if (keyUsagesFor(template, spec).length === 0)
    violations.push(violation(null, `Template ${template.name} has no use for a key of this algorithm`))
  return violations
}
