// Certificates, issued here or imported, with the columns that they are searched by.
import { defineEntity, p, type Opt } from '@mikro-orm/postgresql'
import type { SubjectAlternativeName } from '../../domain/address.ts'
import { CryptoAlgorithm, KeyPairMode, RevocationReason, valuesOf } from '../../domain/enums.ts'
import type { Place } from '../../domain/permissions.ts'
import { Ca } from './ca.ts'
import { CertRequest } from './cert-request.ts'
import { parentColumns } from './parent-columns.ts'
import { PrivateKey } from './private-key.ts'
import { archivable, archiveInfoOf, audited, metadataOf, none, type ArchiveInfo, type Metadata } from './columns.ts'
import { generatedKey, generatedText, newestFirst, trigrams } from './search-columns.ts'

const schema = defineEntity({
  name: 'Certificate',
  tableName: 'certificate',
  properties: {
    ...audited,
    ...archivable,
    ...parentColumns,
    /** The user whose RA certificate it is or was, where its end entity stands for one: rights hang on that. */
    raUserId: p
      .uuid()
      .formula(cols => `(select user_id from end_entity where id = ${cols['endEntityId']})`)
      .$type<(string | null) & Opt>(),
    certRequestId: () => p.oneToOne(CertRequest).mapToPk().fieldName('cert_request_id').owner(),
    issuerCaId: () => p.manyToOne(Ca).mapToPk().fieldName('issuer_ca_id').nullable(),
    privateKeyId: () => p.manyToOne(PrivateKey).mapToPk().fieldName('private_key_id').nullable(),
    /** The certificate, DER. */
    der: p.blob().$type<Buffer>(),
    serialNumber: p.string().length(40),
    fingerprint: p.string().length(64),
    subjectDn: p.text(),
    subjectCommonName: p.text().nullable().onCreate(none),
    issuerDn: p.text(),
    issuerCommonName: p.text().nullable().onCreate(none),
    validNotBefore: p.datetime(3),
    validNotAfter: p.datetime(3),
    certPublicKeyAlgorithm: p.enum(valuesOf(CryptoAlgorithm)).$type<CryptoAlgorithm>(),
    certPublicKeySize: p.integer().nullable().onCreate(none),
    /** SHA-256 of the SubjectPublicKeyInfo, hex: finds every certificate of a key. */
    publicKeyHash: p.string().length(64).index(),
    namedCurve: p.string().length(32).nullable().onCreate(none),
    signatureAlgorithm: p.string().length(64),
    subjectAlternativeNames: p.json<SubjectAlternativeName[]>(),
    keyUsages: p.array(),
    extendedKeyUsages: p.array(),
    crlDistributionPoints: p.array(),
    ocspUrls: p.array(),
    keyPairMode: p.enum(valuesOf(KeyPairMode)).$type<KeyPairMode>(),
    revocationReason: p.enum(valuesOf(RevocationReason)).$type<RevocationReason>().nullable().onCreate(none),
    revocationDate: p.datetime(3).nullable().onCreate(none),
    /** The run that revokes, holds or releases it right now: at most one (contract 4.3), and since when. */
    revocationRunId: p.string().length(100).nullable().onCreate(none),
    revocationRequestedDate: p.datetime(3).nullable().onCreate(none),
    /** Whether the CRL of its CA has yet to tell what was recorded, and the first CRL that told it. */
    crlPending: p.boolean().default(false),
    revocationCrlNumber: p.bigint('number').nullable().onCreate(none),
    /** The partition that its distribution point names; null where it names the list of all. It never changes. */
    crlPartition: p.integer().nullable().onCreate(none).hidden(),
    imported: p.boolean().default(false),
    /** Whether its expiry is in the audit log, or happened before it was imported (contract 4.3). */
    expiryRecorded: p.boolean().default(false).hidden(),
    selfSigned: p.boolean().default(false),
    searchText: generatedText('certificate_text', ['subject_dn', 'subject_common_name', 'subject_alternative_names']),
    issuerKey: generatedKey('issuer_dn'),
  },
  uniques: [{ name: 'certificate_fingerprint', properties: ['fingerprint'] }],
  indexes: [
    { name: 'certificate_serial_number', properties: ['serialNumber'] },
    {
      name: 'certificate_expiry',
      // Beside the list of what expires soon it serves the statistics of a realm, which read no row.
      expression:
        'create index certificate_expiry on certificate (realm_id, archived, valid_not_after) include (revocation_date, revocation_reason, policy_id, issuer_key, cert_public_key_algorithm, imported, valid_not_before, created_date)',
    },
    {
      name: 'certificate_newest',
      // The last columns tell the status, so that a search for one steps over the others within the index.
      expression:
        'create index certificate_newest on certificate (archived, created_date desc, id, valid_not_after, revocation_date)',
    },
    { name: 'certificate_realm', expression: newestFirst('certificate_realm', 'certificate', 'realm_id') },
    { name: 'certificate_policy', expression: newestFirst('certificate_policy', 'certificate', 'policy_id') },
    {
      name: 'certificate_search',
      expression: trigrams('certificate_search', 'certificate', "(serial_number || ' ' || fingerprint)"),
    },
    {
      name: 'certificate_private_key',
      expression:
        'create index certificate_private_key on certificate (private_key_id) where private_key_id is not null',
    },
    { name: 'certificate_issuer_ca', properties: ['issuerCaId', 'archived'] },
    { name: 'certificate_issuer', properties: ['issuerKey', 'archived'] },
    { name: 'certificate_start', properties: ['archived', 'validNotBefore'] },
    { name: 'certificate_end', properties: ['archived', 'validNotAfter', 'revocationDate'] },
    { name: 'certificate_key', properties: ['archived', 'certPublicKeyAlgorithm', 'keyPairMode'] },
    {
      name: 'certificate_revoked',
      expression:
        'create index certificate_revoked on certificate (archived, revocation_reason, created_date desc, id) where revocation_date is not null',
    },
    {
      name: 'certificate_expiring',
      expression:
        'create index certificate_expiring on certificate (valid_not_after) where not expiry_recorded and revocation_date is null',
    },
    {
      name: 'certificate_crl',
      // Everything that an entry of a CRL needs stands in the index.
      expression:
        'create index certificate_crl on certificate (issuer_ca_id, valid_not_after) include (serial_number, revocation_date, revocation_reason) where revocation_date is not null and not imported',
    },
    {
      name: 'certificate_crl_partition',
      // The same for the CRL of a partition.
      expression:
        'create index certificate_crl_partition on certificate (issuer_ca_id, crl_partition, valid_not_after) include (serial_number, revocation_date, revocation_reason) where crl_partition is not null and revocation_date is not null and not imported',
    },
    {
      name: 'certificate_crl_pending',
      expression: 'create index certificate_crl_pending on certificate (issuer_ca_id) where crl_pending',
    },
  ],
})

/** A certificate, issued inside one realm. */
export class Certificate extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
  get hasPrivateKey(): boolean & Opt {
    return this.privateKeyId !== null && this.privateKeyId !== undefined
  }
  get place(): Place & Opt {
    return {
      REALM: this.realmId,
      POLICY: this.policyId,
      CERTIFICATE: this.id,
      PRINCIPAL: this.raUserId ?? undefined,
      creatorId: this.createdBy ?? null,
    }
  }
}
schema.setClass(Certificate)
