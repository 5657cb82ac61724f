// The templates and template signers of certificate providers (contract 10.1, 10.2).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { builtInTemplates, type Template } from '../../../pki/certificate/templates.ts'
import { Ca } from '../../../storage/rows/ca.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { operation } from '../../kernel/operation.ts'
import { templatesOf } from '../../../authority/templates.ts'
import { CaTemplateSignerDtoList, MscaTemplatesResponseDto } from './dtos.ts'

// Stable within the provider whatever templates come and go: the place in the built-in table, else a hash of the name.
const idOf = (name: string): number => {
  const place = builtInTemplates.findIndex(template => template.name === name)
  if (place >= 0) return place + 1
  const hash = [...Buffer.from(name)].reduce((sum, octet) => Math.imul(sum ^ octet, 0x01000193), 0x811c9dc5)
  return 1000 + (hash >>> 0)
}

const signersOf = async (em: EntityManager, provider: CertificateProvider, wanted: (template: Template) => boolean) => {
  const ca = await em.findOne(Ca, { id: provider.issuingCaId ?? provider.id })
  const caTemplateSignerList = templatesOf(provider)
    .filter(wanted)
    .map(({ name }) => ({ id: idOf(name), name, caSubjectDn: ca?.subjectDn ?? null }))
  return { caTemplateSignerList }
}

export const getTemplateSignersByCertificateProviderId = operation(
  'GET /certificate-providers-templates/:id/ca-template-signers',
  {
    summary: 'List the template signers of a certificate provider',
    on: CertificateProvider,
    needs: 'SHAPE_POLICIES',
    returns: [200, CaTemplateSignerDtoList],
    fails: [422],
    handle: ({ em, target }) => signersOf(em, target, ({ ra }) => !ra),
  },
)

export const getAllTemplateSignersByCertificateProviderId = operation(
  'GET /certificate-providers-templates/:id/all-ca-template-signers',
  {
    summary: 'List the template signers of a certificate provider, those of RA certificates included',
    on: CertificateProvider,
    needs: 'SHAPE_POLICIES',
    returns: [200, CaTemplateSignerDtoList],
    fails: [422],
    handle: ({ em, target }) => signersOf(em, target, () => true),
  },
)

export const getMscaTemplatesByCertificateProviderId = operation(
  'GET /certificate-providers-templates/:id/directory-ca-templates',
  {
    summary: 'List the templates of a directory CA',
    on: CertificateProvider,
    needs: 'SHAPE_POLICIES',
    returns: [200, MscaTemplatesResponseDto],
    fails: [422],
    handle: () => {
      throw new Failure('NOT_SUPPORTED_BY_PROVIDER')
    },
  },
)
