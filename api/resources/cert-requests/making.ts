// One certificate request as a body asks for it, stored with what it is in need of.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Asked } from '../../../authority/request-case.ts'
import { initialStatus } from '../../../domain/lifecycle.ts'
import type { KeyGenParams } from '../../../domain/policy-rules.ts'
import { withoutSecrets } from '../../../pki/pkcs10-redaction.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { storeNew } from '../../../storage/store-new.ts'
import type { CreateCertReqRequest } from './dtos.ts'
import { askForProof, unproven, type Asking } from './waiting.ts'

const bytesOf = (given: Uint8Array | null | undefined): Buffer | null => (given ? Buffer.from(given) : null)

/** The members of a body that say which key for how long. */
export type KeyWish = Pick<
  CreateCertReqRequest,
  'validFor' | 'keyPairMode' | 'keyGenParamsDto' | 'pkcs10ReqBase64' | 'publicKeyBase64'
>

/** What a body asks for; which key sizes there are is for the rules to say (CRYPTO_RESTRICTION_VIOLATION). */
export const askedIn = (
  { validFor, keyPairMode, keyGenParamsDto, ...given }: KeyWish,
  { policy, endEntity }: Pick<Asked, 'policy' | 'endEntity'>,
): Asked => ({
  policy,
  endEntity,
  validFor,
  keyPairMode,
  keyGenParams: keyGenParamsDto as KeyGenParams | null,
  pkcs10: bytesOf(given.pkcs10ReqBase64),
  publicKey: bytesOf(given.publicKeyBase64),
})

interface Named {
  readonly reference: string | null
  readonly idempotencyKey: string | null
}

const storeRequest = (
  em: EntityManager,
  { policy, endEntity, ...asked }: Asked,
  { named, now }: { readonly named: Named; readonly now: Date },
): Promise<CertRequest> => {
  const { realmId, requiresManualApproval, dualControl, requesterMayApprove } = policy
  const label = endEntity.commonName ?? endEntity.alias ?? endEntity.id
  return storeNew(em, {
    entity: CertRequest,
    data: {
      realmId,
      policyId: policy.id,
      endEntityId: endEntity.id,
      validFor: asked.validFor,
      keyPairMode: asked.keyPairMode,
      keyGenParamsDto: asked.keyGenParams,
      pkcs10: asked.pkcs10 && withoutSecrets(asked.pkcs10),
      publicKey: asked.publicKey,
      certRequestStatus: initialStatus(policy),
      requiresManualApproval,
      dualControl,
      requesterMayApprove,
      userResponses: [],
      reference: named.reference,
      idempotencyKey: named.idempotencyKey,
    },
    scope: 'CERT_REQUEST',
    fact: ({ id }) => {
      const what = `Certificate request of ${label} under policy ${policy.name} created`
      return { type: 'CERT_REQUEST_CREATED', objectId: id, realmId, what }
    },
    now,
  })
}

/** Stores a request, and with it the mail that asks for a proof of the address where its policy wants one. */
export const storeAsked = async (
  em: EntityManager,
  asked: Asked,
  { named, ...asking }: Asking & { readonly named: Named },
) => {
  const storing = { named, now: asking.clock() }
  if (initialStatus(asked.policy) !== 'REQUIRES_EMAIL_VERIFICATION')
    return { request: await storeRequest(em, asked, storing), groups: [] }
  return em.transactional(async transaction => {
    const request = await storeRequest(transaction, asked, storing)
    return { request, groups: await askForProof(transaction, unproven([request], [asked.endEntity]), asking) }
  })
}
