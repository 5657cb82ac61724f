// The configuration of a certificate provider (contract 10.1): its form, its secrets and how it is answered.
import { z } from 'zod'
import type { CertificateProviderType } from '../../domain/enums.ts'
import { ValidFor, valuesOf } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import { completeLocal } from '../../domain/local-provider.ts'
import { parseNameText } from '../../pki/names/name-text.ts'
import { mergeTemplates } from '../../pki/certificate/templates.ts'
import type { CertificateProvider } from '../../storage/rows/certificate-provider.ts'

/** The members of a configuration, as they are stored. */
export type ProviderSettings = Record<string, unknown>

const refuse = (message: string, field = 'configuration'): never => {
  throw new Failure('INVALID_PROVIDER_CONFIGURATION', message, [{ field, message }])
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The members of a configuration; INVALID_PROVIDER_CONFIGURATION when the text is no JSON object. */
const readConfiguration = (text: string): ProviderSettings => {
  const document = parsed(text.trim() || '{}')
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return refuse('The configuration is a JSON object.')
  return document as ProviderSettings
}

const names = z.array(z.string().min(1)).optional()
const LocalTemplate = z.strictObject({
  name: z.string().trim().min(1).max(255),
  keyUsages: names,
  extendedKeyUsages: names,
  sanRequired: z.boolean().optional(),
  sanAllowed: names,
  policyOids: names,
  maxValidFor: z.enum(valuesOf(ValidFor)).nullable().optional(),
})
const LocalTemplates = z.array(LocalTemplate).max(1000)

const checkTemplates = (templates: unknown): void => {
  const read = LocalTemplates.safeParse(templates)
  if (!read.success) return refuse(`templates: ${z.prettifyError(read.error)}`, 'configuration.templates')
  const given = read.data.map(({ name }) => name)
  if (new Set(given).size < given.length) refuse('templates holds a name twice.', 'configuration.templates')
  mergeTemplates(read.data)
}

const checkName = (member: string, text: string): void => {
  const complain = () => refuse(`${member} is no distinguished name.`, `configuration.${member}`)
  try {
    if (parseNameText(text).length === 0) complain()
  } catch (error) {
    if (error instanceof Failure) complain()
    throw error
  }
}

const completedLocal = (name: string, given: ProviderSettings): ProviderSettings => {
  const { ...whole } = completeLocal(name, given)
  checkTemplates(whole.templates)
  checkName('rootSubjectDn', whole.rootSubjectDn)
  checkName('issuingSubjectDn', whole.issuingSubjectDn)
  return whole
}

const completions: Readonly<
  Record<CertificateProviderType, (name: string, given: ProviderSettings) => ProviderSettings>
> = {
  LOCAL: completedLocal,
}

/** What the keys of a LOCAL provider were made from, and what stays as it is therefore. */
const fixed: Readonly<Record<CertificateProviderType, readonly string[]>> = {
  LOCAL: [
    'hierarchy',
    'keyAlgorithm',
    'keySize',
    'curve',
    'rootSubjectDn',
    'issuingSubjectDn',
    'rootValidityYears',
    'issuingValidityYears',
  ],
}

/** The settings of a new provider: checked, its defaults filled in. */
export const newSettings = (type: CertificateProviderType, name: string, configuration: string): ProviderSettings =>
  completions[type](name, readConfiguration(configuration))

/** The settings of a changed provider; what is fixed keeps its value, and another value for it is refused. */
export const changedSettings = (provider: CertificateProvider, configuration: string): ProviderSettings => {
  const { certificateProviderType: type, name, settings } = provider
  const given = readConfiguration(configuration)
  for (const member of fixed[type]) {
    if (member in given && given[member] !== settings[member])
      refuse(`${member} cannot change.`, `configuration.${member}`)
    given[member] = settings[member]
  }
  return completions[type](name, given)
}

/** The configuration as it is answered: without secrets, each of which shows as `xSet`. */
export const shownConfiguration = ({ settings, secretNames }: CertificateProvider): string =>
  JSON.stringify({ ...settings, ...Object.fromEntries(secretNames.map(secret => [`${secret}Set`, true])) })
