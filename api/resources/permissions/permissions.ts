// Grants: who may do what (contract 6.7, 7.3).
import { z } from 'zod'
import { SecurityIdentityType, type SecurityIdentityType as Kind } from '../../../domain/enums.ts'
import * as permission from '../../../domain/permission-enums.ts'
import type { EntityManager } from '@mikro-orm/postgresql'
import { ApiClient } from '../../../storage/rows/api-client.ts'
import { grantsOf } from '../../../storage/authorization.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { loadGrants } from '../../../storage/grant.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { User } from '../../../storage/rows/user.ts'
import * as shape from '../../kernel/dto.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { operation } from '../../kernel/operation.ts'
import type { EntityType } from '../../kernel/source.ts'
import { replaceGlobal, replaceOn } from './granting.ts'

const Type = shape.enumOf(SecurityIdentityType, 'SecurityIdentityType')
const Global = shape.enumOf(permission.GlobalPermission, 'GlobalPermission')
const OnRealm = shape.enumOf(permission.RealmPermission, 'RealmPermission')
const OnPolicy = shape.enumOf(permission.PolicyPermission, 'PolicyPermission')
const OnEndEntity = shape.enumOf(permission.EndEntityPermission, 'EndEntityPermission')
const OnRequest = shape.enumOf(permission.CertRequestPermission, 'CertRequestPermission')
const OnCertificate = shape.enumOf(permission.CertificatePermission, 'CertificatePermission')

const named = <S extends z.ZodType>(values: S) =>
  z.array(z.object({ id: shape.Uuid, name: z.string(), permissions: shape.setOf(values) }))

const CertRequestPermissionInfo = shape.dto('CertRequestPermissionInfo', {
  id: shape.Uuid,
  permissions: shape.setOf(OnRequest),
})
const CertificatePermissionInfo = shape.dto('CertificatePermissionInfo', {
  id: shape.Uuid,
  name: z.string(),
  permissions: shape.setOf(OnCertificate),
})
const PrincipalAuthorizationDto = shape.dto('PrincipalAuthorizationDto', {
  principalId: shape.Uuid,
  principalType: Type,
  globalPermissions: z.array(Global),
  realmPermissions: named(OnRealm),
  policyPermissions: named(OnPolicy),
  endEntityPermissions: named(OnEndEntity),
  certRequestPermissions: z.array(CertRequestPermissionInfo),
  certificatePermissions: z.array(CertificatePermissionInfo),
})

const receiver = { principalId: shape.Uuid, principalType: z.enum(['USER', 'API_CLIENT']) }
const jane = { principalId: exampleIds.User, principalType: 'USER' }
const sets = <S extends z.ZodType>(values: S) =>
  shape.listOf(z.object({ id: shape.Uuid, permissions: shape.setOf(values) }), { min: 1 })

/** Everything that a principal holds; the contract's names are those of the columns. */
const authorization = async (em: EntityManager, principalId: string, principalType: Kind) => {
  const { global } = await loadGrants(em, principalId)
  return {
    principalId,
    principalType,
    globalPermissions: [...global],
    realmPermissions: await grantsOf(em, principalId, 'REALM'),
    policyPermissions: await grantsOf(em, principalId, 'POLICY'),
    endEntityPermissions: await grantsOf(em, principalId, 'END_ENTITY'),
    certRequestPermissions: await grantsOf(em, principalId, 'CERT_REQUEST'),
    certificatePermissions: await grantsOf(em, principalId, 'CERTIFICATE'),
  } as z.output<typeof PrincipalAuthorizationDto>
}

/** Besides, nobody hands out what he does not hold (contract 7.3). */
const grantNeeds = (entity: EntityType) =>
  [
    {
      right: 'UPDATE_REALM',
      on: 'the realm of each resource that is named, where only what is held can be given',
      entity,
    },
  ] as const

export const getUserPermissions = operation('GET /permissions/users/:id', {
  summary: 'Read what a user may do',
  on: User,
  needs: 'READ_USER',
  returns: [200, PrincipalAuthorizationDto],
  handle: ({ em, target: { id } }) => authorization(em, id, 'USER'),
})

export const getApiClientPermissions = operation('GET /permissions/api-clients/:id', {
  summary: 'Read what an API client may do',
  on: ApiClient,
  needs: 'READ_API_CLIENT',
  returns: [200, PrincipalAuthorizationDto],
  handle: ({ em, target: { id } }) => authorization(em, id, 'API_CLIENT'),
})

export const updateGlobalPermissions = operation('PATCH /permissions/global', {
  summary: 'Replace the global permissions of a principal',
  needs: 'ADMIN',
  body: shape.dto('UpdateGlobalPermissionsDto', { ...receiver, permissions: shape.setOf(Global) }),
  example: { body: { ...jane, permissions: ['REALMS_CREATE'] } },
  returns: [204, null],
  fails: [415],
  handle: ({ em, body }) => replaceGlobal(em, body, body.permissions),
})

export const updateRealmPermissions = operation('PATCH /permissions/realms', {
  summary: 'Replace the permissions of a principal on realms',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(Realm),
  body: shape.dto('UpdateRealmPermissionsDto', { ...receiver, realmPermissions: sets(OnRealm) }),
  example: { body: { ...jane, realmPermissions: [{ id: exampleIds.Realm, permissions: ['FULL_READ', 'UPDATE'] }] } },
  returns: [204, null],
  fails: [415],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, { entity: Realm, scope: 'REALM', receiver: body, sets: body.realmPermissions }),
})

export const updatePolicyPermissions = operation('PATCH /permissions/policies', {
  summary: 'Replace the permissions of a principal on policies',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(Policy),
  body: shape.dto('UpdatePolicyPermissionsDto', { ...receiver, policyPermissions: sets(OnPolicy) }),
  example: {
    body: { ...jane, policyPermissions: [{ id: exampleIds.Policy, permissions: ['CERTS_CREATE', 'CERTREQS_READ'] }] },
  },
  returns: [204, null],
  fails: [415],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, { entity: Policy, scope: 'POLICY', receiver: body, sets: body.policyPermissions }),
})

export const updateEndEntityPermissions = operation('PATCH /permissions/end-entities', {
  summary: 'Replace the permissions of a principal on end entities',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(EndEntity),
  body: shape.dto('UpdateEndEntityPermissionsDto', { ...receiver, endEntityPermissions: sets(OnEndEntity) }),
  example: { body: { ...jane, endEntityPermissions: [{ id: exampleIds.EndEntity, permissions: ['UPDATE'] }] } },
  returns: [204, null],
  fails: [415],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, { entity: EndEntity, scope: 'END_ENTITY', receiver: body, sets: body.endEntityPermissions }),
})

export const updateCertRequestPermissions = operation('PATCH /permissions/cert-requests', {
  summary: 'Replace the permissions of a principal on certificate requests',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(CertRequest),
  body: shape.dto('UpdateCertRequestPermissionsDto', { ...receiver, certRequestPermissions: sets(OnRequest) }),
  example: { body: { ...jane, certRequestPermissions: [{ id: exampleIds.CertRequest, permissions: ['APPROVE'] }] } },
  returns: [204, null],
  fails: [415],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, {
      entity: CertRequest,
      scope: 'CERT_REQUEST',
      receiver: body,
      sets: body.certRequestPermissions,
    }),
})

export const updateCertificatePermissions = operation('PATCH /permissions/certificates', {
  summary: 'Replace the permissions of a principal on certificates',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(Certificate),
  body: shape.dto('UpdateCertificatePermissionsDto', { ...receiver, certificatePermissions: sets(OnCertificate) }),
  example: {
    body: { ...jane, certificatePermissions: [{ id: exampleIds.Certificate, permissions: ['DOWNLOAD_PRIVATE_KEY'] }] },
  },
  returns: [204, null],
  fails: [415],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, {
      entity: Certificate,
      scope: 'CERTIFICATE',
      receiver: body,
      sets: body.certificatePermissions,
    }),
})
