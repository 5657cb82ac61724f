// What certificate imports ask the records: which certificates and CAs are known, in one query for all (contract 10.4).
import type { EntityManager } from '@mikro-orm/postgresql'

/** Where a certificate is known already. */
export interface KnownCertificate {
  readonly id: string
  readonly realmId: string
}

/** Those of the fingerprints that are known in any realm. */
export const findKnownCertificates = async (
  em: EntityManager,
  fingerprints: readonly string[],
): Promise<ReadonlyMap<string, KnownCertificate>> => {
  const rows = await em.execute<{ id: string; realm_id: string; fingerprint: string }[]>(
    'select id, realm_id, fingerprint from certificate where fingerprint = any(?::text[])',
    [`{${fingerprints.join(',')}}`],
  )
  return new Map(rows.map(({ id, realm_id: realmId, fingerprint }) => [fingerprint, { id, realmId }]))
}

/** A CA record as an import looks at it. */
export interface CaRecord {
  readonly id: string
  readonly der: Buffer
  /** Whether the service answers for it: it is trusted or belongs to a provider. */
  readonly vouchedFor: boolean
}

/**
 * The CA records with one of these names, those that the service answers for first, and of these also such as bear one of them
 * in another case or with other white space; archived ones have issued as well.
 */
export const findCasNamed = async (em: EntityManager, subjectDns: readonly string[]): Promise<CaRecord[]> => {
  const rows = await em.execute<{ id: string; der: Buffer; vouched: boolean }[]>(
    `with wanted as materialized (select distinct jsonb_array_elements_text(?::jsonb) as dn),
       compared as materialized (select distinct comparable(dn) as name from wanted),
       found as (
         select id from ca where subject_dn in (select dn from wanted)
         union
         select ca.id from compared join ca on text_key(comparable(ca.subject_dn)) = text_key(compared.name)
            and comparable(ca.subject_dn) = compared.name and not ca.archived
          where ca.trusted or ca.certificate_provider_id is not null)
     select id, der, trusted or certificate_provider_id is not null as vouched from ca
      where id in (select id from found) order by vouched desc, created_date, id`,
    [JSON.stringify(subjectDns)],
  )
  return rows.map(({ id, der, vouched }) => ({ id, der, vouchedFor: vouched }))
}

/** The ids of the CA records with these fingerprints. */
export const findCaIds = async (
  em: EntityManager,
  fingerprints: Iterable<string>,
): Promise<ReadonlyMap<string, string>> => {
  const rows = await em.execute<{ id: string; fingerprint: string }[]>(
    'select id, fingerprint from ca where fingerprint = any(?::text[])',
    [`{${[...fingerprints].join(',')}}`],
  )
  return new Map(rows.map(({ id, fingerprint }) => [fingerprint, id]))
}
