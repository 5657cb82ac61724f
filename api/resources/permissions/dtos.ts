// The types of grants (contract 6.7, 7.3).
import { z } from 'zod'
import { SecurityIdentityType } from '../../../domain/enums.ts'
import {
  CertificatePermission,
  CertRequestPermission,
  EndEntityPermission,
  GlobalPermission,
  PolicyPermission,
  RealmPermission,
} from '../../../domain/permission-enums.ts'
import { dto, enumOf, listOf, setOf, Uuid } from '../../kernel/dto.ts'

const globalPermission = enumOf(GlobalPermission, 'GlobalPermission')
const realmPermission = enumOf(RealmPermission, 'RealmPermission')
const policyPermission = enumOf(PolicyPermission, 'PolicyPermission')
const endEntityPermission = enumOf(EndEntityPermission, 'EndEntityPermission')
const certRequestPermission = enumOf(CertRequestPermission, 'CertRequestPermission')
const certificatePermission = enumOf(CertificatePermission, 'CertificatePermission')

const named = <S extends z.ZodType>(permission: S) =>
  z.array(z.object({ id: Uuid, name: z.string(), permissions: setOf(permission) }))

const CertRequestPermissionInfo = dto('CertRequestPermissionInfo', {
  id: Uuid,
  permissions: setOf(certRequestPermission),
})
const CertificatePermissionInfo = dto('CertificatePermissionInfo', {
  id: Uuid,
  name: z.string(),
  permissions: setOf(certificatePermission),
})

/** Everything that a principal holds. */
export const PrincipalAuthorizationDto = dto('PrincipalAuthorizationDto', {
  principalId: Uuid,
  principalType: enumOf(SecurityIdentityType, 'SecurityIdentityType'),
  globalPermissions: z.array(globalPermission),
  realmPermissions: named(realmPermission),
  policyPermissions: named(policyPermission),
  endEntityPermissions: named(endEntityPermission),
  certRequestPermissions: z.array(CertRequestPermissionInfo),
  certificatePermissions: z.array(CertificatePermissionInfo),
})

const receiver = { principalId: Uuid, principalType: z.enum(['USER', 'API_CLIENT']) }
const once = (sets: readonly { readonly id: string }[]): boolean =>
  new Set(sets.map(({ id }) => id)).size === sets.length
const permissionSets = <S extends z.ZodType>(permission: S) =>
  listOf(z.object({ id: Uuid, permissions: setOf(permission) }), { min: 1 }).refine(once, {
    error: 'must name each resource once',
  })

/** The global permissions that a principal is to hold. */
export const UpdateGlobalPermissionsDto = dto('UpdateGlobalPermissionsDto', {
  ...receiver,
  permissions: setOf(globalPermission),
})

/** The permissions that a principal is to hold on realms. */
export const UpdateRealmPermissionsDto = dto('UpdateRealmPermissionsDto', {
  ...receiver,
  realmPermissions: permissionSets(realmPermission),
})

/** The permissions that a principal is to hold on policies. */
export const UpdatePolicyPermissionsDto = dto('UpdatePolicyPermissionsDto', {
  ...receiver,
  policyPermissions: permissionSets(policyPermission),
})

/** The permissions that a principal is to hold on end entities. */
export const UpdateEndEntityPermissionsDto = dto('UpdateEndEntityPermissionsDto', {
  ...receiver,
  endEntityPermissions: permissionSets(endEntityPermission),
})

/** The permissions that a principal is to hold on certificate requests. */
export const UpdateCertRequestPermissionsDto = dto('UpdateCertRequestPermissionsDto', {
  ...receiver,
  certRequestPermissions: permissionSets(certRequestPermission),
})

/** The permissions that a principal is to hold on certificates. */
export const UpdateCertificatePermissionsDto = dto('UpdateCertificatePermissionsDto', {
  ...receiver,
  certificatePermissions: permissionSets(certificatePermission),
})
