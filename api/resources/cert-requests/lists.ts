// Lists of certificate requests: only what the caller may read is in them (contract 1.3, 7.1).
import { requiredApprovals } from '../../../domain/lifecycle.ts'
import { findCertRequests, findOpenCertRequests } from '../../../storage/lists/cert-requests.ts'
import type { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Count } from '../../kernel/query.ts'
import { CertReqSearchRequestDto, GetCertReqResponseDtoPage, GetPendingCertReqResponseDtoPage } from './dtos.ts'

export const searchCertRequests = operation('POST /cert-requests/search', {
  summary: 'Search the certificate requests of a realm that the caller may read',
  on: {
    realm: from.body(Realm, 'realmId'),
    policy: from.optional(from.body(Policy, 'policyId')),
    endEntity: from.optional(from.body(EndEntity, 'endEntityId')),
  },
  needs: { realm: 'ENTER_REALM' },
  shows: 'READ_CERT_REQUEST',
  body: CertReqSearchRequestDto,
  example: { body: { realmId: exampleIds.Realm, simpleSearchTerm: 'web-01', certRequestStatuses: ['APPROVED'] } },
  paging: true,
  returns: [200, GetCertReqResponseDtoPage],
  fails: [415],
  handle: ({ body, em, caller, page }) => findCertRequests(em, caller, { ...body, page }),
})

const pendingOf = (request: CertRequest) => ({
  id: request.id,
  policyId: request.policyId,
  endEntityId: request.endEntityId,
  policyName: request.policyName,
  endEntityCommonName: request.endEntityCommonName,
  certRequestStatus: request.certRequestStatus,
  approvals: request.state.approverIds.length,
  requiredApprovals: requiredApprovals(request),
  metadata: request.metadata,
})

export const getMostRecentPendingCertificates = operation('GET /cert-requests/realms/:id/pending', {
  summary: 'List the newest requests of a realm that wait for an approval or for the verification of an address',
  on: Realm,
  needs: 'ENTER_REALM',
  shows: 'READ_CERT_REQUEST',
  query: { size: Count(1, 1000) },
  example: { query: { size: '10' } },
  returns: [200, GetPendingCertReqResponseDtoPage],
  handle: async ({ target, query, em, caller }) => {
    const page = await findOpenCertRequests(em, caller, { realmId: target.id, size: query.size })
    return { ...page, content: page.content.map(pendingOf) }
  },
})
