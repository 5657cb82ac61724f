// Certificate providers: the backends that issue certificates (contract 6.3, 10).
import { z } from 'zod'
import type { EntityManager } from '@mikro-orm/postgresql'
import { CertificateProviderType, ConnectionStatus } from '../../../domain/enums.ts'
import type { PageRequest, Sort } from '../../../domain/search.ts'
import { record } from '../../../storage/audit.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { alias, searchPage } from '../../../storage/lists/search.ts'
import { checkProviderRun, prepareProviderRun } from '../../../workflows/starts.ts'
import * as shape from '../../kernel/dto.ts'
import { operation } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'
import { changedSettings, newSettings, shownConfiguration } from '../../../authority/providers/configuration.ts'
import { change, create } from '../../kernel/writing.ts'

const Type = shape.enumOf(CertificateProviderType, 'CertificateProviderType')
/** Spaces and lines are part of a JSON document. */
const Configuration = z.string().max(1_000_000)

const GetCertificateProviderResponseDto = shape.dto('GetCertificateProviderResponseDto', {
  id: shape.Uuid,
  name: z.string(),
  certificateProviderType: Type,
  configuration: z.string(),
  connectionStatus: shape.enumOf(ConnectionStatus),
  lastCheckedDate: shape.nullable(shape.Timestamp),
  archiveInfo: shape.ArchiveInfo,
  metadata: shape.Metadata,
})
const GetCertificateProviderMinimalResponseDto = shape.dto('GetCertificateProviderMinimalResponseDto', {
  id: shape.Uuid,
  name: z.string(),
  certificateProviderType: Type,
})
const CreateCertificateProviderRequestDto = shape.dto('CreateCertificateProviderRequestDto', {
  name: shape.Text(),
  certificateProviderType: Type,
  configuration: Configuration,
})
const UpdateCertificateProviderRequestDto = shape.dto('UpdateCertificateProviderRequestDto', {
  name: shape.change(shape.Text()),
  configuration: shape.change(Configuration),
  version: shape.Version,
})
const CertificateProviderSearchRequestDto = shape.dto('CertificateProviderSearchRequestDto', {
  simpleSearchTerm: shape.MaybeText(),
  certificateProviderTypes: shape.maybe(shape.setOf(Type)),
  archived: shape.withDefault(z.boolean(), false),
})
const CheckCertificateProviderConnectionDto = shape.dto('CheckCertificateProviderConnectionDto', {
  result: z.boolean(),
  errorMessage: shape.nullable(z.string()),
  durationMs: shape.Long,
})

/** The seconds that making the keys of a provider may keep its creator waiting. */
const preparationSeconds = 30

/** The seconds that a connection check may take (contract 10.1), and a little for the way. */
const checkSeconds = 11

const shown = (provider: CertificateProvider): z.output<typeof GetCertificateProviderResponseDto> => ({
  id: provider.id,
  name: provider.name,
  certificateProviderType: provider.certificateProviderType,
  configuration: shownConfiguration(provider),
  connectionStatus: provider.connectionStatus,
  lastCheckedDate: provider.lastCheckedDate ?? null,
  archiveInfo: provider.archiveInfo,
  metadata: provider.metadata,
})

export const createCertificateProvider = operation('POST /certificate-providers', {
  summary: 'Create a certificate provider; the keys of a LOCAL one are made',
  needs: 'ADMIN',
  body: CreateCertificateProviderRequestDto,
  example: { body: { name: 'House CA', certificateProviderType: 'LOCAL', configuration: '{"keyAlgorithm":"EC"}' } },
  returns: [201, shape.sameAs('CreateCertificateProviderResponseDto', GetCertificateProviderResponseDto)],
  fails: [415, 422],
  never: [404],
  handle: async ({ em, caller, temporal, body: { name, certificateProviderType, configuration } }) => {
    const settings = newSettings(certificateProviderType, name, configuration)
    const data = { name, certificateProviderType, settings }
    const made = await create(em, caller, { entity: CertificateProvider, data, what: `Certificate provider ${name}` })
    await temporal.run(prepareProviderRun(made.id), preparationSeconds)
    return shown(await em.refreshOrFail(made))
  },
})

export const getCertificateProvider = operation('GET /certificate-providers/:id', {
  summary: 'Read a certificate provider; secrets are never shown',
  on: CertificateProvider,
  needs: 'ADMIN',
  returns: [200, GetCertificateProviderResponseDto],
  handle: ({ target }) => shown(target),
})

type Wish = z.output<typeof CertificateProviderSearchRequestDto>

/** What is answered as the configuration is stored as settings. */
const stored = (sort: Sort): Sort => (sort.property === 'configuration' ? { ...sort, property: 'settings' } : sort)

const search = (em: EntityManager, page: PageRequest, { simpleSearchTerm, certificateProviderTypes, archived }: Wish) =>
  searchPage(em, CertificateProvider, {
    where: {
      archived,
      ...(certificateProviderTypes && { certificateProviderType: { $in: certificateProviderTypes } }),
    },
    term: { text: simpleSearchTerm, in: [`${alias}.name`] },
    page: { ...page, sort: page.sort.map(stored) },
    sortable: ['id', 'name', 'certificateProviderType', 'settings', 'connectionStatus', 'lastCheckedDate'],
  })

export const searchCertificateProviders = operation('POST /certificate-providers/search', {
  summary: 'Search certificate providers',
  needs: 'ADMIN',
  body: CertificateProviderSearchRequestDto,
  example: { body: { certificateProviderTypes: ['LOCAL'] } },
  paging: true,
  returns: [200, shape.pageDto('GetCertificateProviderResponseDtoPage', GetCertificateProviderResponseDto)],
  handle: async ({ em, page, body }) => {
    const found = await search(em, page, body)
    return { ...found, content: found.content.map(shown) }
  },
})

export const searchCertificateProvidersForPolicyCreateUpdate = operation('POST /certificate-providers/minimal/search', {
  summary: 'Search certificate providers for a policy',
  needs: 'SHAPE_POLICIES',
  body: CertificateProviderSearchRequestDto,
  example: { body: { simpleSearchTerm: 'office' } },
  paging: true,
  returns: [
    200,
    shape.pageDto('GetCertificateProviderMinimalResponseDtoPage', GetCertificateProviderMinimalResponseDto),
  ],
  handle: ({ em, page, body }) => search(em, page, body),
})

export const updateCertificateProvider = operation('PATCH /certificate-providers/:id', {
  summary: 'Change a certificate provider; its kind, and the keys of a LOCAL one, stay',
  on: CertificateProvider,
  needs: 'ADMIN',
  living: true,
  body: UpdateCertificateProviderRequestDto,
  example: { body: { name: 'Office CA of 2027', version: 1 } },
  returns: [200, shape.sameAs('UpdateCertificateProviderResponseDto', GetCertificateProviderResponseDto)],
  fails: [409, 415, 422],
  handle: async ({ em, target, body: { name, configuration } }) => {
    change(target, { name, settings: configuration === undefined ? undefined : changedSettings(target, configuration) })
    record(em, { type: 'ENTITY_UPDATED', objectId: target.id, what: `Certificate provider ${target.name} updated` })
    await em.flush()
    return shown(target)
  },
})

export const checkCertificateProviderConnection = operation('POST /certificate-providers/:id/check-connection', {
  summary: 'Try the connection of a certificate provider',
  on: CertificateProvider,
  needs: 'ADMIN',
  returns: [200, CheckCertificateProviderConnectionDto],
  fails: [415, 422],
  never: [404],
  handle: async ({ target, temporal }) => {
    const found = await temporal.run(checkProviderRun(target.id), checkSeconds)
    if (found !== PENDING) return found
    return { result: false, errorMessage: 'The check did not end in time.', durationMs: checkSeconds * 1000 }
  },
})
