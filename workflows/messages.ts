// What running workflows can be told. Shared with the API, so it imports nothing but the workflow package.
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { defineSignal, defineUpdate } from '@temporalio/workflow'
import type { CertRequestAction, CertRequestStatus } from '../domain/enums.ts'
import type { Principal } from '../domain/principal.ts'

/** What a decision led to. */
export interface Decided {
  readonly status: CertRequestStatus
  /** The order that waits for this request, if any. */
  readonly orderId: string | null
}

/**
 * What a principal decides. It names its request and itself, so that it serves no other; the members of the principal
 * stand beside these, where workers of versions before 0.2 look for them.
 */
export interface Verdict extends Principal {
  readonly certRequestId: string
  readonly action: CertRequestAction
}

/** An approver approves; refused by the validator when the message or the state does not allow it. */
export const approve = defineUpdate<Decided, [Verdict]>('approve')

/** Somebody declines; refused by the validator when the message or the state does not allow it. */
export const decline = defineUpdate<Decided, [Verdict]>('decline')

/** That an e-mail address was proven by a token, which is named by its hash (SHA-256, hex) alone. */
export interface AddressProof {
  readonly certRequestId: string
  readonly tokenHash: string
}

/** The end entity proves its address; refused by the validator when the message or the state does not allow it. */
export const verifyEmail = defineUpdate<Decided, [AddressProof]>('verifyEmail')

/** Requests of an order were decided, or should be looked at again. */
export const requestsChanged = defineSignal<[string[]]>('requestsChanged')

/** Answers when every certificate of a revocation is confirmed or refused. */
export const confirmed = defineUpdate<void>('confirmed')

/** The plan of a rollover was made, or is gone; answers when what can be done of it now is done. */
export const rolloverChanged = defineUpdate<void>('rolloverChanged')

/** The search attributes of our runs. */
export const searchAttributes = {
  realmId: defineSearchAttributeKey('CertRealmId', SearchAttributeType.KEYWORD),
  policyId: defineSearchAttributeKey('CertPolicyId', SearchAttributeType.KEYWORD),
  state: defineSearchAttributeKey('CertReqState', SearchAttributeType.KEYWORD),
  kind: defineSearchAttributeKey('CertKind', SearchAttributeType.KEYWORD),
  requestIds: defineSearchAttributeKey('CertRequestIds', SearchAttributeType.KEYWORD_LIST),
}
