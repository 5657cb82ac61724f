// Grants: who may do what (contract 6.7, 7.3).
import type { z } from 'zod'
import type { SecurityIdentityType } from '../../../domain/enums.ts'
import { scopes, type Scope } from '../../../domain/permissions.ts'
import type { EntityManager } from '@mikro-orm/postgresql'
import { ApiClient } from '../../../storage/rows/api-client.ts'
import { countGrants, grantsOf } from '../../../storage/authorization.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { loadGrants } from '../../../storage/grant.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { User } from '../../../storage/rows/user.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { operation } from '../../kernel/operation.ts'
import { Count, optionally } from '../../kernel/query.ts'
import type { EntityType } from '../../kernel/source.ts'
import {
  PrincipalAuthorizationDto,
  UpdateCertificatePermissionsDto,
  UpdateCertRequestPermissionsDto,
  UpdateEndEntityPermissionsDto,
  UpdateGlobalPermissionsDto,
  UpdatePolicyPermissionsDto,
  UpdateRealmPermissionsDto,
} from './dtos.ts'
import { replaceGlobal, replaceOn } from './granting.ts'

const jane = { principalId: exampleIds.User, principalType: 'USER' }

/** Somebody may hold a grant on each of a million resources: a page is that of each list. */
const paging = { page: optionally(Count(0), 0), size: optionally(Count(1, 1000), 1000) }
const totalsHeader = 'Grant-Totals'
const answerHeaders = { [totalsHeader]: 'On how many resources of each scope there are grants: REALM=1, POLICY=2, …' }

interface Asked {
  readonly em: EntityManager
  readonly target: { readonly id: string }
  readonly query: { readonly page: number; readonly size: number }
  readonly headers: Record<string, string>
}

/** What a principal holds, a page of each list; the contract's names are those of the columns. */
const authorization = async ({ em, target: { id }, query, headers }: Asked, principalType: SecurityIdentityType) => {
  const { global } = await loadGrants(em, id)
  const totals = await countGrants(em, id)
  headers[totalsHeader] = Object.keys(scopes)
    .map(scope => `${scope}=${totals.get(scope) ?? 0}`)
    .join(', ')
  const on = (scope: Scope) => grantsOf(em, id, { scope, ...query })
  return {
    principalId: id,
    principalType,
    globalPermissions: [...global],
    realmPermissions: await on('REALM'),
    policyPermissions: await on('POLICY'),
    endEntityPermissions: await on('END_ENTITY'),
    certRequestPermissions: await on('CERT_REQUEST'),
    certificatePermissions: await on('CERTIFICATE'),
  } as z.output<typeof PrincipalAuthorizationDto>
}

/** Besides, only what the caller holds can be given (contract 7.3): that is asked when the grants are known. */
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
  query: paging,
  returns: [200, PrincipalAuthorizationDto],
  answerHeaders,
  handle: asked => authorization(asked, 'USER'),
})

export const getApiClientPermissions = operation('GET /permissions/api-clients/:id', {
  summary: 'Read what an API client may do',
  on: ApiClient,
  needs: 'READ_API_CLIENT',
  query: paging,
  returns: [200, PrincipalAuthorizationDto],
  answerHeaders,
  handle: asked => authorization(asked, 'API_CLIENT'),
})

const ofGrants = ['USER_NOT_FOUND', 'API_CLIENT_NOT_FOUND', 'ENTITY_ARCHIVED'] as const

export const updateGlobalPermissions = operation('PATCH /permissions/global', {
  summary: 'Replace the global permissions of a principal',
  needs: 'ADMIN',
  body: UpdateGlobalPermissionsDto,
  example: { body: { ...jane, permissions: ['REALMS_CREATE'] } },
  returns: [204, null],
  fails: [415],
  refuses: ['USER_NOT_FOUND', 'API_CLIENT_NOT_FOUND', 'LAST_ADMIN'],
  handle: ({ em, body }) => replaceGlobal(em, body, body.permissions),
})

export const updateRealmPermissions = operation('PATCH /permissions/realms', {
  summary: 'Replace the permissions of a principal on realms',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(Realm),
  body: UpdateRealmPermissionsDto,
  example: { body: { ...jane, realmPermissions: [{ id: exampleIds.Realm, permissions: ['FULL_READ', 'UPDATE'] }] } },
  returns: [204, null],
  fails: [415],
  refuses: [...ofGrants, 'REALM_NOT_FOUND'],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, { entity: Realm, scope: 'REALM', receiver: body, sets: body.realmPermissions }),
})

export const updatePolicyPermissions = operation('PATCH /permissions/policies', {
  summary: 'Replace the permissions of a principal on policies',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(Policy),
  body: UpdatePolicyPermissionsDto,
  example: {
    body: { ...jane, policyPermissions: [{ id: exampleIds.Policy, permissions: ['CERTS_CREATE', 'CERTREQS_READ'] }] },
  },
  returns: [204, null],
  fails: [415],
  refuses: [...ofGrants, 'POLICY_NOT_FOUND'],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, { entity: Policy, scope: 'POLICY', receiver: body, sets: body.policyPermissions }),
})

export const updateEndEntityPermissions = operation('PATCH /permissions/end-entities', {
  summary: 'Replace the permissions of a principal on end entities',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(EndEntity),
  body: UpdateEndEntityPermissionsDto,
  example: { body: { ...jane, endEntityPermissions: [{ id: exampleIds.EndEntity, permissions: ['UPDATE'] }] } },
  returns: [204, null],
  fails: [415],
  refuses: [...ofGrants, 'END_ENTITY_NOT_FOUND'],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, { entity: EndEntity, scope: 'END_ENTITY', receiver: body, sets: body.endEntityPermissions }),
})

export const updateCertRequestPermissions = operation('PATCH /permissions/cert-requests', {
  summary: 'Replace the permissions of a principal on certificate requests',
  needs: 'TOKEN',
  alsoNeeds: grantNeeds(CertRequest),
  body: UpdateCertRequestPermissionsDto,
  example: { body: { ...jane, certRequestPermissions: [{ id: exampleIds.CertRequest, permissions: ['APPROVE'] }] } },
  returns: [204, null],
  fails: [415],
  refuses: [...ofGrants, 'CERT_REQUEST_NOT_FOUND'],
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
  body: UpdateCertificatePermissionsDto,
  example: {
    body: { ...jane, certificatePermissions: [{ id: exampleIds.Certificate, permissions: ['DOWNLOAD_PRIVATE_KEY'] }] },
  },
  returns: [204, null],
  fails: [415],
  refuses: [...ofGrants, 'CERTIFICATE_NOT_FOUND'],
  handle: ({ em, caller, body }) =>
    replaceOn(em, caller, {
      entity: Certificate,
      scope: 'CERTIFICATE',
      receiver: body,
      sets: body.certificatePermissions,
    }),
})
