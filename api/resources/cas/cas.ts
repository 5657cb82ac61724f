// CA records: who issued what is known here, and who is trusted (contract 6.3, 10.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import { record } from '../../../storage/audit.ts'
import { loadChains } from '../../../storage/chain.ts'
import { findCas, findTrustedCas } from '../../../storage/lists/cas.ts'
import { Ca } from '../../../storage/rows/ca.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { change } from '../../kernel/writing.ts'
import { asFile, listed, shown } from './answers.ts'
import {
  CaCertificateDataPemDto,
  CaSearchRequestDto,
  GetCaResponseDto,
  GetTrustedCasRequestDto,
  GetTrustedCasResponseDto,
  SearchCaResponseDtoPage,
  UpdateCaRequestDto,
  UpdateCaResponseDto,
} from './dtos.ts'

export const getCa = operation('GET /cas/:id', {
  summary: 'Read a CA with its certificate',
  on: Ca,
  needs: 'TOKEN',
  returns: [200, GetCaResponseDto],
  handle: ({ target }) => shown(target),
})

export const downloadCaCertificate = operation('GET /cas/:id/download', {
  summary: 'Download the certificate of a CA',
  on: Ca,
  needs: 'TOKEN',
  returns: [200, CaCertificateDataPemDto],
  handle: ({ target }) => asFile(target),
})

export const searchCas = operation('POST /cas/search', {
  summary: 'Search CAs',
  needs: 'TOKEN',
  body: CaSearchRequestDto,
  example: { body: { simpleSearchTerm: 'Built-in CA Issuing', validNotAfterStart: '2027-01-01T00:00:00Z' } },
  paging: true,
  returns: [200, SearchCaResponseDtoPage],
  fails: [415],
  handle: async ({ em, page, body }) => {
    const found = await findCas(em, { ...body, page })
    return { ...found, content: found.content.map(listed) }
  },
})

/** The CA that issues under a policy and those above it, the issuing one first; none where it is not made yet. */
const chainOf = async (em: EntityManager, { certificateProviderId }: Policy): Promise<readonly string[]> => {
  const { issuingCaId } = await em.findOneOrFail(CertificateProvider, { id: certificateProviderId })
  const { issuers } = (await loadChains(em, [issuingCaId]))(issuingCaId)
  return issuers.map(({ id }) => id)
}

export const getTrustedCas = operation('POST /cas/get-trusted', {
  summary: 'Read the certificates of the CAs that are trusted now',
  on: { policy: from.optional(from.body(Policy, 'policyId')) },
  needs: 'TOKEN',
  body: GetTrustedCasRequestDto,
  example: { body: { policyId: exampleIds.Policy } },
  returns: [200, GetTrustedCasResponseDto],
  handle: async ({ em, clock, policy, body: { caIds } }) => {
    const chain = policy ? await chainOf(em, policy) : null
    const found = await findTrustedCas(em, { now: clock(), among: [caIds, chain].filter(ids => ids !== null) })
    const place = ({ id }: Ca): number => chain?.indexOf(id) ?? 0
    return { trustedCas: found.toSorted((one, other) => place(one) - place(other)).map(asFile) }
  },
})

export const updateCa = operation('PATCH /cas/:id', {
  summary: 'Name a CA, or say whether it is trusted',
  on: Ca,
  needs: 'ADMIN',
  living: true,
  body: UpdateCaRequestDto,
  example: { body: { name: 'House CA of 2026', version: 1 } },
  returns: [200, UpdateCaResponseDto],
  fails: [409, 415],
  handle: async ({ em, target, body: { name, trusted } }) => {
    const wasTrusted = target.trusted
    if (!change(target, { name, trusted })) return shown(target)
    const trust = target.trusted === wasTrusted ? '' : `, ${target.trusted ? 'trusted' : 'not trusted any more'}`
    const what = `CA ${target.subjectDn} updated${trust}`
    record(em, { type: 'ENTITY_UPDATED', objectId: target.id, what })
    await em.flush()
    return shown(target)
  },
})
