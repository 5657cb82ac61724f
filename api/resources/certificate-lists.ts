// Lists of certificates: only what the caller may read is in them (contract 1.3, 7.1).
import { Failure } from '../../domain/failure.ts'
import { mayEnter } from '../../storage/authorization.ts'
import { everyCertificate, findCertificates } from '../../storage/certificate-search.ts'
import { EndEntity } from '../../storage/end-entity.ts'
import { Policy } from '../../storage/policy.ts'
import { Realm } from '../../storage/realm.ts'
import { from, operation } from '../operation.ts'
import { CertificateSearchRequestDto, GetCertificateResponseDtoPage } from './certificate-dtos.ts'

export const searchCertificates = operation('POST /certificates/search', {
  summary: 'Search the certificates that the caller may read',
  on: {
    realm: from.optional(from.body(Realm, 'realmId')),
    policy: from.optional(from.body(Policy, 'policyId')),
    endEntity: from.optional(from.body(EndEntity, 'endEntityId')),
  },
  needs: 'TOKEN',
  body: CertificateSearchRequestDto,
  example: { body: { simpleSearchTerm: 'web-01', certStatuses: ['ACTIVE'] } },
  paging: true,
  returns: [200, GetCertificateResponseDtoPage],
  fails: [415],
  handle: async ({ realm, body, em, caller, page, clock }) => {
    if (realm && !(await mayEnter(em, caller, realm.id))) throw new Failure('ACCESS_DENIED')
    return findCertificates(em, caller, { ...body, page, now: clock() })
  },
})

export const getCertificatesByRealmId = operation('GET /certificates/realms/:id', {
  summary: 'List the certificates of a realm',
  on: Realm,
  needs: 'TOKEN',
  paging: true,
  returns: [200, GetCertificateResponseDtoPage],
  handle: async ({ target, em, caller, page, clock }) => {
    if (!(await mayEnter(em, caller, target.id))) throw new Failure('ACCESS_DENIED')
    return findCertificates(em, caller, { ...everyCertificate, realmId: target.id, page, now: clock() })
  },
})
