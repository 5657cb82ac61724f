// Policies: the rules on how certificates are created (contract 5.1, 6.6).
import type { z } from 'zod'
import { endEntityFields, endEntityViolations } from '../../../domain/end-entity-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import { checkPolicy, defaultRenewalWindowDays, policyDefaults } from '../../../domain/policy-rules.ts'
import { termsOf } from '../../../authority/providers/kinds.ts'
import { record } from '../../../storage/audit.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { sameAs } from '../../kernel/dto.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import * as dtos from './dtos.ts'
import { listPolicies } from './list.ts'
import { mustBeSigners, signerNeeds } from './signers.ts'
import { parametersOf } from './abilities.ts'
import { change, create } from '../../kernel/writing.ts'

type Given = z.output<typeof dtos.CreatePolicyRequestDto>

/** The rows of a new policy: what was given, over the defaults that fit its provider. */
const complete = (given: Given, provider: CertificateProvider) => {
  const able = termsOf(provider, given.certificateProviderConfiguration).capabilities
  const defaults = policyDefaults(able)
  const policy = {
    ...given,
    allowedKeyPairModes: given.allowedKeyPairModes ?? defaults.allowedKeyPairModes,
    allowedValidForValues: given.allowedValidForValues ?? defaults.allowedValidForValues,
    cryptoRestrictions: given.cryptoRestrictions ?? defaults.cryptoRestrictions,
    renewalWindowDays: given.renewalWindowDays ?? (given.enforceActiveCertUniqueness ? defaultRenewalWindowDays : null),
  }
  checkPolicy(policy, able)
  return policy
}

export const createNewPolicy = operation('POST /policies', {
  summary: 'Create a policy',
  on: { realm: from.body(Realm, 'realmId'), provider: from.body(CertificateProvider, 'certificateProviderId') },
  needs: { realm: 'CREATE_POLICY' },
  alsoNeeds: signerNeeds,
  living: true,
  body: dtos.CreatePolicyRequestDto,
  example: {
    body: {
      realmId: exampleIds.Realm,
      name: 'Mail servers',
      certificateProviderId: exampleIds.CertificateProvider,
      certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
    },
  },
  returns: [201, sameAs('CreatePolicyResponseDto', dtos.GetPolicyResponseDto)],
  fails: [415, 422],
  handle: async ({ em, caller, realm, provider, body }) => {
    await mustBeSigners(em, caller, { given: body })
    return create(em, caller, {
      entity: Policy,
      data: complete(body, provider),
      what: `Policy ${body.name}`,
      realmId: realm.id,
      scope: 'POLICY',
    })
  },
})

export const getPolicy = operation('GET /policies/:id', {
  summary: 'Read a policy',
  on: Policy,
  needs: 'READ_POLICY',
  returns: [200, dtos.GetPolicyResponseDto],
  handle: ({ target }) => target,
})

export const searchPolicies = operation('POST /policies/search', {
  summary: 'Search policies',
  on: {
    realm: from.optional(from.body(Realm, 'realmId')),
    provider: from.optional(from.body(CertificateProvider, 'certificateProviderId')),
  },
  needs: { realm: 'ENTER_REALM' },
  shows: 'READ_POLICY',
  body: dtos.PolicySearchRequestDto,
  example: { body: { realmId: exampleIds.Realm, simpleSearchTerm: 'web' } },
  paging: true,
  returns: [200, dtos.GetPolicyResponseDtoPage],
  fails: [415],
  handle: ({ em, caller, realm, provider, page, body: { simpleSearchTerm: text, policyIds, archived } }) => {
    const where = {
      archived,
      ...(realm && { realmId: realm.id }),
      ...(provider && { certificateProviderId: provider.id }),
      ...(policyIds && { id: { $in: policyIds } }),
    }
    return listPolicies(em, caller, { where, page, text })
  },
})

export const getPolicyByRealmId = operation('GET /policies/realms/:id', {
  summary: 'List the policies of a realm',
  on: Realm,
  needs: 'ENTER_REALM',
  shows: 'READ_POLICY',
  paging: true,
  returns: [200, dtos.GetPolicyResponseDtoPage],
  handle: ({ em, caller, target, page }) =>
    listPolicies(em, caller, { where: { realmId: target.id, archived: false }, page }),
})

export const getPoliciesInRealms = operation('POST /policies/realms', {
  summary: 'List the policies of several realms',
  needs: 'TOKEN',
  shows: 'READ_POLICY',
  body: dtos.GetPoliciesInRealmsDto,
  example: { body: { realmIds: [exampleIds.Realm] } },
  paging: true,
  returns: [200, dtos.GetPolicyResponseDtoPage],
  fails: [415],
  handle: ({ em, caller, page, body: { realmIds, simpleSearchTerm: text } }) =>
    listPolicies(em, caller, { where: { realmId: { $in: realmIds }, archived: false }, page, text }),
})

export const getPoliciesByCertificateProviderId = operation('GET /policies/certificate-providers/:id', {
  summary: 'List the policies of a certificate provider',
  on: CertificateProvider,
  needs: 'TOKEN',
  shows: 'READ_POLICY',
  paging: true,
  returns: [200, dtos.GetPolicyResponseDtoPage],
  fails: [415],
  handle: ({ em, caller, target, page }) =>
    listPolicies(em, caller, { where: { certificateProviderId: target.id, archived: false }, page }),
})

/** The window of a changed policy: its default comes and goes with uniqueness unless it was stated. */
const windowOf = (target: Policy, given: z.output<typeof dtos.UpdatePolicyRequestDto>): number | null => {
  if (given.renewalWindowDays != null) return given.renewalWindowDays
  const unique = given.enforceActiveCertUniqueness ?? target.enforceActiveCertUniqueness
  if (!unique) return null
  const former = given.renewalWindowDays === null ? null : target.renewalWindowDays
  return former ?? defaultRenewalWindowDays
}

export const updatePolicy = operation('PATCH /policies/:id', {
  summary: 'Change a policy',
  on: {
    target: from.path(Policy),
    provider: from.optional(from.body(CertificateProvider, 'certificateProviderId')),
  },
  needs: { target: 'UPDATE_POLICY' },
  alsoNeeds: signerNeeds,
  living: true,
  body: dtos.UpdatePolicyRequestDto,
  example: { body: { requiresManualApproval: true, version: 1 } },
  returns: [200, sameAs('UpdatePolicyResponseDto', dtos.GetPolicyResponseDto)],
  fails: [409, 415, 422],
  handle: async ({ em, caller, target, provider, body }) => {
    await mustBeSigners(em, caller, { given: body, before: target })
    const own = provider ?? (await em.findOneOrFail(CertificateProvider, { id: target.certificateProviderId }))
    change(target, { ...body, renewalWindowDays: windowOf(target, body) })
    checkPolicy(target, termsOf(own, target.certificateProviderConfiguration).capabilities)
    const { id, realmId, name } = target
    record(em, { type: 'ENTITY_UPDATED', objectId: id, realmId, what: `Policy ${name} updated` })
    await em.flush()
    return em.refreshOrFail(target)
  },
})

const mustBeOne = ({ endEntityId, endEntity }: z.output<typeof dtos.CheckEndEntityRequestDto>): void => {
  if ((endEntityId === null) === (endEntity === null))
    throw new Failure('INVALID_REQUEST', 'Exactly one of endEntityId and endEntity is needed.')
}

export const checkEndEntityWithRules = operation('POST /policies/:id/rules', {
  summary: 'Check an end entity with the rules of a policy',
  on: { policy: from.path(Policy), stored: from.optional(from.body(EndEntity, 'endEntityId')) },
  needs: { policy: 'READ_POLICY', stored: 'READ_END_ENTITY' },
  body: dtos.CheckEndEntityRequestDto,
  example: { body: { endEntity: { commonName: 'web-03', domains: ['web-03.example.org'] } } },
  returns: [200, dtos.CheckEndEntityResponseDto],
  fails: [415, 422],
  handle: ({ policy, stored, body }) => {
    mustBeOne(body)
    if (stored && stored.realmId !== policy.realmId) throw new Failure('REALM_MISMATCH')
    const violations = endEntityViolations(policy, stored ?? endEntityFields(body.endEntity ?? {}))
    return { result: violations.length === 0, violations }
  },
})

export const getAllowedCryptoParameters = operation('PUT /policies/allowed-crypto-params', {
  summary: 'Tell what a provider can do for a policy',
  on: { provider: from.body(CertificateProvider, 'certificateProviderId') },
  needs: { provider: 'SHAPE_POLICIES' },
  body: dtos.GetAllowedCryptoParametersRequestDto,
  example: {
    body: {
      certificateProviderId: exampleIds.CertificateProvider,
      certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
    },
  },
  returns: [200, dtos.CryptoParametersDto],
  fails: [415, 422],
  handle: ({ provider, body }) => parametersOf(termsOf(provider, body.certificateProviderConfiguration).capabilities),
})
