// The configuration of a certificate provider (contract 10.1): read from its String, judged by its kind, shown without
// its secrets.
import type { CertificateProviderType } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import type { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { membersOf, unstorableMember, type Members } from '../json-document.ts'
import { providerKinds } from './kinds.ts'

const refuse = (message: string, field = 'configuration'): never => {
  throw new Failure('INVALID_PROVIDER_CONFIGURATION', message, [{ field, message }])
}

/** The members of a configuration as it is sent; INVALID_PROVIDER_CONFIGURATION. */
export const readConfiguration = (configuration: string): Members => {
  const members = membersOf(configuration) ?? refuse('The configuration is a JSON object.')
  const odd = unstorableMember(members)
  if (odd !== undefined)
    refuse('must not hold NUL or half a Unicode character.', odd === '' ? 'configuration' : `configuration.${odd}`)
  return members
}

/** The settings of a new provider: checked, its defaults filled in. */
export const newSettings = async (
  type: CertificateProviderType,
  name: string,
  configuration: string,
): Promise<Members> => providerKinds[type].settings(name, readConfiguration(configuration))

/**
 * The settings of a changed provider: members that are absent keep their value, null brings back the default. What is
 * fixed keeps its value, and another value for it is refused.
 */
export const changedSettings = async (provider: CertificateProvider, configuration: string): Promise<Members> => {
  const { certificateProviderType: type, name, settings } = provider
  const kind = providerKinds[type]
  const given = readConfiguration(configuration)
  for (const member of kind.fixed)
    if (member in given && given[member] !== settings[member])
      refuse(`${member} cannot change.`, `configuration.${member}`)
  const whole = Object.entries({ ...settings, ...given }).filter(([, value]) => value !== null)
  return kind.settings(name, Object.fromEntries(whole))
}

/** The configuration as it is answered: without secrets, each of which shows as `xSet`. */
export const shownConfiguration = ({ settings, secretNames }: CertificateProvider): string =>
  JSON.stringify({ ...settings, ...Object.fromEntries(secretNames.map(secret => [`${secret}Set`, true])) })
