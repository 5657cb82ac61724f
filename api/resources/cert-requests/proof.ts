// What the token of a verification mail proves, for the operation that brings it and for the page behind the link.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { verified } from '../../../domain/lifecycle.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { VerificationToken } from '../../../storage/rows/verification-token.ts'
import { hashOfToken } from '../../../storage/verification-tokens.ts'
import { verifyEmail } from '../../../workflows/messages.ts'
import { certRequestRun } from '../../../workflows/starts.ts'
import type { Dependencies } from '../../kernel/dependencies.ts'
import type { Surroundings } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'
import { awaitCertificate } from './waiting.ts'

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
  if (outcome === PENDING)
    throw new Failure('SERVICE_UNAVAILABLE', 'The proof was sent, but no worker has recorded it yet.')
  await em.refresh(target)
  const certificateId =
    outcome.orderId && outcome.status === 'APPROVED'
      ? await awaitCertificate(em, target)
      : (target.certificateId ?? null)
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
