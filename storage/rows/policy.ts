// Policies: what certificates may be issued under, and how.
import { defineEntity, p, type Opt } from '@mikro-orm/postgresql'
import { EndEntityStrategy, valuesOf, type KeyPairMode, type ValidFor } from '../../domain/enums.ts'
import type { Place } from '../../domain/permissions.ts'
import type {
  CmpPolicyConfiguration,
  CryptoRestrictions,
  EndEntityRule,
  ScepPolicyConfiguration,
} from '../../domain/policy-rules.ts'
import { CertificateProvider } from './certificate-provider.ts'
import { Realm } from './realm.ts'
import { archivable, archiveInfoOf, audited, metadataOf, none, type ArchiveInfo, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'Policy',
  tableName: 'policy',
  properties: {
    ...audited,
    ...archivable,
    realmId: () => p.manyToOne(Realm).mapToPk().fieldName('realm_id').index(),
    realmName: p
      .string()
      .formula(cols => `(select name from realm where id = ${cols['realmId']})`)
      .$type<string & Opt>(),
    certificateProviderId: () =>
      p.manyToOne(CertificateProvider).mapToPk().fieldName('certificate_provider_id').index(),
    certificateProviderName: p
      .string()
      .formula(cols => `(select name from certificate_provider where id = ${cols['certificateProviderId']})`)
      .$type<string & Opt>(),
    name: p.string().length(255),
    description: p.string().length(1000).nullable().onCreate(none),
    certificateProviderConfiguration: p.text(),
    requiresManualApproval: p.boolean().default(false),
    dualControl: p.boolean().default(false),
    requesterMayApprove: p.boolean().default(true),
    requiresEmailVerification: p.boolean().default(false),
    allowedKeyPairModes: p.array().$type<KeyPairMode[]>(),
    allowedValidForValues: p.array().$type<ValidFor[]>(),
    cryptoRestrictions: p.json<CryptoRestrictions>(),
    endEntityStrategy: p.enum(valuesOf(EndEntityStrategy)).$type<EndEntityStrategy>(),
    endEntityRules: p.json<EndEntityRule[]>(),
    certificateImportAllowed: p.boolean().default(false),
    selfSignedAllowed: p.boolean().default(false),
    wildcardAllowed: p.boolean().default(false),
    enforceActiveCertUniqueness: p.boolean().default(false),
    renewalWindowDays: p.integer().nullable().onCreate(none),
    cmpConfiguration: p.json<CmpPolicyConfiguration | null>().nullable().onCreate(none),
    scepConfiguration: p.json<ScepPolicyConfiguration | null>().nullable().onCreate(none),
    systemPolicy: p.boolean().default(false),
  },
  uniques: [
    {
      name: 'policy_name',
      expression: 'create unique index policy_name on policy (realm_id, comparable(name)) where not archived',
    },
  ],
})

/** Rules on how certificates are created: the provider, the template, and every restriction. */
export class Policy extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
  get place(): Place & Opt {
    return { REALM: this.realmId, POLICY: this.id }
  }
}
schema.setClass(Policy)
