// The types of policies (contract 6.6).
import { z } from 'zod'
import {
  CmpSignatureAlgorithm,
  CryptoAlgorithm,
  ECNamedCurve,
  EdDSANamedCurve,
  EndEntityStrategy,
  KeyPairMode,
  MlDsaParameterSet,
  rsaKeySizes,
  RuleRequirement,
  ValidFor,
} from '../../../domain/enums.ts'
import {
  ArchiveInfo,
  change,
  clearable,
  ClearableText,
  Document,
  dto,
  enumOf,
  exactlyOne,
  idsOf,
  Int,
  listOf,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  setOf,
  Text,
  Uuid,
  Version,
  withDefault,
} from '../../kernel/dto.ts'
import { CryptoRestrictionsDto, EndEntityPropertyValue, SubjectDataDto } from '../../kernel/shared-dtos.ts'

const keyPairMode = enumOf(KeyPairMode, 'KeyPairMode')
const validFor = enumOf(ValidFor, 'ValidFor')
const strategy = enumOf(EndEntityStrategy, 'EndEntityStrategy')
const requirement = enumOf(RuleRequirement, 'RuleRequirement')
const yes = withDefault(z.boolean(), true)
const no = withDefault(z.boolean(), false)
const flag = change(z.boolean())
const WindowDays = Int(0, 3650)

// The length of a pattern is a rule of its own (contract 5.1).
const rule = dto('EndEntityRuleDto', {
  property: EndEntityPropertyValue,
  requirement,
  pattern: nullable(z.string().max(10_000)),
  genericKey: nullable(Text()),
  maxCount: nullable(Int(0)),
})
const rules = listOf(rule)

/** How a policy takes part in CMP. */
export const CmpPolicyConfigurationDto = dto('CmpPolicyConfigurationDto', {
  enabled: yes,
  signatureAlgorithm: withDefault(enumOf(CmpSignatureAlgorithm, 'CmpSignatureAlgorithm'), 'SHA256_WITH_ECDSA'),
  signerCertificateId: nullable(Uuid),
  macProtectionAllowed: yes,
  signatureProtectionAllowed: yes,
  certConfirmationRequired: yes,
})
const scep = dto('ScepPolicyConfigurationDto', {
  enabled: yes,
  signerMode: withDefault(z.enum(['RA', 'CA']), 'RA'),
  signerCertificateId: nullable(Uuid),
})

const document = Document(100_000)

/** A policy to be made. */
export const CreatePolicyRequestDto = dto('CreatePolicyRequestDto', {
  realmId: Uuid,
  name: Text(),
  description: MaybeText(1000),
  certificateProviderId: Uuid,
  certificateProviderConfiguration: withDefault(document, '{}'),
  requiresManualApproval: no,
  dualControl: no,
  requesterMayApprove: yes,
  requiresEmailVerification: no,
  allowedKeyPairModes: maybe(setOf(keyPairMode)),
  allowedValidForValues: maybe(setOf(validFor)),
  cryptoRestrictions: maybe(CryptoRestrictionsDto),
  endEntityStrategy: withDefault(strategy, 'COMMON_NAME'),
  endEntityRules: withDefault(rules, []),
  certificateImportAllowed: no,
  selfSignedAllowed: no,
  wildcardAllowed: no,
  enforceActiveCertUniqueness: no,
  renewalWindowDays: maybe(WindowDays),
  cmpConfiguration: maybe(CmpPolicyConfigurationDto),
  scepConfiguration: maybe(scep),
})

/** What is to change in a policy. */
export const UpdatePolicyRequestDto = dto('UpdatePolicyRequestDto', {
  name: change(Text()),
  description: ClearableText(1000),
  certificateProviderId: change(Uuid),
  certificateProviderConfiguration: change(document),
  requiresManualApproval: flag,
  dualControl: flag,
  requesterMayApprove: flag,
  requiresEmailVerification: flag,
  allowedKeyPairModes: change(setOf(keyPairMode)),
  allowedValidForValues: change(setOf(validFor)),
  cryptoRestrictions: change(CryptoRestrictionsDto),
  endEntityStrategy: change(strategy),
  endEntityRules: change(rules),
  certificateImportAllowed: flag,
  selfSignedAllowed: flag,
  wildcardAllowed: flag,
  enforceActiveCertUniqueness: flag,
  renewalWindowDays: clearable(WindowDays),
  cmpConfiguration: clearable(CmpPolicyConfigurationDto),
  scepConfiguration: clearable(scep),
  version: Version,
})

/** A policy. */
export const GetPolicyResponseDto = dto('GetPolicyResponseDto', {
  id: Uuid,
  realmId: Uuid,
  realmName: z.string(),
  name: z.string(),
  description: nullable(z.string()),
  certificateProviderId: Uuid,
  certificateProviderName: z.string(),
  certificateProviderConfiguration: z.string(),
  requiresManualApproval: z.boolean(),
  dualControl: z.boolean(),
  requesterMayApprove: z.boolean(),
  requiresEmailVerification: z.boolean(),
  allowedKeyPairModes: z.array(keyPairMode),
  allowedValidForValues: z.array(validFor),
  cryptoRestrictions: CryptoRestrictionsDto,
  endEntityStrategy: strategy,
  endEntityRules: z.array(rule),
  certificateImportAllowed: z.boolean(),
  selfSignedAllowed: z.boolean(),
  wildcardAllowed: z.boolean(),
  enforceActiveCertUniqueness: z.boolean(),
  renewalWindowDays: nullable(z.int()),
  cmpConfiguration: nullable(CmpPolicyConfigurationDto),
  scepConfiguration: nullable(scep),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})

/** A page of policies. */
export const GetPolicyResponseDtoPage = pageDto('GetPolicyResponseDtoPage', GetPolicyResponseDto)

/** The policy that was made. */
export const CreatePolicyResponseDto = sameAs('CreatePolicyResponseDto', GetPolicyResponseDto)

/** The policy after its change. */
export const UpdatePolicyResponseDto = sameAs('UpdatePolicyResponseDto', GetPolicyResponseDto)

/** Which policies are looked for. */
export const PolicySearchRequestDto = dto('PolicySearchRequestDto', {
  simpleSearchTerm: MaybeText(),
  realmId: maybe(Uuid),
  certificateProviderId: maybe(Uuid),
  policyIds: maybe(idsOf()),
  archived: no,
})

/** The realms whose policies are looked for. */
export const GetPoliciesInRealmsDto = dto('GetPoliciesInRealmsDto', {
  realmIds: idsOf(),
  simpleSearchTerm: MaybeText(),
})

/** The end entity to be checked, stored or given. */
export const CheckEndEntityRequestDto = exactlyOne('CheckEndEntityRequestDto', ['endEntityId', 'endEntity'], {
  endEntityId: maybe(Uuid),
  endEntity: maybe(SubjectDataDto),
})

/** Whether an end entity satisfies the rules of a policy, and which it violates. */
export const CheckEndEntityResponseDto = dto('CheckEndEntityResponseDto', {
  result: z.boolean(),
  violations: z.array(z.object({ property: EndEntityPropertyValue, message: z.string() })),
})

/** The provider and its configuration in a policy. */
export const GetAllowedCryptoParametersRequestDto = dto('GetAllowedCryptoParametersRequestDto', {
  certificateProviderId: Uuid,
  certificateProviderConfiguration: document,
})

/** The keys and validities that a provider can issue for. */
export const CryptoParametersDto = dto('CryptoParametersDto', {
  cryptoAlgorithms: z.array(enumOf(CryptoAlgorithm, 'CryptoAlgorithm')),
  rsaKeySizes: z.array(z.literal(rsaKeySizes)),
  ecNamedCurves: z.array(enumOf(ECNamedCurve, 'ECNamedCurve')),
  edDSANamedCurves: z.array(enumOf(EdDSANamedCurve, 'EdDSANamedCurve')),
  mlDsaParameterSets: z.array(enumOf(MlDsaParameterSet, 'MlDsaParameterSet')),
  keyPairModes: z.array(keyPairMode),
  validForValues: z.array(validFor),
})
