// Which template a policy names, and what a LOCAL provider can do under it. The provider's own templates are merged with
// the built-in ones once a loaded provider, and looked up by policy from then on.
import type { CryptoAlgorithm } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { everything, withinTemplate, type Capabilities } from '../domain/policy-rules.ts'
import { mergeTemplates, type TemplateConfiguration } from '../pki/certificate/template-configuration.ts'
import type { Template } from '../pki/certificate/templates.ts'
import { membersOf, unstorableMember, type Members } from './json-document.ts'

/** The part of a LOCAL provider that its templates come from. */
export interface TemplateSource {
  readonly settings: Members
}

const refuse = (message: string): never => {
  throw new Failure('INVALID_POLICY_CONFIGURATION', message, [{ field: 'certificateProviderConfiguration', message }])
}

/** The template signer that a policy of a LOCAL provider names (contract 5.1); else INVALID_POLICY_CONFIGURATION. */
export const templateSignerName = (policyConfiguration: string): string => {
  const members = membersOf(policyConfiguration) ?? refuse('Must be a JSON object.')
  const odd = unstorableMember(members)
  if (odd !== undefined) refuse(`${odd || 'A name'} must not hold NUL or half a Unicode character.`)
  const { templateSignerName: name } = members
  return typeof name === 'string' && name.trim() !== '' ? name.trim() : refuse('templateSignerName is required.')
}

interface Merged {
  readonly all: readonly Template[]
  /** By the policy's configuration, as its text stands. */
  readonly byConfiguration: Map<string, Template>
}

// Settings are replaced, never changed in place: the object stands for its content.
const mergedOf = new WeakMap<Members, Merged>()

const merged = ({ settings }: TemplateSource): Merged => {
  const known = mergedOf.get(settings)
  if (known) return known
  const all = mergeTemplates((settings['templates'] ?? []) as TemplateConfiguration[])
  const made = { all, byConfiguration: new Map<string, Template>() }
  mergedOf.set(settings, made)
  return made
}

/** The built-in templates with the provider's own added or laid over. */
export const templatesOf = (provider: TemplateSource): readonly Template[] => merged(provider).all

/** The template that a policy's JSON document names; Failure INVALID_POLICY_CONFIGURATION or TEMPLATE_NOT_FOUND. */
export const templateFor = (provider: TemplateSource, policyConfiguration: string): Template => {
  const { all, byConfiguration } = merged(provider)
  const known = byConfiguration.get(policyConfiguration)
  if (known) return known
  const wanted = templateSignerName(policyConfiguration)
  const template = all.find(({ name }) => name === wanted)
  if (!template) throw new Failure('TEMPLATE_NOT_FOUND', `The provider has no template ${wanted}.`)
  byConfiguration.set(policyConfiguration, template)
  return template
}

/** What the provider can do under a template (contract 5.1). */
export const capabilitiesWithin = ({ settings }: TemplateSource, template: Template): Capabilities => {
  const caAlgorithm = settings['keyAlgorithm'] as CryptoAlgorithm
  return withinTemplate({ ...everything, caAlgorithm }, template)
}
