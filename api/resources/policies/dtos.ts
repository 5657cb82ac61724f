// The types of policies (contract 6.6).
import { z } from 'zod'
import {
  CmpSignatureAlgorithm,
  CryptoAlgorithm,
  ECNamedCurve,
  EdDSANamedCurve,
  EndEntityStrategy,
  KeyPairMode,
  rsaKeySizes,
  RuleRequirement,
  ValidFor,
} from '../../../domain/enums.ts'
import * as shape from '../../kernel/dto.ts'
import { CryptoRestrictionsDto, EndEntityPropertyValue, SubjectDataDto } from '../../kernel/shared-dtos.ts'

const Mode = shape.enumOf(KeyPairMode, 'KeyPairMode')
const Period = shape.enumOf(ValidFor, 'ValidFor')
const Strategy = shape.enumOf(EndEntityStrategy, 'EndEntityStrategy')
const Requirement = shape.enumOf(RuleRequirement, 'RuleRequirement')
const yes = shape.withDefault(z.boolean(), true)
const no = shape.withDefault(z.boolean(), false)
const flag = shape.change(z.boolean())
const WindowDays = shape.Int(0, 3650)

// The length of a pattern is a rule of its own (contract 5.1).
const Rule = shape.dto('EndEntityRuleDto', {
  property: EndEntityPropertyValue,
  requirement: Requirement,
  pattern: shape.nullable(z.string().max(10_000)),
  genericKey: shape.nullable(shape.Text()),
  maxCount: shape.nullable(shape.Int(0)),
})
const Rules = shape.listOf(Rule)

const Cmp = shape.dto('CmpPolicyConfigurationDto', {
  enabled: yes,
  signatureAlgorithm: shape.withDefault(
    shape.enumOf(CmpSignatureAlgorithm, 'CmpSignatureAlgorithm'),
    'SHA256_WITH_ECDSA',
  ),
  signerCertificateId: shape.nullable(shape.Uuid),
  macProtectionAllowed: yes,
  signatureProtectionAllowed: yes,
  certConfirmationRequired: yes,
})
const Scep = shape.dto('ScepPolicyConfigurationDto', {
  enabled: yes,
  signerMode: shape.withDefault(z.enum(['RA', 'CA']), 'RA'),
  signerCertificateId: shape.nullable(shape.Uuid),
})

/** Spaces and lines are part of a JSON document; blank counts as absent. */
const Document = z.string().max(100_000)

export const CreatePolicyRequestDto = shape.dto('CreatePolicyRequestDto', {
  realmId: shape.Uuid,
  name: shape.Text(),
  description: shape.MaybeText(1000),
  certificateProviderId: shape.Uuid,
  certificateProviderConfiguration: shape.withDefault(Document, '{}'),
  requiresManualApproval: no,
  dualControl: no,
  requesterMayApprove: yes,
  requiresEmailVerification: no,
  allowedKeyPairModes: shape.maybe(shape.setOf(Mode)),
  allowedValidForValues: shape.maybe(shape.setOf(Period)),
  cryptoRestrictions: shape.maybe(CryptoRestrictionsDto),
  endEntityStrategy: shape.withDefault(Strategy, 'COMMON_NAME'),
  endEntityRules: shape.withDefault(Rules, []),
  certificateImportAllowed: no,
  selfSignedAllowed: no,
  wildcardAllowed: no,
  enforceActiveCertUniqueness: no,
  renewalWindowDays: shape.maybe(WindowDays),
  cmpConfiguration: shape.maybe(Cmp),
  scepConfiguration: shape.maybe(Scep),
})

export const UpdatePolicyRequestDto = shape.dto('UpdatePolicyRequestDto', {
  name: shape.change(shape.Text()),
  description: shape.ClearableText(1000),
  certificateProviderId: shape.change(shape.Uuid),
  certificateProviderConfiguration: shape.change(Document),
  requiresManualApproval: flag,
  dualControl: flag,
  requesterMayApprove: flag,
  requiresEmailVerification: flag,
  allowedKeyPairModes: shape.change(shape.setOf(Mode)),
  allowedValidForValues: shape.change(shape.setOf(Period)),
  cryptoRestrictions: shape.change(CryptoRestrictionsDto),
  endEntityStrategy: shape.change(Strategy),
  endEntityRules: shape.change(Rules),
  certificateImportAllowed: flag,
  selfSignedAllowed: flag,
  wildcardAllowed: flag,
  enforceActiveCertUniqueness: flag,
  renewalWindowDays: shape.clearable(WindowDays),
  cmpConfiguration: shape.clearable(Cmp),
  scepConfiguration: shape.clearable(Scep),
  version: shape.Version,
})

export const GetPolicyResponseDto = shape.dto('GetPolicyResponseDto', {
  id: shape.Uuid,
  realmId: shape.Uuid,
  realmName: z.string(),
  name: z.string(),
  description: shape.nullable(z.string()),
  certificateProviderId: shape.Uuid,
  certificateProviderName: z.string(),
  certificateProviderConfiguration: z.string(),
  requiresManualApproval: z.boolean(),
  dualControl: z.boolean(),
  requesterMayApprove: z.boolean(),
  requiresEmailVerification: z.boolean(),
  allowedKeyPairModes: z.array(Mode),
  allowedValidForValues: z.array(Period),
  cryptoRestrictions: CryptoRestrictionsDto,
  endEntityStrategy: Strategy,
  endEntityRules: z.array(Rule),
  certificateImportAllowed: z.boolean(),
  selfSignedAllowed: z.boolean(),
  wildcardAllowed: z.boolean(),
  enforceActiveCertUniqueness: z.boolean(),
  renewalWindowDays: shape.nullable(z.int()),
  cmpConfiguration: shape.nullable(Cmp),
  scepConfiguration: shape.nullable(Scep),
  archiveInfo: shape.ArchiveInfo,
  metadata: shape.Metadata,
})
/** The members of a policy that no list can be sorted by. */
export const listsAndObjects: ReadonlySet<string> = new Set([
  'allowedKeyPairModes',
  'allowedValidForValues',
  'cryptoRestrictions',
  'endEntityRules',
  'cmpConfiguration',
  'scepConfiguration',
  'archiveInfo',
  'metadata',
])

export const GetPolicyResponseDtoPage = shape.pageDto('GetPolicyResponseDtoPage', GetPolicyResponseDto)

export const PolicySearchRequestDto = shape.dto('PolicySearchRequestDto', {
  simpleSearchTerm: shape.MaybeText(),
  realmId: shape.maybe(shape.Uuid),
  certificateProviderId: shape.maybe(shape.Uuid),
  policyIds: shape.maybe(shape.idsOf()),
  archived: no,
})
export const GetPoliciesInRealmsDto = shape.dto('GetPoliciesInRealmsDto', {
  realmIds: shape.idsOf(),
  simpleSearchTerm: shape.MaybeText(),
})

export const CheckEndEntityRequestDto = shape.dto('CheckEndEntityRequestDto', {
  endEntityId: shape.maybe(shape.Uuid),
  endEntity: shape.maybe(SubjectDataDto),
})
export const CheckEndEntityResponseDto = shape.dto('CheckEndEntityResponseDto', {
  result: z.boolean(),
  violations: z.array(z.object({ property: EndEntityPropertyValue, message: z.string() })),
})

export const GetAllowedCryptoParametersRequestDto = shape.dto('GetAllowedCryptoParametersRequestDto', {
  certificateProviderId: shape.Uuid,
  certificateProviderConfiguration: Document,
})
export const CryptoParametersDto = shape.dto('CryptoParametersDto', {
  cryptoAlgorithms: z.array(shape.enumOf(CryptoAlgorithm, 'CryptoAlgorithm')),
  rsaKeySizes: z.array(z.literal(rsaKeySizes)),
  ecNamedCurves: z.array(shape.enumOf(ECNamedCurve, 'ECNamedCurve')),
  edDSANamedCurves: z.array(shape.enumOf(EdDSANamedCurve, 'EdDSANamedCurve')),
  mlDsaParameterSets: z.array(z.string()),
  keyPairModes: z.array(Mode),
  validForValues: z.array(Period),
})
