// The configuration: settings that are changed while the service runs (contract 6.2, 9.1).
import type { z } from 'zod'
import { definitionOf, isKnownSetting, settings as table } from '../../../domain/settings.ts'
import { findSettings } from '../../../storage/lists/settings.ts'
import type { Setting } from '../../../storage/rows/setting.ts'
import type { Settings } from '../../../storage/settings.ts'
import { Text } from '../../kernel/dto.ts'
import { operation } from '../../kernel/operation.ts'
import { Count } from '../../kernel/query.ts'
import { changeSettings, createSetting, removeSetting } from './changes.ts'
import {
  CreateConfigurationRequestDto,
  CreateConfigurationResponseDto,
  GetConfigurationResponseDto,
  GetConfigurationResponseDtoPage,
  SearchConfigurationRequestDto,
  UpdateConfigurationBatchRequestDto,
  UpdateConfigurationBatchResponseDto,
  UpdateConfigurationRequestDto,
  UpdateConfigurationResponseDto,
} from './dtos.ts'
import { settingUnder } from './judgement.ts'

/** The metadata of a setting of which only the default applies. */
const unstored = {
  createdBy: null,
  createdByType: 'SYSTEM',
  createdDate: null,
  lastModifiedBy: null,
  lastModifiedByType: 'SYSTEM',
  lastModifiedDate: null,
  version: 0,
} as const

const defaultIn = (settings: Settings, key: string): string | null =>
  isKnownSetting(key) ? settings.defaultOf(key) : null

const shownBy =
  (settings: Settings) =>
  (settingsKey: string, row: Setting | undefined): z.output<typeof GetConfigurationResponseDto> => {
    const { type = 'STRING', meaning } = definitionOf(settingsKey) ?? {}
    const secret = type === 'SECRET'
    const defaultValue = defaultIn(settings, settingsKey)
    return {
      settingsKey,
      value: secret ? null : (row?.value ?? defaultValue),
      valueSet: (secret ? row?.sealed : row?.value) != null,
      secret,
      type,
      defaultValue,
      description: row?.description ?? (meaning || null),
      metadata: row?.metadata ?? unstored,
    }
  }

const params = { settingsKey: Text() }
const knownIn = (settings: Settings) =>
  Object.entries(table).map(([key, { type, meaning }]) => ({ key, type, meaning, default: defaultIn(settings, key) }))

export const createConfiguration = operation('POST /configuration', {
  summary: 'Store a setting that is not stored yet',
  needs: 'ADMIN',
  body: CreateConfigurationRequestDto,
  example: { body: { settingsKey: 'issue.wait-seconds', value: '60', description: 'Our CA is slow' } },
  returns: [201, CreateConfigurationResponseDto],
  fails: [409, 415, 422],
  refuses: ['ALREADY_EXISTS', 'UNKNOWN_SETTINGS_KEY', 'INVALID_SETTING'],
  handle: async ({ em, settings, seal, body }) => {
    const made = await createSetting(em, seal, body)
    settings.forget()
    return shownBy(settings)(body.settingsKey, made)
  },
})

export const getConfiguration = operation('GET /configuration/:settingsKey', {
  summary: 'Read a setting; secrets are never shown',
  needs: 'ADMIN',
  params,
  example: { params: { settingsKey: 'order.max-wait-days' } },
  returns: [200, GetConfigurationResponseDto],
  refuses: ['CONFIGURATION_NOT_FOUND'],
  handle: async ({ em, settings, params: { settingsKey } }) =>
    shownBy(settings)(settingsKey, (await settingUnder(em, settingsKey)).row),
})

export const searchConfiguration = operation('POST /configuration/search', {
  summary: 'Search settings, stored or not',
  needs: 'ADMIN',
  body: SearchConfigurationRequestDto,
  example: { body: { prefix: 'issue.' } },
  paging: true,
  returns: [200, GetConfigurationResponseDtoPage],
  fails: [415],
  handle: async ({ em, settings, page, body }) => {
    const found = await findSettings(em, { ...body, known: knownIn(settings), page })
    return { ...found, content: found.content.map(({ settingsKey, row }) => shownBy(settings)(settingsKey, row)) }
  },
})

export const updateConfiguration = operation('PATCH /configuration', {
  summary: 'Change a setting',
  description: 'null brings the default back; an empty text keeps a secret and null removes it.',
  needs: 'ADMIN',
  body: UpdateConfigurationRequestDto,
  example: { body: { settingsKey: 'order.max-wait-days', value: '30' } },
  returns: [200, UpdateConfigurationResponseDto],
  fails: [409, 415, 422],
  refuses: ['CONFIGURATION_NOT_FOUND', 'SYSTEM_ENTITY_PROTECTED', 'INVALID_SETTING'],
  handle: async ({ em, settings, seal, body }) => {
    const [row] = await changeSettings(em, seal, [body])
    settings.forget()
    return shownBy(settings)(body.settingsKey, row)
  },
})

export const updateConfigurationBatch = operation('PATCH /configuration/batch', {
  summary: 'Change several settings, all or none',
  needs: 'ADMIN',
  body: UpdateConfigurationBatchRequestDto,
  example: {
    body: {
      configurations: [
        { settingsKey: 'mail.host', value: 'mail.example.org' },
        { settingsKey: 'mail.port', value: '587' },
        { settingsKey: 'mail.starttls', value: 'true' },
      ],
    },
  },
  returns: [200, UpdateConfigurationBatchResponseDto],
  fails: [409, 415, 422],
  refuses: ['CONFIGURATION_NOT_FOUND', 'SYSTEM_ENTITY_PROTECTED', 'INVALID_SETTING'],
  handle: async ({ em, settings, seal, body: { configurations } }) => {
    const wanted = configurations.map((one, index) => ({ ...one, place: `configurations.${index}.` }))
    const rows = await changeSettings(em, seal, wanted)
    settings.forget()
    return { configurations: wanted.map(({ settingsKey }, index) => shownBy(settings)(settingsKey, rows[index])) }
  },
})

export const deleteConfiguration = operation('DELETE /configuration/:settingsKey', {
  summary: 'Remove what is stored under a key; the default applies again',
  needs: 'ADMIN',
  params,
  query: { version: Count(0) },
  example: { params: { settingsKey: 'purge.wait-seconds' }, query: { version: '1' } },
  returns: [204, null],
  fails: [409],
  refuses: ['CONFIGURATION_NOT_FOUND', 'SYSTEM_ENTITY_PROTECTED', 'VERSION_CONFLICT'],
  handle: async ({ em, settings, params: { settingsKey }, query: { version } }) => {
    await removeSetting(em, settingsKey, version)
    settings.forget()
  },
})
