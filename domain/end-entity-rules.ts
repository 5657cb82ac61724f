// The rules of end entities: their fields (contract 5.2) and what a policy demands of them (5.3, 5.5).
import { canonicalDomain, canonicalEmail, canonicalIp } from './address.ts'
import { canonicalCountry } from './country.ts'
import type { EndEntityProperty, EndEntityStrategy } from './enums.ts'
import { Failure, type FieldError } from './failure.ts'
import { matchesWhole } from './pattern.ts'
import type { EndEntityRule } from './policy-rules.ts'

/** One free key/value pair of an end entity. */
export interface GenericPair {
  key: string
  value: string
}

/** What names an end entity (SubjectDataDto). */
export interface SubjectData {
  commonName?: string | null | undefined
  organization?: string | null | undefined
  organizationalUnit?: string | null | undefined
  country?: string | null | undefined
  externalId?: string | null | undefined
  email?: string | null | undefined
  domains?: string[] | null | undefined
  ips?: string[] | null | undefined
  genericDtoList?: GenericPair[] | null | undefined
}

/** Subject data that was checked and is in canonical form: nothing is undefined. */
export interface EndEntityFields extends SubjectData {
  commonName: string | null
  organization: string | null
  organizationalUnit: string | null
  country: string | null
  externalId: string | null
  email: string | null
  domains: string[]
  ips: string[]
  genericDtoList: GenericPair[]
}

/** One demand that an end entity does not meet. */
export interface Violation {
  property: EndEntityProperty
  message: string
}

/** Notes that a field breaks a rule. */
type Complain = (field: string, message: string) => void

/** A canonical form, or null when the text has none. */
type Canonical = (text: string) => string | null

interface TextRule {
  readonly canonical: Canonical
  readonly message: string
}

const control = /\p{Cc}/u
const upTo =
  (most: number): Canonical =>
  text =>
    Array.from(text).length <= most && !control.test(text) && text.isWellFormed() ? text : null

const name: TextRule = {
  canonical: upTo(64),
  message: 'At most 64 characters of Unicode, none of them a control character',
}
const textRules = {
  commonName: name,
  organization: name,
  organizationalUnit: name,
  country: { canonical: canonicalCountry, message: 'Two letters of ISO 3166' },
  externalId: { canonical: upTo(255), message: 'At most 255 characters of Unicode, none of them a control character' },
  email: { canonical: canonicalEmail, message: 'An e-mail address of at most 254 ASCII characters' },
} as const satisfies Partial<Record<keyof SubjectData, TextRule>>

const listRules = {
  domains: { canonical: canonicalDomain, message: 'A host name whose labels mean something, a wildcard only first' },
  ips: { canonical: canonicalIp, message: 'An IPv4 or IPv6 address' },
} as const satisfies Partial<Record<keyof SubjectData, TextRule>>

const most = { names: 100, pairs: 50, key: 64, value: 1024 } as const

const textField = (subject: SubjectData, field: keyof typeof textRules, complain: Complain): string | null => {
  const text = subject[field]?.trim()
  if (!text) return null
  const { canonical, message } = textRules[field]
  const value = canonical(text)
  if (value === null) complain(field, message)
  return value
}

const listField = (subject: SubjectData, field: keyof typeof listRules, complain: Complain): string[] => {
  const texts = subject[field] ?? []
  if (texts.length > most.names) complain(field, `At most ${most.names}`)
  const { canonical, message } = listRules[field]
  const values = texts.slice(0, most.names).map((text, index) => {
    const value = canonical(text.trim())
    if (value === null) complain(`${field}[${index}]`, message)
    return value
  })
  return [...new Set(values.filter(value => value !== null))]
}

const isPairText = (text: string, length: number): boolean => text !== '' && upTo(length)(text) !== null

const pairs = ({ genericDtoList }: SubjectData, complain: Complain): GenericPair[] => {
  if ((genericDtoList ?? []).length > most.pairs) complain('genericDtoList', `At most ${most.pairs}`)
  const judged = (genericDtoList ?? []).slice(0, most.pairs)
  const list = judged.map(({ key, value }) => ({ key: key.trim(), value: value.trim() }))
  if (new Set(list.map(({ key }) => key)).size < list.length) complain('genericDtoList', 'Each key once')
  for (const [index, { key, value }] of list.entries()) {
    if (!isPairText(key, most.key)) complain(`genericDtoList[${index}].key`, `1 to ${most.key} characters`)
    if (!isPairText(value, most.value)) complain(`genericDtoList[${index}].value`, `1 to ${most.value} characters`)
  }
  return list
}

const isNamed = ({ commonName, email, domains, ips, externalId }: SubjectData): boolean =>
  [commonName, email, externalId].some(Boolean) || [domains, ips].some(list => list && list.length > 0)

/** The fields of a new end entity in canonical form, else VALIDATION_FAILED with every field at fault. */
export const endEntityFields = (subject: SubjectData): EndEntityFields => {
  const errors: FieldError[] = []
  const complain: Complain = (field, message) => errors.push({ field, message })
  const text = (field: keyof typeof textRules) => textField(subject, field, complain)
  const fields: EndEntityFields = {
    commonName: text('commonName'),
    organization: text('organization'),
    organizationalUnit: text('organizationalUnit'),
    country: text('country'),
    externalId: text('externalId'),
    email: text('email'),
    domains: listField(subject, 'domains', complain),
    ips: listField(subject, 'ips', complain),
    genericDtoList: pairs(subject, complain),
  }
  if (errors.length === 0 && !isNamed(fields))
    complain('commonName', 'At least one of commonName, email, domains, ips, externalId')
  if (errors.length === 0) return fields
  throw new Failure('VALIDATION_FAILED', `The end entity is not valid: ${errors[0]?.field}.`, errors)
}

const single = (text: string | null | undefined): string[] => (text ? [text] : [])

const values: Readonly<Record<EndEntityProperty, (subject: SubjectData, key?: string | null) => string[]>> = {
  COMMON_NAME: ({ commonName }) => single(commonName),
  ORGANIZATION: ({ organization }) => single(organization),
  ORGANIZATIONAL_UNIT: ({ organizationalUnit }) => single(organizationalUnit),
  COUNTRY: ({ country }) => single(country),
  EMAIL: ({ email }) => single(email),
  DOMAIN: ({ domains }) => domains ?? [],
  IP: ({ ips }) => ips ?? [],
  EXTERNAL_ID: ({ externalId }) => single(externalId),
  GENERIC: ({ genericDtoList }, key) => (genericDtoList ?? []).filter(pair => pair.key === key).map(pair => pair.value),
}

const strategyProperties = {
  COMMON_NAME: 'COMMON_NAME',
  SUBJECT_DN: 'COMMON_NAME',
  EMAIL: 'EMAIL',
  DOMAIN: 'DOMAIN',
  IP: 'IP',
  EXTERNAL_ID: 'EXTERNAL_ID',
  UUID: null,
} as const satisfies Record<EndEntityStrategy, EndEntityProperty | null>

/** The property that a strategy needs (contract 5.3), or null. */
export const demandedBy = (strategy: EndEntityStrategy): EndEntityProperty | null => strategyProperties[strategy]

/** What a strategy lacks in an end entity (contract 5.3), or null. */
export const strategyViolation = (strategy: EndEntityStrategy, subject: SubjectData): Violation | null => {
  const property = strategyProperties[strategy]
  if (property === null || values[property](subject).length > 0) return null
  return { property, message: `Strategy ${strategy} needs it` }
}

/** What can be known by a strategy: subject data, the subject DN of contract 5.6, and the id where there is one. */
export interface Identity extends SubjectData {
  readonly id?: string | null | undefined
  readonly subjectDn: string
}

/** The alias and lookup key of an end entity (contract 5.3), or null when the strategy's field is missing. */
export const strategyKey = (strategy: EndEntityStrategy, identity: Identity): string | null => {
  const property = strategyProperties[strategy]
  if (property === null) return identity.id ?? null
  const [value] = values[property](identity)
  return (strategy === 'SUBJECT_DN' && value ? identity.subjectDn : value) ?? null
}

/** The form in which aliases and lookup keys are compared: without case, white space collapsed, composed (Unicode NFC). */
export const comparable = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase().normalize('NFC')

const breaches = ({ requirement, pattern, maxCount }: EndEntityRule, found: readonly string[]): string[] => {
  if (requirement === 'FORBIDDEN') return found.length > 0 ? ['Must be absent'] : []
  if (found.length === 0) return requirement === 'REQUIRED' ? ['Must be present'] : []
  const misfits = pattern ? found.filter(value => !matchesWhole(pattern, value)) : []
  const tooMany = maxCount != null && found.length > maxCount ? [`At most ${maxCount}`] : []
  return [...tooMany, ...misfits.map(value => `${value} does not match ${pattern}`)]
}

/** Every breach of the rules of a policy (contract 5.5), in the order of the rules. */
export const ruleViolations = (rules: readonly EndEntityRule[], subject: SubjectData): Violation[] =>
  rules.flatMap(rule => {
    const { property, genericKey } = rule
    const about = genericKey ? `${genericKey}: ` : ''
    return breaches(rule, values[property](subject, genericKey)).map(text => ({ property, message: about + text }))
  })

/** What a certificate will hold of an end entity: its fields, and the names that a template makes of them. */
export type Held = <S extends SubjectData>(subject: S) => S

/** What a certificate holds where no template makes names of other fields. */
export const asItIs: Held = subject => subject

/** Every breach of a policy: the strategy looks at the end entity itself, the rules at what the certificate will hold. */
export const endEntityViolations = (
  {
    endEntityStrategy,
    endEntityRules,
  }: { endEntityStrategy: EndEntityStrategy; endEntityRules: readonly EndEntityRule[] },
  subject: SubjectData,
  held: Held = asItIs,
): Violation[] => {
  const missing = strategyViolation(endEntityStrategy, subject)
  return [...(missing ? [missing] : []), ...ruleViolations(endEntityRules, held(subject))]
}

/** Throws END_ENTITY_RULE_VIOLATION, its message naming every property at fault, unless strategy and rules are kept. */
export const mustSatisfy = (
  policy: Parameters<typeof endEntityViolations>[0],
  subject: SubjectData,
  held: Held = asItIs,
): void => {
  const violations = endEntityViolations(policy, subject, held)
  if (violations.length === 0) return
  const told = violations.map(({ property, message }) => `${property}: ${message}`).join('; ')
  throw new Failure(
    'END_ENTITY_RULE_VIOLATION',
    `The rules or the strategy of the policy are broken: ${told}`,
    violations.map(({ property, message }) => ({ field: property, message })),
  )
}

/** How people call an end entity: the first of what names it. */
export const nameOf = ({ commonName, externalId, email, domains, ips }: EndEntityFields): string =>
  commonName ?? externalId ?? email ?? domains[0] ?? ips[0] ?? ''
