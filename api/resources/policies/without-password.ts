// Lists of policies seen from an end entity (contract 6.6, 12).
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { withoutPasswordOf } from '../../../storage/lists/policies.ts'
import { operation } from '../../kernel/operation.ts'
import { GetPolicyResponseDtoPage } from './dtos.ts'
import { listPolicies } from './list.ts'

export const availablePoliciesWithoutPasswordByEndEntityId = operation('GET /policies/end-entities/:id/no-password', {
  summary: 'List the policies for which an end entity has no password yet',
  on: EndEntity,
  needs: 'READ_END_ENTITY',
  shows: 'READ_POLICY',
  living: true,
  paging: true,
  returns: [200, GetPolicyResponseDtoPage],
  fails: [409, 422],
  handle: ({ target, em, caller, page }) => {
    const where = { realmId: target.realmId, archived: false }
    return listPolicies(em, caller, { where, and: [withoutPasswordOf(target.id)], page })
  },
})
