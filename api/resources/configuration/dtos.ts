// The types of the configuration (contract 6.2).
import { z } from 'zod'
import {
  dto,
  filterOf,
  listOf,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  Text,
  UntrimmedText,
  Version,
} from '../../kernel/dto.ts'

/** How the text of a setting is read (contract 9.1). */
const types = ['UUID', 'INTEGER', 'BOOLEAN', 'STRING', 'SECRET', 'INTEGER_LIST'] as const

/** Far more than a setting takes: how long its value may be is a rule of `domain` (contract 9.1: 422, not 400). */
const someText = 50_000

/** A setting; the value of a secret is never there. */
export const GetConfigurationResponseDto = dto('GetConfigurationResponseDto', {
  settingsKey: z.string(),
  value: nullable(z.string()),
  valueSet: z.boolean(),
  secret: z.boolean(),
  type: z.enum(types),
  defaultValue: nullable(z.string()),
  description: nullable(z.string()),
  metadata: Metadata,
})

/** A page of settings. */
export const GetConfigurationResponseDtoPage = pageDto('GetConfigurationResponseDtoPage', GetConfigurationResponseDto)

/** A setting to be stored that is not. */
export const CreateConfigurationRequestDto = dto('CreateConfigurationRequestDto', {
  settingsKey: Text(),
  value: UntrimmedText(someText),
  description: MaybeText(1000),
})

/** The setting that was stored. */
export const CreateConfigurationResponseDto = sameAs('CreateConfigurationResponseDto', GetConfigurationResponseDto)

/** The new value of a setting. */
export const UpdateConfigurationRequestDto = dto('UpdateConfigurationRequestDto', {
  settingsKey: Text(),
  value: UntrimmedText(someText).nullable().optional(),
  version: Version,
})

/** The setting after its change. */
export const UpdateConfigurationResponseDto = sameAs('UpdateConfigurationResponseDto', GetConfigurationResponseDto)

/** New values of settings, of which all are stored or none. */
export const UpdateConfigurationBatchRequestDto = dto('UpdateConfigurationBatchRequestDto', {
  configurations: listOf(UpdateConfigurationRequestDto, { min: 1, max: 1000 }),
})

/** The settings after their change, in the order of the request. */
export const UpdateConfigurationBatchResponseDto = dto('UpdateConfigurationBatchResponseDto', {
  configurations: z.array(GetConfigurationResponseDto),
})

/** Which settings are looked for. */
export const SearchConfigurationRequestDto = dto('SearchConfigurationRequestDto', {
  simpleSearchTerm: MaybeText(),
  settingsKeys: filterOf(Text()),
  prefix: MaybeText(),
})
