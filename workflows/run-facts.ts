// What operators find a run by: its search attributes, from what it is about.
import type { SearchAttributePair } from '@temporalio/common'
import { searchAttributes } from './messages.ts'

/** A certificate request as runs of it are found. */
export interface LocatedRequest {
  readonly id: string
  readonly realmId: string
  readonly policyId: string
  readonly policyName: string
}

/** So many requests of a run are found by their ids: Temporal takes 2 KB. The record of any request names its run. */
const requestsNamed = 40

/** What operators find a run by. */
interface RunFacts {
  readonly kind:
    | 'API_CLIENT'
    | 'USER'
    | 'IMPORT'
    | 'CERT_REQUEST'
    | 'ISSUE'
    | 'ORDER'
    | 'REVOKE'
    | 'CRL'
    | 'OCSP'
    | 'SIGNER'
    | 'PROVIDER'
    | 'MAIL'
    | 'EXPIRY'
    | 'RECONCILE'
    | 'PURGE'
  readonly realmId?: string | null | undefined
  readonly policyId?: string | undefined
  readonly requests?: readonly LocatedRequest[]
  readonly state?: string | undefined
}

/** The search attributes of a run. */
export const attributesOf = ({ kind, realmId, policyId, requests = [], state }: RunFacts): SearchAttributePair[] => {
  const [first] = requests
  const ids = requests.slice(0, requestsNamed).map(({ id }) => id)
  const realm = first?.realmId ?? realmId ?? undefined
  const policy = first?.policyId ?? policyId
  return [
    ...(realm === undefined ? [] : [{ key: searchAttributes.realmId, value: realm }]),
    ...(policy === undefined ? [] : [{ key: searchAttributes.policyId, value: policy }]),
    ...(state === undefined ? [] : [{ key: searchAttributes.state, value: state }]),
    { key: searchAttributes.kind, value: kind },
    ...(first === undefined ? [] : [{ key: searchAttributes.requestIds, value: ids }]),
  ]
}
