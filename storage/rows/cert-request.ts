// Certificate requests, with their state and the run that issues them (contract 4.1, 4.2).
import { defineEntity, p, type Opt, type OptionalProps } from '@mikro-orm/postgresql'
import { CertRequestStatus, KeyPairMode, ValidFor, valuesOf } from '../../domain/enums.ts'
import type { KeyGenParams } from '../../domain/policy-rules.ts'
import type { RequestState, UserResponse } from '../../domain/lifecycle.ts'
import type { Place } from '../../domain/permissions.ts'
import { parentColumns } from './parent-columns.ts'
import { archivable, archiveInfoOf, audited, metadataOf, none, type ArchiveInfo, type Metadata } from './columns.ts'
import { newestFirst } from './search-columns.ts'

const schema = defineEntity({
  name: 'CertRequest',
  tableName: 'cert_request',
  properties: {
    ...audited,
    ...archivable,
    ...parentColumns,
    validFor: p.enum(valuesOf(ValidFor)).$type<ValidFor>().nullable().onCreate(none),
    keyPairMode: p.enum(valuesOf(KeyPairMode)).$type<KeyPairMode>(),
    keyGenParamsDto: p.json<KeyGenParams | null>().nullable().onCreate(none),
    /** PKCS#10 request, DER, without the secrets that it carried (contract 5.4). */
    pkcs10: p.blob().$type<Buffer>().nullable().onCreate(none),
    /** SubjectPublicKeyInfo of a PUBLIC_KEY request, DER. */
    publicKey: p.blob().$type<Buffer>().nullable().onCreate(none),
    certRequestStatus: p.enum(valuesOf(CertRequestStatus)).$type<CertRequestStatus>(),
    requiresManualApproval: p.boolean(),
    dualControl: p.boolean(),
    requesterMayApprove: p.boolean(),
    userResponses: p.json<UserResponse[]>(),
    emailVerifiedDate: p.datetime(3).nullable().onCreate(none),
    certificateId: p.uuid().nullable().onCreate(none),
    /** The workflow that issues it right now: at most one (contract 4.2). */
    runId: p.string().length(100).nullable().onCreate(none).index(),
    runSince: p.datetime(3).nullable().onCreate(none),
    /** The caller's own name for it, by which its requests are found; and the key under which it makes one only once. */
    reference: p.string().length(128).nullable().onCreate(none),
    idempotencyKey: p.string().length(128).nullable().onCreate(none),
    /** Whether the certificate is there but no synchronous call has delivered it yet (contract 4.2). */
    undelivered: p.boolean().default(false),
  },
  indexes: [
    { name: 'cert_request_realm', expression: newestFirst('cert_request_realm', 'cert_request', 'realm_id') },
    { name: 'cert_request_policy', expression: newestFirst('cert_request_policy', 'cert_request', 'policy_id') },
    {
      name: 'cert_request_reference',
      expression: `create index cert_request_reference on cert_request (realm_id, reference, created_date desc) where reference is not null`,
    },
    {
      name: 'cert_request_idempotency',
      expression: `create unique index cert_request_idempotency on cert_request (created_by, idempotency_key) where idempotency_key is not null`,
    },
    {
      name: 'cert_request_open',
      expression: `create index cert_request_open on cert_request (realm_id, created_date desc) where cert_request_status in ('PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION')`,
    },
  ],
})

/** The parameters of one certificate, bound to one policy and one end entity. */
export class CertRequest extends schema.class {
  declare [OptionalProps]?: 'orderId' | 'pkcs10ReqBase64' | 'publicKeyBase64' | 'state'

  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
  get place(): Place & Opt {
    return {
      REALM: this.realmId,
      POLICY: this.policyId,
      CERT_REQUEST: this.id,
      creatorId: this.createdBy ?? null,
    }
  }
  /** What its life cycle depends on. */
  get state(): RequestState {
    return {
      status: this.certRequestStatus,
      archived: this.archived,
      creatorId: this.createdBy ?? null,
      requiresManualApproval: this.requiresManualApproval,
      dualControl: this.dualControl,
      requesterMayApprove: this.requesterMayApprove,
      approverIds: this.userResponses.filter(({ action }) => action === 'APPROVE').map(({ userId }) => userId),
    }
  }
  get pkcs10ReqBase64(): Buffer | null {
    return this.pkcs10 ?? null
  }
  get publicKeyBase64(): Buffer | null {
    return this.publicKey ?? null
  }
  /** How people recognise it in sentences: by the end entity. */
  get label(): string & Opt {
    return this.endEntityCommonName ?? this.endEntityAlias ?? this.endEntityId
  }
  /** The running order, which is a run of the asynchronous kind. */
  get orderId(): string | null {
    return this.runId?.startsWith('order-') ? this.runId : null
  }
}
schema.setClass(CertRequest)
