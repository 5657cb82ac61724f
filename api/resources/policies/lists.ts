// Lists of policies: only what the caller may read is in them (contract 1.3, 6.6, 7.1, 12).
import { findPolicies } from '../../../storage/lists/policies.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { GetPoliciesInRealmsDto, GetPolicyResponseDtoPage, PolicySearchRequestDto } from './dtos.ts'

export const searchPolicies = operation('POST /policies/search', {
  summary: 'Search policies',
  on: {
    realm: from.optional(from.body(Realm, 'realmId')),
    provider: from.optional(from.body(CertificateProvider, 'certificateProviderId')),
  },
  needs: { realm: 'ENTER_REALM' },
  shows: 'READ_POLICY',
  body: PolicySearchRequestDto,
  example: { body: { realmId: exampleIds.Realm, simpleSearchTerm: 'web' } },
  paging: true,
  returns: [200, GetPolicyResponseDtoPage],
  fails: [415],
  handle: ({ em, caller, realm, provider, page, body }) =>
    findPolicies(em, caller, {
      ...body,
      realmIds: realm && [realm.id],
      certificateProviderId: provider?.id,
      page,
    }),
})

export const getPolicyByRealmId = operation('GET /policies/realms/:id', {
  summary: 'List the policies of a realm',
  on: Realm,
  needs: 'ENTER_REALM',
  shows: 'READ_POLICY',
  paging: true,
  returns: [200, GetPolicyResponseDtoPage],
  handle: ({ em, caller, target, page }) => findPolicies(em, caller, { realmIds: [target.id], page }),
})

export const getPoliciesInRealms = operation('POST /policies/realms', {
  summary: 'List the policies of several realms',
  needs: 'TOKEN',
  shows: 'READ_POLICY',
  body: GetPoliciesInRealmsDto,
  example: { body: { realmIds: [exampleIds.Realm] } },
  paging: true,
  returns: [200, GetPolicyResponseDtoPage],
  fails: [415],
  handle: ({ em, caller, page, body }) => findPolicies(em, caller, { ...body, page }),
})

export const getPoliciesByCertificateProviderId = operation('GET /policies/certificate-providers/:id', {
  summary: 'List the policies of a certificate provider',
  on: CertificateProvider,
  needs: 'TOKEN',
  shows: 'READ_POLICY',
  paging: true,
  returns: [200, GetPolicyResponseDtoPage],
  fails: [415],
  handle: ({ em, caller, target, page }) => findPolicies(em, caller, { certificateProviderId: target.id, page }),
})

export const availablePoliciesWithoutPasswordByEndEntityId = operation('GET /policies/end-entities/:id/no-password', {
  summary: 'List the policies for which an end entity has no password yet',
  on: EndEntity,
  needs: 'READ_END_ENTITY',
  shows: 'READ_POLICY',
  living: true,
  paging: true,
  returns: [200, GetPolicyResponseDtoPage],
  fails: [409, 422],
  handle: ({ target, em, caller, page }) =>
    findPolicies(em, caller, { realmIds: [target.realmId], withoutPasswordOf: target.id, page }),
})
