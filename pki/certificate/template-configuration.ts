// Templates as a LOCAL provider's configuration changes them (contract 10.2): checked, and laid over the built-in ones.
import type { ValidFor } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import {
  allSanTypes,
  builtInTemplates,
  caUsages,
  internalTemplates,
  template,
  type SanType,
  type Template,
} from './templates.ts'
import {
  extendedKeyUsageOids,
  findExtendedKeyUsageOid,
  isForTimeStamps,
  isOid,
  type KeyUsage,
  keyUsageNames,
} from './usages.ts'

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

/** Extended key usages have a name and an OID, which are one usage. */
const sameOf = (value: string): string => findExtendedKeyUsageOid(value) ?? value

const checkConfiguration = (configuration: TemplateConfiguration): void => {
  const refuse = (reason: string) => {
    throw new Failure('INVALID_PROVIDER_CONFIGURATION', `Template ${configuration.name}: ${reason}`)
  }
  if (configuration.name.trim() === '') refuse('the name is empty')
  if (Object.hasOwn(internalTemplates, configuration.name)) refuse('the name is reserved')
  if (configuration.keyUsages?.length === 0) refuse('keyUsages is empty')
  for (const [member, isLegal] of legalMembers) {
    const values = configuration[member]
    if (Array.isArray(values) && !values.every(isLegal)) refuse(`${member} holds a value that is not allowed`)
    if (Array.isArray(values) && new Set(values.map(sameOf)).size < values.length)
      refuse(`${member} holds a value twice`)
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
  const refuse = (reason: string) => {
    throw new Failure('INVALID_PROVIDER_CONFIGURATION', `Template ${merged.name} ${reason}`)
  }
  if (merged.sanRequired && merged.sanAllowed.length === 0) refuse('requires a name that it forbids')
  if (isForTimeStamps(merged.extendedKeyUsages) && merged.extendedKeyUsages.length > 1)
    refuse('has an extended key usage beside timeStamping, which stands alone (RFC 3161 2.3)')
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
