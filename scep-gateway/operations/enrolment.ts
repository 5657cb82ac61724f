// PKCSReq and RenewalReq (RFC 8894 3.3.1): authorised, requested once, issued, or told to wait.
import type { ApiError } from '../../domain/failure.ts'
import { apiErrors } from '../../domain/failure.ts'
import { certificatesOnly } from '../../pki/cms/degenerate.ts'
import { withoutSecrets } from '../../pki/pkcs10-redaction.ts'
import type { Enrolment } from '../../pki/scep/request-content.ts'
import type { ScepRequest } from '../../pki/scep/request.ts'
import { authorize } from '../authorize.ts'
import type { Gateway } from '../gateway.ts'
import { notAuthorised, Refused, type Outcome } from '../outcome.ts'
import type { PolicyView } from '../policies.ts'
import { type KnownRequest, ServiceDown, ServiceRefusal } from '../service-client.ts'
import { parseCertificates } from '../pem.ts'
import { keyOf, referenceOf } from '../transaction.ts'
import { namedEndEntity } from './named-end-entity.ts'
import { requestFor } from './wish.ts'

/** What the service says about the key. */
const ofTheKey: ReadonlySet<string> = new Set(['CRYPTO_RESTRICTION_VIOLATION', 'WEAK_KEY', 'INVALID_PUBLIC_KEY'])

/** What the device may not know: that it was known once, and what the gateway may do. */
const untold: ReadonlySet<string> = new Set([
  'END_ENTITY_NOT_FOUND',
  'ENTITY_ARCHIVED',
  'ACCESS_DENIED',
  'AMBIGUOUS_RESULT',
])

/** What the service says in words of its own operations. */
const tellable: ReadonlyMap<string, string> = new Map([['INVALID_REQUEST', 'A name in the request cannot be used']])

/** The service's refusal as FAILURE; other errors stay. */
export const refusedBy = (error: unknown): unknown => {
  if (!(error instanceof ServiceRefusal)) return error
  const { apiError, message } = error
  if (untold.has(apiError)) return notAuthorised(message)
  const text = tellable.get(apiError) ?? apiErrors[apiError as ApiError]?.description ?? 'The request is refused'
  return new Refused(ofTheKey.has(apiError) ? 'badAlg' : 'badRequest', `${text}.`, message)
}

/** The answer with a certificate: the new one first, then its CAs where they are wanted. */
const delivered = (
  { config }: Gateway,
  chain: readonly Buffer[],
  traces: { certRequestId: string; certificateId: string },
) => {
  const certificates = config.includeChain ? chain : chain.slice(0, 1)
  return { status: 'SUCCESS' as const, bag: certificatesOnly(certificates), ...traces }
}

const deliverKnown = async (gateway: Gateway, certRequestId: string, certificateId: string): Promise<Outcome> =>
  delivered(gateway, await gateway.service.chain(certificateId), { certRequestId, certificateId })

/** The request is recorded: whatever cannot be reached now, the device polls, and the work goes on then. */
const issue = async (gateway: Gateway, { id: certRequestId }: KnownRequest): Promise<Outcome> => {
  const { config, ending, service } = gateway
  try {
    const issued = await service.issue(certRequestId, { milliseconds: config.waitSeconds * 1000, ending })
    const chain = parseCertificates(issued.certificateChainPem.pemCertificate)
    return delivered(gateway, chain, { certRequestId, certificateId: issued.certificate.id })
  } catch (error) {
    if (error instanceof ServiceDown) return { status: 'PENDING', certRequestId }
    if (!(error instanceof ServiceRefusal)) throw error
    if (error.apiError === 'ISSUE_PENDING' || error.apiError === 'ALREADY_ORDERED')
      return { status: 'PENDING', certRequestId }
    if (error.apiError !== 'ALREADY_ISSUED') throw error
    const { certificateId } = await service.request(certRequestId)
    return certificateId ? deliverKnown(gateway, certRequestId, certificateId) : { status: 'PENDING', certRequestId }
  }
}

/** An order waits for nobody but people, and issues when they have decided: operators find the story of the device in it. */
const order = async ({ service }: Gateway, { id, orderId }: KnownRequest): Promise<Outcome> => {
  if (!orderId)
    await service.order(id).catch((error: unknown) => {
      // The next poll orders it.
      if (!(error instanceof ServiceDown)) throw error
    })
  return { status: 'PENDING', certRequestId: id }
}

/** The present state of a certificate request as the answer to its device. */
export const follow = async (gateway: Gateway, request: KnownRequest): Promise<Outcome> => {
  const { id, certRequestStatus, certificateId } = request
  if (certRequestStatus === 'DECLINED') throw new Refused('badRequest', 'The request was declined.')
  if (certRequestStatus === 'ISSUED' && certificateId) return deliverKnown(gateway, id, certificateId)
  // A call that nobody waits for might never be sent.
  const mayWait = certRequestStatus === 'APPROVED' && gateway.config.waitSeconds > 0
  return mayWait ? issue(gateway, request) : order(gateway, request)
}

/** Answers PKCSReq and RenewalReq; Refused, and what the client of the service throws. */
export const enrol = async (
  gateway: Gateway,
  { policy, request: message }: { readonly policy: PolicyView; readonly request: ScepRequest },
  { request, challengePassword }: Enrolment,
): Promise<Outcome> => {
  const { service, config } = gateway
  const reference = referenceOf(policy.id, message, challengePassword === null ? 'CERTIFICATE' : 'KEY')
  const transaction = keyOf(reference, withoutSecrets(request.der))
  const brought = { policy, signer: message.signer.der, challengePassword, transaction }
  const wish = { policy, reference, request }
  try {
    const authorised = await authorize(service, config, brought)
    const endEntityId = authorised.endEntityId ?? (await namedEndEntity(gateway, wish))
    return await follow(gateway, await requestFor(gateway, wish, { ...authorised, endEntityId }))
  } catch (error) {
    throw refusedBy(error)
  }
}
