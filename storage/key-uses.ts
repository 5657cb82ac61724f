// What each sealed column is sealed for. Owners are made of the columns that lead to the secret: who changes one of them
// cannot open it.
import type { SignerKind } from '../domain/signer-rules.ts'
import type { ApiClient } from './rows/api-client.ts'
import type { Ca } from './rows/ca.ts'
import type { CertificateProvider } from './rows/certificate-provider.ts'
import type { EndEntityPassword } from './rows/end-entity-password.ts'
import type { Mail } from './rows/mail.ts'
import type { OcspSigner } from './rows/ocsp-signer.ts'
import type { PolicySigner } from './rows/policy-signer.ts'
import type { Use } from './seal.ts'

/** The private key of a certificate; the hash is that of its SubjectPublicKeyInfo. */
export const certificateKeyUse = (certificateId: string, publicKeyHash: string): Use => ({
  purpose: 'END_ENTITY',
  owner: certificateId,
  publicKeyHash,
})

/** The private key of a CA of a provider; the hash is that of its SubjectPublicKeyInfo. */
export const caKeyUse = (
  { id, certificateProviderId }: Pick<Ca, 'id' | 'certificateProviderId'>,
  publicKeyHash: string,
): Use => ({ purpose: 'CA', owner: `${certificateProviderId ?? 'no provider'}/${id}`, publicKeyHash })

const signerPlaces: Readonly<Record<SignerKind, string>> = { SCEP: '', CMP: 'cmp/' }

/** The private key of a signer that was made for a policy; the hash is that of its SubjectPublicKeyInfo. */
export const signerKeyUse = (
  { policyId, kind, certificateId }: Pick<PolicySigner, 'policyId' | 'certificateId'> & { readonly kind: SignerKind },
  publicKeyHash: string,
): Use => ({ purpose: 'SIGNER', owner: `${signerPlaces[kind]}${policyId}/${certificateId}`, publicKeyHash })

/** The private key of a signer of OCSP answers; the hash is that of its SubjectPublicKeyInfo. */
export const ocspSignerKeyUse = ({ caId, id }: Pick<OcspSigner, 'caId' | 'id'>, publicKeyHash: string): Use => ({
  purpose: 'SIGNER',
  owner: `ocsp/${caId}/${id}`,
  publicKeyHash,
})

/** The password of an end entity for a policy. */
export const passwordUse = ({ endEntityId, policyId }: Pick<EndEntityPassword, 'endEntityId' | 'policyId'>): Use => ({
  purpose: 'PASSWORD',
  owner: `${endEntityId}/${policyId}`,
})

/** The secret members of a provider's configuration. */
export const providerSecretUse = ({ id }: Pick<CertificateProvider, 'id'>): Use => ({
  purpose: 'PROVIDER_SECRET',
  owner: id,
})

/** The token of a verification mail, for as long as the mail waits to be sent. */
export const mailTokenUse = ({ id, groupId }: Pick<Mail, 'id' | 'groupId'>): Use => ({
  purpose: 'MAIL_TOKEN',
  owner: `${groupId}/${id}`,
})

/** The value of a setting that is a SECRET. */
export const settingSecretUse = (settingsKey: string): Use => ({ purpose: 'SETTING_SECRET', owner: settingsKey })

/** The secret of an API client on its way to the identity provider; it is kept nowhere. */
export const clientSecretUse = ({ id, providerId }: Pick<ApiClient, 'id' | 'providerId'>): Use => ({
  purpose: 'CLIENT_SECRET',
  owner: `${id}/${providerId}`,
})
