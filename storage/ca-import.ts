// CA records that imports bring: kept as the certificates say, and linked to those that they issued.
import type { EntityManager } from '@mikro-orm/postgresql'
import { recordMany } from './audit.ts'
import { caColumns, type CertificateFacts } from './certificate-row.ts'
import { insertRows } from './insert-rows.ts'
import { Ca } from './rows/ca.ts'
import { stampOf } from './rows/stamp.ts'

/** A CA certificate that an import brings. */
export interface NewCa {
  readonly id: string
  readonly filename: string
  readonly issuerCaId: string | null
  readonly certificate: CertificateFacts
}

/** The CAs of one import. */
export interface NewCas {
  readonly cas: readonly NewCa[]
  readonly trusted: boolean
  /** Where they come from, for the audit log: "an imported chain". */
  readonly from: string
}

/** Stores CA records and their events in the caller's transaction. */
export const storeCas = async (em: EntityManager, { cas, trusted, from }: NewCas, now: Date): Promise<void> => {
  const stamp = stampOf(em, now)
  const rows = cas.map(({ id, filename, issuerCaId, certificate }) => ({
    id,
    ...stamp,
    filename,
    ...caColumns(certificate),
    issuerCaId,
    root: certificate.selfSigned,
    trusted,
  }))
  await insertRows(em, Ca, rows)
  const facts = cas.map(({ id, certificate: { subjectDn } }) => ({
    type: 'ENTITY_CREATED' as const,
    objectId: id,
    what: `${trusted ? 'Trusted CA' : 'CA'} record ${subjectDn} of ${from} created`,
  }))
  await recordMany(em, facts, { now })
}

/** A CA whose issuer is not known. */
export interface Orphan {
  readonly id: string
  readonly der: Buffer
}

/** The CAs that name one of these as their issuer and are not linked to any. */
export const findOrphans = (em: EntityManager, subjectDns: readonly string[]): Promise<Orphan[]> =>
  em.execute<Orphan[]>(
    `select id, der from ca where issuer_ca_id is null and not root
       and issuer_dn in (select jsonb_array_elements_text(?::jsonb)) order by id`,
    [JSON.stringify(subjectDns)],
  )

/** Links a CA to the one that issued it. */
export const adopt = async (em: EntityManager, id: string, issuerCaId: string): Promise<void> => {
  await em.execute('update ca set issuer_ca_id = ? where id = ? and issuer_ca_id is null', [issuerCaId, id])
}
