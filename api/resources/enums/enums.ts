// The 21 public enumerations (contract 2, 6.9): each answers its values with their descriptions.
import { z } from 'zod'
import * as enums from '../../../domain/enums.ts'
import { apiErrors } from '../../../domain/failure.ts'
import * as permissions from '../../../domain/permission-enums.ts'
import { operation } from '../../kernel/operation.ts'
import { enumListDto } from './dtos.ts'

const publicEnum = (segment: string, name: string, enumeration: enums.Enumeration) => {
  const values = Object.entries(enumeration).map(([value, description]) => ({ value, description }))
  return operation(`GET /public/enum/${segment}`, {
    summary: `List the values of ${name}`,
    needs: 'NOTHING',
    returns: [200, enumListDto(name, z.string())],
    handle: () => values,
  })
}

const errorDescriptions = Object.fromEntries(
  Object.entries(apiErrors).map(([code, { description }]) => [code, description]),
)

export const getApiErrorValues = publicEnum('api-error-values', 'ApiErrorValues', errorDescriptions)
export const getCertRequestPermissionsValues = publicEnum(
  'cert-request-permissions',
  'CertRequestPermission',
  permissions.CertRequestPermission,
)
export const getCertStatusValues = publicEnum('cert-status-values', 'CertStatus', enums.CertStatus)
export const getCertificatePermissionsValues = publicEnum(
  'certificate-permissions',
  'CertificatePermission',
  permissions.CertificatePermission,
)
export const getCertificateProviderTypeResponseDtoList = publicEnum(
  'certificate-provider-type-values',
  'CertificateProviderType',
  enums.CertificateProviderType,
)
export const getCertificateSearchKeyValues = publicEnum(
  'cert-search-key-values',
  'CertificateSearchKey',
  enums.CertificateSearchKey,
)
export const getCmpSignatureAlgorithmValues = publicEnum(
  'cmp-signature-algorithm-values',
  'CmpSignatureAlgorithm',
  enums.CmpSignatureAlgorithm,
)
export const getCryptoAlgorithmValues = publicEnum('crypto-algorithm-values', 'CryptoAlgorithm', enums.CryptoAlgorithm)
export const getEcNamedCurvesValues = publicEnum('ec-named-curves-values', 'ECNamedCurve', enums.ECNamedCurve)
export const getEdDSANamedCurvesValues = publicEnum(
  'eddsa-named-curves-values',
  'EdDSANamedCurve',
  enums.EdDSANamedCurve,
)
export const getEndEntityPermissionsValues = publicEnum(
  'end-entity-permissions',
  'EndEntityPermission',
  permissions.EndEntityPermission,
)
export const getEndEntityPropertiesValues = publicEnum(
  'end-entity-properties',
  'EndEntityProperty',
  enums.EndEntityProperty,
)
export const getEntitiesEnumValues = publicEnum('entities-enum-values', 'EntitiesEnum', enums.EntitiesEnum)
export const getEntityStrategyEnumValues = publicEnum(
  'entity-strategy-enum-values',
  'EndEntityStrategy',
  enums.EndEntityStrategy,
)
export const getGlobalPermissionsValues = publicEnum(
  'global-permissions',
  'GlobalPermission',
  permissions.GlobalPermission,
)
export const getKeyPairModeValues = publicEnum('key-pair-mode-values', 'KeyPairMode', enums.KeyPairMode)
export const getPolicyPermissionsValues = publicEnum(
  'policy-permissions',
  'PolicyPermission',
  permissions.PolicyPermission,
)
export const getRealmPermissionsValues = publicEnum('realm-permissions', 'RealmPermission', permissions.RealmPermission)
export const getRevocationReasonValues = publicEnum(
  'revocation-reason-values',
  'RevocationReason',
  enums.RevocationReason,
)
export const getRsaKeySizeValues = operation('GET /public/enum/rsa-key-size-values', {
  summary: 'List the values of RSAKeySize',
  needs: 'NOTHING',
  returns: [200, enumListDto('RSAKeySize', z.int())],
  handle: () => enums.rsaKeySizes.map(value => ({ value, description: enums.RsaKeySize[value] })),
})
export const getValidForValues = publicEnum('valid-for-values', 'ValidFor', enums.ValidFor)
