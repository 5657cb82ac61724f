// The RA certificate of a user made or renewed (contract 6.7, 12).
import { Policy } from '../../../storage/rows/policy.ts'
import { User } from '../../../storage/rows/user.ts'
import { from, operation } from '../../kernel/operation.ts'
import { deliverOne } from '../certificates/delivery.ts'
import { plan } from '../certificates/issue.ts'
import { issueTogether } from '../certificates/together.ts'
import { CreateSingleRaCertRequestDto, UpdateUserRaCertificateDto } from './dtos.ts'
import { ofOtherPolicy, ofWish } from './refusals.ts'
import { policyFor, requestRaCertificate, systemRealm } from './requesting.ts'

const policy = from.optional(from.body(Policy, 'policyId'))

export const createRaCertificateForSingleUser = operation('POST /ra-certificates/users/:id', {
  summary: 'Make or renew the RA certificate of a user and wait for it',
  on: { target: from.path(User), policy },
  needs: { target: 'RENEW_RA_CERTIFICATE' },
  alsoNeeds: ofOtherPolicy,
  body: CreateSingleRaCertRequestDto,
  example: {
    body: {
      validFor: 'ONE_YEAR',
      keyPairMode: 'SERVER_GEN',
      keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
      revokePrevious: true,
    },
  },
  cost: 'CHECK',
  returns: [200, UpdateUserRaCertificateDto],
  fails: [409, 415, 422],
  refuses: [...ofWish, 'INVALID_PKCS10', 'INVALID_PUBLIC_KEY', 'EMAIL_MISSING'],
  handle: async ({ target: user, policy: named, body: { revokePrevious, ...key }, em, caller, ...context }) => {
    const requesting = { em, caller, ...context }
    const { temporal, settings, clock } = context
    const wish = { user, policy: await policyFor(requesting, named), realm: await systemRealm(em), key, revokePrevious }
    const request = await requestRaCertificate(requesting, wish)
    const answer = { userId: user.id, certRequestId: request.id }
    if (request.certRequestStatus !== 'APPROVED')
      return { ...answer, certRequestStatus: request.certRequestStatus, certificateId: null, raCertificate: null }
    const planned = plan(request)
    const seconds = await settings.integer('issue.wait-seconds')
    const outcomes = await issueTogether({ em, temporal, clock }, planned, { who: caller.id, seconds })
    const { certificate } = await deliverOne(em, planned, { outcomes, now: clock() })
    const raCertificate = Object.assign(certificate, { userId: user.id })
    return { ...answer, certRequestStatus: 'ISSUED' as const, certificateId: certificate.id, raCertificate }
  },
})
