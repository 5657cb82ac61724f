// Certificate providers and their configuration.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { CertificateProviderType, ConnectionStatus, valuesOf } from '../../domain/enums.ts'
import type { PlannedRollover } from '../../domain/rollover-rules.ts'
import { archivable, archiveInfoOf, audited, metadataOf, none, type ArchiveInfo, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'CertificateProvider',
  tableName: 'certificate_provider',
  properties: {
    ...audited,
    ...archivable,
    name: p.string().length(255),
    certificateProviderType: p.enum(valuesOf(CertificateProviderType)).$type<CertificateProviderType>(),
    /** The members of the configuration that are no secrets. */
    settings: p.json<Record<string, unknown>>(),
    /** The names of the secret members that are set; their values are sealed apart, for this provider (storage/key-uses.ts). */
    secretNames: p.array().default([]),
    sealedSecrets: p.blob().nullable().onCreate(none).lazy(),
    connectionStatus: p.enum(valuesOf(ConnectionStatus)).$type<ConnectionStatus>().default('UNKNOWN'),
    lastCheckedDate: p.datetime(3).nullable().onCreate(none),
    /** When what it needs before it can issue could not be made, for a reason that stays. */
    preparationFailedDate: p.datetime(3).nullable().onCreate(none),
    /** The CA that issues for this provider (LOCAL), once its keys are made. */
    issuingCaId: p.uuid().nullable().onCreate(none),
    /** The CA that takes over from it, once its keys are made; and what it is made from. */
    nextIssuingCaId: p.uuid().nullable().onCreate(none),
    rollover: p.json<PlannedRollover>().nullable().onCreate(none),
    systemProvider: p.boolean().default(false),
  },
  uniques: [
    {
      name: 'certificate_provider_name',
      expression:
        'create unique index certificate_provider_name on certificate_provider (comparable(name)) where not archived',
    },
  ],
})

/** A backend that issues certificates for policies. */
export class CertificateProvider extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
}
schema.setClass(CertificateProvider)
