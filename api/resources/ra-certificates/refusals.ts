// What the two operations that make RA certificates ask and refuse alike.
import { Policy } from '../../../storage/rows/policy.ts'
import { ruleBreaches } from '../cert-requests/refusals.ts'
import { ofIssue } from '../certificates/refusals.ts'

/** What a request of an RA certificate may be refused with. */
export const ofWish = [
  ...ruleBreaches,
  ...ofIssue,

  'VALIDATION_FAILED',
  'MAIL_NOT_CONFIGURED',
] as const

/** What a batch of them may be refused with: where no item is accepted, by the codes of its items (contract 1.7). */
export const ofBatch = {
  409: ['ENTITY_ARCHIVED', 'INVALID_STATE'],
  422: [...ofWish, 'CHAIN_INCOMPLETE', 'ACCESS_DENIED'],
  502: ['CERTIFICATE_PROVIDER_ERROR'],
} as const

/** The default policy is for everybody's own certificate; another one is for those who may request under it. */
export const ofOtherPolicy = [
  {
    right: 'CREATE_CERT_REQUEST',
    on: 'the policy, where it is not the one of RA certificates',
    optional: true,
    entity: Policy,
  },
] as const
