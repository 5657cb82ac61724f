// Certificate authorities: those of LOCAL providers, and those that imported chains brought along.
import { defineEntity, p, type Opt } from '@mikro-orm/postgresql'
import { CryptoAlgorithm, valuesOf } from '../../domain/enums.ts'
import { CertificateProvider } from './certificate-provider.ts'
import { PrivateKey } from './private-key.ts'
import { archivable, archiveInfoOf, audited, metadataOf, none, type ArchiveInfo, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'Ca',
  tableName: 'ca',
  properties: {
    ...audited,
    ...archivable,
    name: p.string().length(255).nullable().onCreate(none),
    filename: p.string().length(255),
    subjectDn: p.text(),
    subjectCommonName: p.text().nullable().onCreate(none),
    issuerDn: p.text(),
    issuerCommonName: p.text().nullable().onCreate(none),
    serialNumber: p.string().length(40),
    fingerprint: p.string().length(64).unique(),
    validNotBefore: p.datetime(3),
    validNotAfter: p.datetime(3),
    publicKeyAlgorithm: p.enum(valuesOf(CryptoAlgorithm)).$type<CryptoAlgorithm>(),
    issuerCaId: p.uuid().nullable().onCreate(none).index(),
    root: p.boolean(),
    trusted: p.boolean(),
    certificateProviderId: () =>
      p.manyToOne(CertificateProvider).mapToPk().fieldName('certificate_provider_id').nullable().index(),
    /** When another CA took over from it; it goes on telling of what it issued. */
    succeededDate: p.datetime(3).nullable().onCreate(none),
    privateKeyId: () => p.manyToOne(PrivateKey).mapToPk().fieldName('private_key_id').nullable().index(),
    /** The CA certificate, DER. */
    der: p.blob().$type<Buffer>(),
  },
  indexes: [
    {
      name: 'ca_name',
      // Found as certificates name their issuer; a name may be longer than an index takes.
      expression:
        'create index ca_name on ca (text_key(comparable(subject_dn)), trusted desc, created_date, id) where not archived',
    },
  ],
})

/** A certificate authority that the service knows; LOCAL providers hold the sealed key as well. */
export class Ca extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo & Opt {
    return archiveInfoOf(this)
  }
}
schema.setClass(Ca)
