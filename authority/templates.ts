// The templates of a LOCAL provider, and the one that a policy names: asked at creation, at approval and at issue alike.
import type { CryptoAlgorithm } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { templateSignerName } from '../domain/policy-configuration.ts'
import { everything, withinTemplate, type Capabilities } from '../domain/policy-rules.ts'
import { mergeTemplates, type Template, type TemplateConfiguration } from '../pki/certificate/templates.ts'

/** The part of a LOCAL provider that its templates come from. */
export interface TemplateSource {
  readonly settings: Readonly<Record<string, unknown>>
}

/** The built-in templates with the provider's own added or laid over. */
export const templatesOf = ({ settings }: TemplateSource): Template[] =>
  mergeTemplates((settings['templates'] ?? []) as TemplateConfiguration[])

/** The template that a policy's JSON document names; Failure INVALID_POLICY_CONFIGURATION or TEMPLATE_NOT_FOUND. */
export const templateFor = (provider: TemplateSource, policyConfiguration: string): Template => {
  const wanted = templateSignerName(policyConfiguration)
  const template = templatesOf(provider).find(({ name }) => name === wanted)
  if (!template) throw new Failure('TEMPLATE_NOT_FOUND', `The provider has no template ${wanted}.`)
  return template
}

/** What the provider can do under a policy's configuration (contract 5.1); failures as templateFor. */
export const capabilitiesOf = (provider: TemplateSource, policyConfiguration: string): Capabilities => {
  const template = templateFor(provider, policyConfiguration)
  const caAlgorithm = provider.settings['keyAlgorithm'] as CryptoAlgorithm
  return withinTemplate({ ...everything, caAlgorithm }, template)
}
