// Recording that an e-mail address was proven. The message is not believed: the token is judged by the records, in the
// transaction that uses it up.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { verified } from '../domain/lifecycle.ts'
import { record } from '../storage/audit.ts'
import { lockRow } from '../storage/lock.ts'
import { CertRequest } from '../storage/rows/cert-request.ts'
import { VerificationToken } from '../storage/rows/verification-token.ts'
import type { Decided } from '../workflows/messages.ts'
import type { Services } from './services.ts'

/** One proof of an address. */
export interface Proof {
  readonly certRequestId: string
  /** SHA-256 of the token, hex. */
  readonly tokenHash: string
  /** The id of the message. */
  readonly proofId: string
}

const outcomeOf = ({ certRequestStatus: status, orderId }: CertRequest): Decided => ({ status, orderId })

const verify = async (em: EntityManager, { clock }: Services, proof: Proof): Promise<Decided> => {
  const request = await lockRow(em, CertRequest, proof.certRequestId)
  const token = await em.findOne(VerificationToken, { hash: proof.tokenHash, certRequestId: request.id })
  const now = clock()
  if (!token) throw new Failure('INVALID_TOKEN')
  // The answer to it was lost: the message is worked on again.
  if (token.usedBy === proof.proofId) return outcomeOf(request)
  if (token.usedDate) throw new Failure('TOKEN_ALREADY_USED')
  if (token.expiresDate.getTime() <= now.getTime()) throw new Failure('INVALID_TOKEN', 'The token has expired.')
  request.certRequestStatus = verified(request.state)
  request.emailVerifiedDate = now
  token.usedDate = now
  token.usedBy = proof.proofId
  record(em, {
    type: 'CERT_REQUEST_EMAIL_VERIFIED',
    objectId: request.id,
    realmId: request.realmId,
    what: `E-mail address for the certificate request of ${request.label} verified`,
  })
  return outcomeOf(request)
}

export const verificationActivities = (services: Services) => ({
  /** Idempotency key: the message (`proofId`), which the token remembers. */
  recordVerification: (proof: Proof): Promise<Decided> =>
    services.orm.em.fork().transactional(em => verify(em, services, proof)),
})
