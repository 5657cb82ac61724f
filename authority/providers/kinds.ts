// Every kind of certificate provider of this installation.
import type { CertificateProviderType } from '../../domain/enums.ts'
import type { Services } from '../../activities/services.ts'
import { localKind } from './local.ts'
import type { ProviderKind } from './provider.ts'

/** The kinds by their type. */
export const providerKinds = (services: Services): Readonly<Record<CertificateProviderType, ProviderKind>> => ({
  LOCAL: localKind(services),
})
