// Every kind of certificate provider of this installation, and what a provider offers under a policy.
import type { CertificateProviderType } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import type { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { local } from './local.ts'
import type { ProviderKind, Terms } from './provider.ts'

const reserved = 'The template is for signers of the infrastructure, which policies of the system realm make.'

/** The kinds by their type. */
export const providerKinds: Readonly<Record<CertificateProviderType, ProviderKind>> = { LOCAL: local }

/** The kind of a provider. */
export const kindOf = ({ certificateProviderType }: CertificateProvider): ProviderKind =>
  providerKinds[certificateProviderType]

/** What a provider offers under a policy's configuration; INVALID_POLICY_CONFIGURATION or TEMPLATE_NOT_FOUND. */
export const termsOf = (provider: CertificateProvider, policyConfiguration: string): Terms =>
  kindOf(provider).terms(provider, policyConfiguration)

/** As termsOf, and INVALID_POLICY_CONFIGURATION for signers of the infrastructure outside the system realm. */
export const termsIn = (
  { systemRealm }: { readonly systemRealm: boolean },
  provider: CertificateProvider,
  policyConfiguration: string,
): Terms => {
  const terms = termsOf(provider, policyConfiguration)
  if (terms.infrastructure && !systemRealm)
    throw new Failure('INVALID_POLICY_CONFIGURATION', reserved, [
      { field: 'certificateProviderConfiguration', message: reserved },
    ])
  return terms
}
