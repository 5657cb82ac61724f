// Many certificate requests at once (contract 6.4 CreateMultipleCertReqRequestDto): a few statements for thousands of rows.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { KeyPairMode, ValidFor } from '../domain/enums.ts'
import { initialStatus } from '../domain/lifecycle.ts'
import type { KeyGenParams } from '../domain/policy-rules.ts'
import { recordMany } from './audit.ts'
import { grantCreator } from './grant.ts'
import { insertRows } from './insert-rows.ts'
import { CertRequest } from './rows/cert-request.ts'
import { archiveInfoOf, metadataOf } from './rows/columns.ts'
import type { EndEntity } from './rows/end-entity.ts'
import type { Policy } from './rows/policy.ts'
import { actor, stampOf } from './rows/stamp.ts'

/** What all the requests ask for: a key that the service makes. */
export interface AlikeRequests {
  readonly policy: Policy
  readonly validFor: ValidFor | null
  readonly keyPairMode: KeyPairMode
  readonly keyGenParams: KeyGenParams | null
  readonly now: Date
}

type RowStamp = ReturnType<typeof stampOf>

const rowOf = ({ id: endEntityId }: EndEntity, { policy, ...asked }: AlikeRequests, stamp: RowStamp) => ({
  id: crypto.randomUUID(),
  ...stamp,
  realmId: policy.realmId,
  policyId: policy.id,
  endEntityId,
  validFor: asked.validFor,
  keyPairMode: asked.keyPairMode,
  keyGenParamsDto: asked.keyGenParams,
  certRequestStatus: initialStatus(policy),
  requiresManualApproval: policy.requiresManualApproval,
  dualControl: policy.dualControl,
  requesterMayApprove: policy.requesterMayApprove,
  userResponses: [],
})

type Row = ReturnType<typeof rowOf>

/** The request as it is read from now on. */
const readOf = (row: Row, { commonName, alias }: EndEntity, { policy }: AlikeRequests) => ({
  ...row,
  policyName: policy.name,
  endEntityCommonName: commonName ?? null,
  endEntityAlias: alias ?? null,
  pkcs10ReqBase64: null,
  publicKeyBase64: null,
  certificateId: null,
  orderId: null,
  emailVerifiedDate: null,
  reference: null,
  archiveInfo: archiveInfoOf({ archived: false }),
  metadata: metadataOf({ ...row, version: 1 }),
  state: {
    status: row.certRequestStatus,
    archived: false,
    creatorId: row.createdBy,
    requiresManualApproval: row.requiresManualApproval,
    dualControl: row.dualControl,
    requesterMayApprove: row.requesterMayApprove,
    approverIds: [],
  },
})

/** Stores a request for each end entity in the running transaction, grants them to their creator and records them. */
export const createCertRequests = async (
  em: EntityManager,
  endEntities: readonly EndEntity[],
  asked: AlikeRequests,
) => {
  const { policy, now } = asked
  const stamp = stampOf(em, now)
  const made = endEntities.map(endEntity => ({ endEntity, row: rowOf(endEntity, asked, stamp) }))
  const rows = made.map(({ row }) => row)
  await insertRows(em, CertRequest, rows)
  await grantCreator(em, actor(em).id, { scope: 'CERT_REQUEST', resourceIds: rows.map(({ id }) => id) })
  const facts = made.map(({ endEntity: { id, commonName, alias }, row }) => ({
    type: 'CERT_REQUEST_CREATED' as const,
    objectId: row.id,
    realmId: policy.realmId,
    what: `Certificate request of ${commonName ?? alias ?? id} under policy ${policy.name} created`,
  }))
  await recordMany(em, facts, { now })
  return made.map(({ endEntity, row }) => readOf(row, endEntity, asked))
}
