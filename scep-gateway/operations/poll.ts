// CertPoll (RFC 8894 3.3.3): found by policy, transaction id and signer key, answered by the state of its request.
import type { ScepRequest } from '../../pki/scep/request.ts'
import type { Gateway } from '../gateway.ts'
import { signerOf } from '../authorize.ts'
import { notAuthorised, Refused, type Outcome } from '../outcome.ts'
import type { PolicyView } from '../policies.ts'
import { referenceOf } from '../transaction.ts'
import { follow, refusedBy } from './enrolment.ts'

/** A signer that was revoked, or put on hold, since it asked gets no more than one that asks now. */
const mustNotBeRevoked = async ({ service }: Gateway, { signer }: ScepRequest): Promise<void> => {
  const known = await signerOf(service, signer.der)
  if (known?.certStatus === 'REVOKED') throw notAuthorised('the signer is REVOKED')
}

/** Answers CertPoll; Refused, and what the client of the service throws. */
export const poll = async (
  gateway: Gateway,
  { policy, request }: { readonly policy: PolicyView; readonly request: ScepRequest },
): Promise<Outcome> => {
  const wanted = referenceOf(policy.id, request)
  try {
    const [latest] = await gateway.service.requestsOf(policy, wanted)
    if (!latest) throw new Refused('badCertId', 'No request has this transaction id and key.')
    await mustNotBeRevoked(gateway, request)
    return await follow(gateway, latest)
  } catch (error) {
    throw refusedBy(error)
  }
}
