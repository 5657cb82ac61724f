// The e-mail address of an end entity proven (contract 4.1): the token of the mail brings the request on, and another mail
// is sent where the first was lost.
import type { EntityManager } from '@mikro-orm/postgresql'
import { canonicalEmail } from '../../../domain/address.ts'
import { Failure } from '../../../domain/failure.ts'
import { resent, verified } from '../../../domain/lifecycle.ts'
import { lockRow } from '../../../storage/lock.ts'
import { isMailReady } from '../../../storage/mails.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { VerificationToken } from '../../../storage/rows/verification-token.ts'
import { hashOfToken } from '../../../storage/verification-tokens.ts'
import { verifyEmail } from '../../../workflows/messages.ts'
import { certRequestRun } from '../../../workflows/starts.ts'
import type { Dependencies } from '../../kernel/dependencies.ts'
import { exampleToken } from '../../kernel/examples.ts'
import { operation, type Surroundings } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'
import { awaitCertificate } from './decisions.ts'
import { EmailDto, EmailVerifiedCertReqResponseDto, VerifyTokenRequestDto } from './dtos.ts'
import { askForProof, startMails } from './waiting.ts'

/** The token that a text is, and its request; INVALID_TOKEN, TOKEN_ALREADY_USED, CERT_REQUEST_NOT_FOUND. */
const openToken = async (em: EntityManager, text: string, now: Date) => {
  const token = await em.findOne(VerificationToken, hashOfToken(text))
  if (!token) throw new Failure('INVALID_TOKEN')
  const target = await em.findOne(CertRequest, token.certRequestId)
  if (!target) throw new Failure('CERT_REQUEST_NOT_FOUND')
  if (token.usedDate) throw new Failure('TOKEN_ALREADY_USED')
  if (token.expiresDate.getTime() <= now.getTime()) throw new Failure('INVALID_TOKEN', 'The token has expired.')
  verified(target.state)
  return { token, target }
}

/** What the bringer of a token works with. */
export type Verifying = Pick<Surroundings, 'em' | 'temporal' | 'settings' | 'clock'>

/** Uses a token up: its request is verified, and issued where an order waits for nothing else. */
export const proveAddress = async (text: string, { em, temporal, settings, clock }: Verifying) => {
  const { token, target } = await openToken(em, text, clock())
  const start = certRequestRun(target, await settings.integer('order.max-wait-days'))
  const proof = { certRequestId: target.id, tokenHash: token.hash }
  const outcome = await temporal.updateWithStart(verifyEmail, { args: [proof], start })
  if (outcome === PENDING) throw new Error(`The proof for ${target.id} was sent, but no worker has recorded it yet.`)
  await em.refresh(target)
  const certificateId =
    outcome.orderId && outcome.status === 'APPROVED' ? await awaitCertificate(em, target) : (target.certificateId ?? null)
  const { id, certRequestStatus, emailVerifiedDate } = target
  return { id, certRequestStatus, email: token.email, certificateId, emailVerifiedDate: emailVerifiedDate ?? clock() }
}

/** What the page of the mail asks and does; see endpoints/verification-page.ts. */
export const verifierOf = ({ orm, ...deps }: Dependencies) => ({
  look: async (token: string) => {
    const { target, token: known } = await openToken(orm.em.fork(), token, deps.clock())
    return { label: target.label, email: known.email }
  },
  prove: (token: string) => proveAddress(token, { ...deps, em: orm.em.fork() }),
})

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
  if (!email || canonicalEmail(email) !== canonicalEmail(given)) throw new Failure('EMAIL_MISMATCH')
  return email
}

export const resendEmailVerificationForCertRequest = operation('POST /cert-requests/:id/resend-verification-email', {
  summary: 'Send another verification mail, whose token replaces the one before',
  on: CertRequest,
  needs: 'RESEND_VERIFICATION',
  living: true,
  body: EmailDto,
  example: { body: { email: 'ops@example.org' } },
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
