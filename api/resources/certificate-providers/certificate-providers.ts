// Certificate providers: the backends that issue certificates (contract 6.3, 10).
import type { z } from 'zod'
import { findCertificateProviders } from '../../../storage/lists/certificate-providers.ts'
import { record } from '../../../storage/audit.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { checkProviderRun, prepareProviderRun } from '../../../workflows/starts.ts'
import { operation } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'
import { changedSettings, newSettings, shownConfiguration } from '../../../authority/providers/configuration.ts'
import { change, create } from '../../kernel/writing.ts'
import {
  CertificateProviderSearchRequestDto,
  CheckCertificateProviderConnectionDto,
  CreateCertificateProviderRequestDto,
  CreateCertificateProviderResponseDto,
  GetCertificateProviderMinimalResponseDtoPage,
  GetCertificateProviderResponseDto,
  GetCertificateProviderResponseDtoPage,
  UpdateCertificateProviderRequestDto,
  UpdateCertificateProviderResponseDto,
} from './dtos.ts'

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
  description:
    'The configuration is a JSON object as text, `{}` for the defaults. Of LOCAL it may have hierarchy, keyAlgorithm, keySize, curve, ' +
    'rootSubjectDn, issuingSubjectDn, rootValidityYears, issuingValidityYears, crlValidityHours, rootCrlValidityDays, crlPartitions, ' +
    'deltaCrlHours, ocspSigner and templates; a refusal tells what a member may be.',
  needs: 'ADMIN',
  body: CreateCertificateProviderRequestDto,
  example: { body: { name: 'House CA', certificateProviderType: 'LOCAL', configuration: '{"keyAlgorithm":"EC"}' } },
  returns: [201, CreateCertificateProviderResponseDto],
  fails: [415, 422],
  refuses: ['ALREADY_EXISTS', 'INVALID_PROVIDER_CONFIGURATION'],
  never: [404],
  handle: async ({ em, clock, temporal, body: { name, certificateProviderType, configuration } }) => {
    const settings = await newSettings(certificateProviderType, name, configuration)
    const data = { name, certificateProviderType, settings }
    const made = await create(
      { em, clock },
      { entity: CertificateProvider, data, what: `Certificate provider ${name}` },
    )
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

export const searchCertificateProviders = operation('POST /certificate-providers/search', {
  summary: 'Search certificate providers',
  needs: 'ADMIN',
  body: CertificateProviderSearchRequestDto,
  example: { body: { certificateProviderTypes: ['LOCAL'] } },
  paging: true,
  returns: [200, GetCertificateProviderResponseDtoPage],
  handle: async ({ em, page, body }) => {
    const found = await findCertificateProviders(em, { ...body, page })
    return { ...found, content: found.content.map(shown) }
  },
})

export const searchCertificateProvidersForPolicyCreateUpdate = operation('POST /certificate-providers/minimal/search', {
  summary: 'Search certificate providers for a policy',
  needs: 'SHAPE_POLICIES',
  body: CertificateProviderSearchRequestDto,
  example: { body: { simpleSearchTerm: 'office' } },
  paging: true,
  returns: [200, GetCertificateProviderMinimalResponseDtoPage],
  handle: ({ em, page, body }) => findCertificateProviders(em, { ...body, page }),
})

export const updateCertificateProvider = operation('PATCH /certificate-providers/:id', {
  summary: 'Change a certificate provider; its kind, and the keys of a LOCAL one, stay',
  on: CertificateProvider,
  needs: 'ADMIN',
  living: true,
  body: UpdateCertificateProviderRequestDto,
  example: { body: { name: 'Office CA of 2027', version: 1 } },
  returns: [200, UpdateCertificateProviderResponseDto],
  fails: [409, 415, 422],
  refuses: ['ALREADY_EXISTS', 'INVALID_PROVIDER_CONFIGURATION'],
  handle: async ({ em, target, body: { name, configuration } }) => {
    const settings = configuration === undefined ? undefined : await changedSettings(target, configuration)
    if (!change(target, { name, settings })) return shown(target)
    record(em, { type: 'ENTITY_UPDATED', objectId: target.id, what: `Certificate provider ${target.name} updated` })
    await em.flush()
    return shown(target)
  },
})

export const checkCertificateProviderConnection = operation('POST /certificate-providers/:id/check-connection', {
  summary: 'Try the connection of a certificate provider',
  on: CertificateProvider,
  needs: 'ADMIN',
  living: true,
  returns: [200, CheckCertificateProviderConnectionDto],
  fails: [415, 422],
  never: [404],
  handle: async ({ target, temporal }) => {
    const found = await temporal.run(checkProviderRun(target.id), checkSeconds)
    if (found !== PENDING) return found
    return { result: false, errorMessage: 'The check did not end in time.', durationMs: checkSeconds * 1000 }
  },
})
