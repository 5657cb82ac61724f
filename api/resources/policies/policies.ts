// Policies: the rules on how certificates are created (contract 5.1, 6.6).
import type { z } from 'zod'
import {
  checkPolicy,
  defaultRenewalWindowDays,
  maxRules,
  policyDefaults,
  type EndEntityRule,
} from '../../../domain/policy-rules.ts'
import { isPattern } from '../../../domain/pattern.ts'
import { termsIn } from '../../../authority/providers/kinds.ts'
import { record } from '../../../storage/audit.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import {
  CreatePolicyRequestDto,
  CreatePolicyResponseDto,
  GetPolicyResponseDto,
  UpdatePolicyRequestDto,
  UpdatePolicyResponseDto,
} from './dtos.ts'
import { mustBeSigners, signerNeeds } from './signers.ts'
import { change, create } from '../../kernel/writing.ts'
import { mapYielding } from '../../kernel/yielding.ts'

/** Compiles the patterns of rules once and for all, which takes a millisecond or two each, while others are served. */
const compilePatterns = (rules: readonly EndEntityRule[] = []): Promise<boolean[]> =>
  mapYielding(rules.slice(0, maxRules), ({ pattern }) => isPattern(pattern ?? ''))

type Given = z.output<typeof CreatePolicyRequestDto>

/** The rows of a new policy: what was given, over the defaults that fit its provider. */
const complete = (given: Given, realm: Realm, provider: CertificateProvider) => {
  const able = termsIn(realm, provider, given.certificateProviderConfiguration).capabilities
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

/** What both creation and change of a policy may end with. */
const refuses = [
  'ALREADY_EXISTS',
  'INVALID_POLICY_CONFIGURATION',
  'TEMPLATE_NOT_FOUND',
  'CERTIFICATE_NOT_FOUND',
  'REALM_MISMATCH',
] as const

export const createNewPolicy = operation('POST /policies', {
  summary: 'Create a policy',
  on: { realm: from.body(Realm, 'realmId'), provider: from.body(CertificateProvider, 'certificateProviderId') },
  needs: { realm: 'CREATE_POLICY' },
  alsoNeeds: signerNeeds,
  living: true,
  body: CreatePolicyRequestDto,
  example: {
    body: {
      realmId: exampleIds.Realm,
      name: 'Mail servers',
      certificateProviderId: exampleIds.CertificateProvider,
      certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
    },
  },
  returns: [201, CreatePolicyResponseDto],
  fails: [415, 422],
  refuses,
  handle: async ({ em, caller, clock, realm, provider, body }) => {
    await mustBeSigners(em, caller, { given: body })
    await compilePatterns(body.endEntityRules)
    return create(
      { em, clock },
      {
        entity: Policy,
        data: complete(body, realm, provider),
        what: `Policy ${body.name}`,
        realmId: realm.id,
        scope: 'POLICY',
      },
    )
  },
})

export const getPolicy = operation('GET /policies/:id', {
  summary: 'Read a policy',
  on: Policy,
  needs: 'READ_POLICY',
  returns: [200, GetPolicyResponseDto],
  handle: ({ target }) => target,
})

/** The window of a changed policy: its default comes and goes with uniqueness unless it was stated. */
const windowOf = (target: Policy, given: z.output<typeof UpdatePolicyRequestDto>): number | null => {
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
  body: UpdatePolicyRequestDto,
  example: { body: { requiresManualApproval: true, version: 1 } },
  returns: [200, UpdatePolicyResponseDto],
  fails: [409, 415, 422],
  refuses,
  handle: async ({ em, caller, target, provider, body }) => {
    await mustBeSigners(em, caller, { given: body, before: target })
    await compilePatterns(body.endEntityRules)
    const own = provider ?? (await em.findOneOrFail(CertificateProvider, { id: target.certificateProviderId }))
    const isChanged = change(target, { ...body, renewalWindowDays: windowOf(target, body) })
    const realm = await em.findOneOrFail(Realm, { id: target.realmId })
    checkPolicy(target, termsIn(realm, own, target.certificateProviderConfiguration).capabilities)
    if (!isChanged) return target
    const { id, realmId, name } = target
    record(em, { type: 'ENTITY_UPDATED', objectId: id, realmId, what: `Policy ${name} updated` })
    await em.flush()
    return em.refreshOrFail(target)
  },
})
