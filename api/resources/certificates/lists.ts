// Lists of certificates: only what the caller may read is in them (contract 1.3, 7.1).
import { everyCertificate, findCertificates } from '../../../storage/lists/certificates.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Count } from '../../kernel/query.ts'
import { certificatePage } from './answers.ts'
import { CertificateSearchRequestDto, GetCertificateResponseDtoPage } from './dtos.ts'

export const searchCertificates = operation('POST /certificates/search', {
  summary: 'Search the certificates that the caller may read',
  on: {
    realm: from.optional(from.body(Realm, 'realmId')),
    policy: from.optional(from.body(Policy, 'policyId')),
    endEntity: from.optional(from.body(EndEntity, 'endEntityId')),
  },
  needs: { realm: 'ENTER_REALM' },
  shows: 'READ_CERTIFICATE',
  body: CertificateSearchRequestDto,
  example: { body: { simpleSearchTerm: 'web-01', certStatuses: ['ACTIVE'] } },
  paging: true,
  returns: [200, GetCertificateResponseDtoPage],
  fails: [415],
  handle: async ({ body, em, caller, page, clock }) => {
    const now = clock()
    return certificatePage(await findCertificates(em, caller, { ...body, page, now }), now)
  },
})

export const getCertificatesByRealmId = operation('GET /certificates/realms/:id', {
  summary: 'List the certificates of a realm',
  on: Realm,
  needs: 'ENTER_REALM',
  shows: 'READ_CERTIFICATE',
  paging: true,
  returns: [200, GetCertificateResponseDtoPage],
  handle: async ({ target, em, caller, page, clock }) => {
    const now = clock()
    const found = await findCertificates(em, caller, { ...everyCertificate, realmId: target.id, page, now })
    return certificatePage(found, now)
  },
})

const dayMs = 86_400_000
const soonestFirst = [{ property: 'validNotAfter', descending: false }]

export const getSoonExpiringCertificates = operation('GET /certificates/realms/:id/expiring', {
  summary: 'List the active certificates of a realm that expire soon, soonest first',
  on: Realm,
  needs: 'ENTER_REALM',
  shows: 'READ_CERTIFICATE',
  query: { size: Count(1, 1000) },
  example: { query: { size: '10' } },
  returns: [200, GetCertificateResponseDtoPage],
  fails: [422],
  handle: async ({ target, query: { size }, em, caller, clock, settings }) => {
    const now = clock()
    const days = await settings.integer('certificate.expiring-soon-days')
    const found = await findCertificates(em, caller, {
      ...everyCertificate,
      realmId: target.id,
      certStatuses: ['ACTIVE'],
      validNotAfterEnd: new Date(now.getTime() + days * dayMs),
      page: { page: 0, size, sort: soonestFirst },
      now,
    })
    return certificatePage(found, now)
  },
})
