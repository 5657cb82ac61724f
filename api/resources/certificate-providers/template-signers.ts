// The templates and template signers of certificate providers (contract 10.1, 10.2).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { kindOf } from '../../../authority/providers/kinds.ts'
import type { TemplateSigner } from '../../../authority/providers/provider.ts'
import { Ca } from '../../../storage/rows/ca.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { operation } from '../../kernel/operation.ts'
import { CaTemplateSignerDtoList, MscaTemplatesResponseDto } from './dtos.ts'

const signersOf = async (
  em: EntityManager,
  provider: CertificateProvider,
  isWanted: (signer: TemplateSigner) => boolean,
) => {
  const ca = await em.findOne(Ca, { id: provider.issuingCaId ?? provider.id })
  const caTemplateSignerList = kindOf(provider)
    .templateSigners(provider)
    .filter(isWanted)
    .map(({ id, name }) => ({ id, name, caSubjectDn: ca?.subjectDn ?? null }))
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
    refuses: ['NOT_SUPPORTED_BY_PROVIDER'],
    handle: () => {
      throw new Failure('NOT_SUPPORTED_BY_PROVIDER')
    },
  },
)
