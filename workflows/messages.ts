// What running workflows can be told. Shared with the API, so it imports nothing but the workflow package.
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { defineSignal, defineUpdate } from '@temporalio/workflow'
import type { CertRequestStatus } from '../domain/enums.ts'
import type { Principal } from '../domain/principal.ts'

/** What a decision led to. */
export interface Decided {
  readonly status: CertRequestStatus
  /** The order that waits for this request, if any. */
  readonly orderId: string | null
}

/** An approver approves; refused by the validator when the state does not allow it. */
export const approve = defineUpdate<Decided, [Principal]>('approve')

/** Somebody declines; refused by the validator when the state does not allow it. */
export const decline = defineUpdate<Decided, [Principal]>('decline')

/** Requests of an order were decided, or should be looked at again. */
export const requestsChanged = defineSignal<[string[]]>('requestsChanged')

/** The search attributes of our runs. */
export const searchAttributes = {
  realmId: defineSearchAttributeKey('CertRealmId', SearchAttributeType.KEYWORD),
  policyId: defineSearchAttributeKey('CertPolicyId', SearchAttributeType.KEYWORD),
  state: defineSearchAttributeKey('CertReqState', SearchAttributeType.KEYWORD),
  kind: defineSearchAttributeKey('CertKind', SearchAttributeType.KEYWORD),
}
