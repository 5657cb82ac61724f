// Certificate templates (contract 10.2) as data, what they need of an end entity, and the alternative names they allow.
import { isDomain, type SubjectAlternativeName } from '../../domain/address.ts'
import type { EndEntityProperty, ValidFor } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import type { KeySpec } from '../../domain/key-rules.ts'
import type { SubjectNameData } from '../names/name.ts'
import {
  extendedKeyUsageOids,
  findExtendedKeyUsageOid,
  impossibleUsages,
  isOid,
  type KeyUsage,
  keyUsageNames,
} from './usages.ts'

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

/** A template of a LOCAL provider's configuration; absent members keep those of the template that it replaces. */
export interface TemplateConfiguration {
  readonly name: string
  readonly keyUsages?: readonly string[] | undefined
  readonly extendedKeyUsages?: readonly string[] | undefined
  readonly sanRequired?: boolean | undefined
  readonly sanAllowed?: readonly string[] | undefined
  readonly policyOids?: readonly string[] | undefined
  readonly maxValidFor?: ValidFor | null | undefined
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

const allSanTypes: readonly SanType[] = ['DNS', 'IP', 'EMAIL']

const template = (name: string, members: Partial<Template>): Template => ({
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
  template('CLIENT', { keyUsages: signAndEncipher, extendedKeyUsages: ['clientAuth'], sanAllowed: allSanTypes }),
  template('SERVER_AND_CLIENT', { ...server, extendedKeyUsages: ['serverAuth', 'clientAuth'] }),
  template('PERSON', { ...mailbox, extendedKeyUsages: ['clientAuth', 'emailProtection'], ecKeyAgreement: true }),
  template('CODE_SIGNING', { extendedKeyUsages: ['codeSigning'] }),
  template('DEVICE', {
    keyUsages: signAndEncipher,
    extendedKeyUsages: ['clientAuth', 'ipsecIKE'],
    sanAllowed: ['DNS', 'IP'],
  }),
  template('RA_USER', { ...mailbox, ra: true, extendedKeyUsages: ['clientAuth'] }),
  template('CMP_SIGNER', { ra: true, extendedKeyUsages: ['cmcRA'] }),
  template('SCEP_SIGNER', { ra: true, keyUsages: signAndEncipher, rsaOnly: true }),
]

const caUsages: readonly KeyUsage[] = ['keyCertSign', 'cRLSign']

/** Templates of the service's own certificates, which no policy can name. */
export const internalTemplates = {
  OCSP_SIGNER: template('OCSP_SIGNER', { extendedKeyUsages: ['OCSPSigning'], ocspNoCheck: true }),
  ROOT_CA: template('ROOT_CA', { keyUsages: caUsages, isCa: true }),
  ISSUING_CA: template('ISSUING_CA', { keyUsages: caUsages, isCa: true, pathLength: 0 }),
  SINGLE_CA: template('SINGLE_CA', { keyUsages: caUsages, isCa: true, pathLength: 0 }),
} as const satisfies Record<string, Template>

const isLeafUsage = (usage: string): usage is KeyUsage =>
  keyUsageNames.some(name => name === usage) && !caUsages.some(name => name === usage)

const isSanType = (type: string): type is SanType => allSanTypes.some(name => name === type)

const mayExtendKeyUsage = (usage: string) => {
  const found = findExtendedKeyUsageOid(usage)
  return found !== null && found !== extendedKeyUsageOids.anyExtendedKeyUsage
}

const legalMembers: readonly [keyof TemplateConfiguration, (value: string) => boolean][] = [
  ['keyUsages', isLeafUsage],
  ['extendedKeyUsages', mayExtendKeyUsage],
  ['sanAllowed', isSanType],
  ['policyOids', isOid],
]

const checkConfiguration = (configuration: TemplateConfiguration): void => {
  const refuse = (reason: string) => {
    throw new Failure('INVALID_PROVIDER_CONFIGURATION', `Template ${configuration.name}: ${reason}`)
  }
  if (configuration.name.trim() === '') refuse('the name is empty')
  if (configuration.name in internalTemplates) refuse('the name is reserved')
  if (configuration.keyUsages?.length === 0) refuse('keyUsages is empty')
  for (const [member, isLegal] of legalMembers) {
    const values = configuration[member]
    if (Array.isArray(values) && !values.every(isLegal)) refuse(`${member} holds a value that is not allowed`)
    if (Array.isArray(values) && new Set(values).size < values.length) refuse(`${member} holds a value twice`)
  }
}

const configurable = [
  'keyUsages',
  'extendedKeyUsages',
  'sanRequired',
  'sanAllowed',
  'policyOids',
  'maxValidFor',
] as const satisfies readonly (keyof TemplateConfiguration)[]

const applyConfiguration = (base: Template, configuration: TemplateConfiguration): Template => {
  checkConfiguration(configuration)
  // Only the members of the contract: what a configuration holds besides must never reach a certificate.
  const stated = configurable.filter(member => configuration[member] !== undefined)
  const changes = Object.fromEntries(stated.map(member => [member, configuration[member]])) as Partial<Template>
  const merged: Template = { ...base, ...changes }
  if (merged.sanRequired && merged.sanAllowed.length === 0)
    throw new Failure('INVALID_PROVIDER_CONFIGURATION', `Template ${merged.name} requires a name that it forbids`)
  return merged
}

/** The built-in templates with those of a provider's configuration added or laid over; INVALID_PROVIDER_CONFIGURATION. */
export const mergeTemplates = (configurations: readonly TemplateConfiguration[]): Template[] => {
  const templates = new Map(builtInTemplates.map(builtIn => [builtIn.name, builtIn]))
  for (const configuration of configurations) {
    const base = templates.get(configuration.name) ?? template(configuration.name, { sanAllowed: allSanTypes })
    templates.set(configuration.name, applyConfiguration(base, configuration))
  }
  return [...templates.values()]
}

/** The key usages for a kind of key: keyEncipherment is for RSA only, PERSON agrees on keys with EC (contract 10.2). */
export const keyUsagesFor = ({ keyUsages, ecKeyAgreement }: Template, { cryptoAlgorithm }: KeySpec): KeyUsage[] => {
  const usages = keyUsages.filter(usage => !impossibleUsages[cryptoAlgorithm].includes(usage))
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
