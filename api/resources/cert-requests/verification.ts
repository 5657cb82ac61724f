// The e-mail address of an end entity proven (contract 4.1): the token of the mail brings the request on, and another mail
// is sent where the first was lost.
import { canonicalEmail } from '../../../domain/address.ts'
import { Failure } from '../../../domain/failure.ts'
import { resent } from '../../../domain/lifecycle.ts'
import { lockRow } from '../../../storage/lock.ts'
import { isMailReady } from '../../../storage/mails.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { exampleToken } from '../../kernel/examples.ts'
import { operation } from '../../kernel/operation.ts'
import { EmailDto, EmailVerifiedCertReqResponseDto, VerifyTokenRequestDto } from './dtos.ts'
import { proveAddress } from './proof.ts'
import { askForProof, startMails } from './waiting.ts'

export const verifyCertificateRequestByEmail = operation('POST /public/verify-cert-request-with-email', {
  summary: 'Prove an e-mail address by the token that was sent to it',
  needs: 'NOTHING',
  body: VerifyTokenRequestDto,
  example: { body: { token: exampleToken } },
  returns: [200, EmailVerifiedCertReqResponseDto],
  fails: [409, 415, 422],
  refuses: ['CERT_REQUEST_NOT_FOUND', 'ENTITY_ARCHIVED', 'INVALID_STATE', 'INVALID_TOKEN', 'TOKEN_ALREADY_USED'],
  handle: ({ body: { token }, ...verifying }) => proveAddress(token, verifying),
})

/** The address of an end entity, when it is the given one. */
const addressOf = ({ email }: EndEntity, given: string): string => {
  const isSame = email?.toLowerCase() === canonicalEmail(given)?.toLowerCase()
  if (!email || !isSame) throw new Failure('EMAIL_MISMATCH')
  return email
}

export const resendEmailVerificationForCertRequest = operation('POST /cert-requests/:id/resend-verification-email', {
  summary: 'Send another verification mail, whose token replaces the one before',
  on: CertRequest,
  needs: 'RESEND_VERIFICATION',
  living: true,
  body: EmailDto,
  example: { body: { email: 'ops@example.org' } },
  cost: 'MAIL',
  returns: [204, null],
  fails: [409, 415, 422],
  refuses: ['INVALID_STATE', 'EMAIL_MISMATCH', 'MAIL_NOT_CONFIGURED'],
  handle: async ({ target, body: { email: given }, em, temporal, ...around }) => {
    resent(target.state)
    const email = addressOf(await em.findOneOrFail(EndEntity, target.endEntityId), given)
    if (!(await isMailReady(around.settings))) throw new Failure('MAIL_NOT_CONFIGURED')
    const groups = await em.transactional(async transaction => {
      const { id, realmId, policyName, label, state } = await lockRow(transaction, CertRequest, target.id)
      resent(state)
      return askForProof(transaction, [{ id, realmId, policyName, label, email }], around)
    })
    await startMails(temporal, groups)
  },
})
