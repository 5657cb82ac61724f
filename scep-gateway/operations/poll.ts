// CertPoll (RFC 8894 3.3.3): found by policy, transaction id and signer key, answered by the state of its request.
import type { ScepRequest } from '../../pki/scep/request.ts'
import type { Gateway } from '../gateway.ts'
import { signerOf } from '../authorize.ts'
import { notAuthorised, Refused, type Outcome } from '../outcome.ts'
import type { PolicyView } from '../policies.ts'
import type { KnownRequest } from '../service-client.ts'
import { referenceOf } from '../transaction.ts'
import { follow, refusedBy } from './enrolment.ts'

interface Asked {
  readonly policy: PolicyView
  readonly request: ScepRequest
}

const newest = (requests: readonly KnownRequest[]): KnownRequest | undefined =>
  requests.toSorted((one, other) => Date.parse(other.metadata.createdDate) - Date.parse(one.metadata.createdDate))[0]

/** The latest of the transaction, what the signer has asked for by its certificate only while the service knows that. */
const latestOf = async ({ service }: Gateway, { policy, request }: Asked): Promise<KnownRequest | undefined> => {
  const known = await signerOf(service, request.signer.der)
  const ways = known ? (['KEY', 'CERTIFICATE'] as const) : (['KEY'] as const)
  const references = ways.map(by => referenceOf(policy.id, request, by))
  const found = await Promise.all(references.map(reference => service.requestsOf(policy, reference)))
  const latest = newest(found.flat())
  // A signer that was revoked, or put on hold, since it asked gets no more than one that asks now.
  if (latest && known?.certStatus === 'REVOKED') throw notAuthorised('the signer is REVOKED')
  return latest
}

/** Nobody installs what was revoked while it waited to be fetched. */
const mustBeValid = async ({ service }: Gateway, { certificateId }: KnownRequest): Promise<void> => {
  const certificate = certificateId ? await service.certificate(certificateId) : null
  if (certificate && certificate.certStatus !== 'ACTIVE')
    throw new Refused('badRequest', 'The certificate is no longer valid.', `it is ${certificate.certStatus}`)
}

/** Answers CertPoll; Refused, and what the client of the service throws. */
export const poll = async (gateway: Gateway, asked: Asked): Promise<Outcome> => {
  try {
    const latest = await latestOf(gateway, asked)
    if (!latest) throw new Refused('badCertId', 'No request has this transaction id and key.')
    await mustBeValid(gateway, latest)
    return await follow(gateway, latest)
  } catch (error) {
    throw refusedBy(error)
  }
}
