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

/** The default policy is for everybody's own certificate; another one is for those who may request under it. */
export const ofOtherPolicy = [
  {
    right: 'CREATE_CERT_REQUEST',
    on: 'the policy, where it is not the one of RA certificates',
    optional: true,
    entity: Policy,
  },
] as const
