// What is deleted with each kind of resource, in which order, and what refuses it (contract 4.5). Texts of statements are
// made of these names alone.
import type { EntitiesEnum } from '../domain/enums.ts'
import { below, type Link, type Refusal } from './archive-kinds.ts'

/** Why resources cannot be deleted: statements that answer those of the ids `$1` for which that is so. */
export const purgeRefusals: Readonly<Record<EntitiesEnum, readonly Refusal[]>> = {
  REALM: [],
  POLICY: [],
  END_ENTITY: [],
  // A request and its certificate go together: both have to be archived.
  CERT_REQUEST: [
    {
      code: 'ENTITY_NOT_ARCHIVED',
      sql: 'select cert_request_id as id from certificate where cert_request_id = any($1::uuid[]) and not archived',
    },
  ],
  CERTIFICATE: [
    {
      code: 'ENTITY_NOT_ARCHIVED',
      sql: `select c.id from certificate c join cert_request r on r.id = c.cert_request_id
             where c.id = any($1::uuid[]) and not r.archived`,
    },
  ],
  CERTIFICATE_PROVIDER: [
    {
      code: 'ENTITY_IN_USE',
      sql: `select certificate_provider_id as id from policy where certificate_provider_id = any($1::uuid[])`,
    },
    {
      // Deleted certificates count as well: their revocations have yet to be told.
      code: 'ENTITY_IN_USE',
      sql: `select p.id from certificate_provider p join ca on ca.certificate_provider_id = p.id
             where p.id = any($1::uuid[]) and p.certificate_provider_type = 'LOCAL'
               and (exists (select from certificate c where c.issuer_ca_id = ca.id and c.valid_not_after >= $2::timestamptz)
                 or exists (select from kept_revocation k where k.issuer_ca_id = ca.id and k.valid_not_after >= $2::timestamptz))`,
      now: true,
    },
  ],
  CA: [
    {
      code: 'ENTITY_IN_USE',
      sql: `select ca.id from ca join certificate_provider p on p.id = ca.certificate_provider_id
             where ca.id = any($1::uuid[]) and p.certificate_provider_type = 'LOCAL'`,
    },
  ],
  MAILING_LIST: [],
}

/** How the requests `r` below resources with the ids `$1` are found; null where a kind has none. */
export const requestsBelow: Readonly<Record<EntitiesEnum, string | null>> = {
  REALM: 'r.realm_id = any($1::uuid[])',
  POLICY: 'r.policy_id = any($1::uuid[])',
  END_ENTITY: 'r.end_entity_id = any($1::uuid[])',
  CERT_REQUEST: 'r.id = any($1::uuid[])',
  CERTIFICATE: 'r.id in (select cert_request_id from certificate where id = any($1::uuid[]))',
  CERTIFICATE_PROVIDER: null,
  CA: null,
  MAILING_LIST: null,
}

/** Whether the resources of a kind are deleted as requests with their certificates. */
export const isLeaf = (kind: EntitiesEnum): boolean => kind === 'CERT_REQUEST' || kind === 'CERTIFICATE'

/** What else goes before a resource, once its requests are gone. */
export const partsBelow = (kind: EntitiesEnum): readonly Link[] =>
  isLeaf(kind) ? [] : below[kind].filter(link => !isLeaf(link.kind))

const dropKeys = (which: string): string =>
  `delete from private_key where id in (select private_key_id from ca where ${which} and private_key_id is not null)`

const dropOcspSigners = (which: string): string =>
  `with gone as (delete from ocsp_signer where ca_id in (select id from ca where ${which}) returning private_key_id)
   delete from private_key where id in (select private_key_id from gone)`

/** What goes in the transaction of the rows with the ids `$1`, before them; foreign keys take the rest along. */
export const goesBefore: Readonly<Partial<Record<EntitiesEnum, readonly string[]>>> = {
  POLICY: [
    'delete from end_entity_password where policy_id = any($1::uuid[])',
    `with gone as (delete from policy_signer where policy_id = any($1::uuid[]) returning private_key_id)
     delete from private_key where id in (select private_key_id from gone)`,
  ],
  END_ENTITY: ['delete from end_entity_password where end_entity_id = any($1::uuid[])'],
  CERTIFICATE_PROVIDER: [
    dropOcspSigners('certificate_provider_id = any($1::uuid[])'),
    dropKeys('certificate_provider_id = any($1::uuid[])'),
  ],
  CA: [
    dropOcspSigners('id = any($1::uuid[])'),
    dropKeys('id = any($1::uuid[])'),
    'update ca set issuer_ca_id = null where issuer_ca_id = any($1::uuid[])',
    'update certificate_provider set issuing_ca_id = null where issuing_ca_id = any($1::uuid[])',
    'update certificate_provider set next_issuing_ca_id = null where next_issuing_ca_id = any($1::uuid[])',
  ],
}

/** A resource that stays and loses its link to what is deleted: a change of its own. */
export interface Unlinking {
  readonly table: string
  readonly label: string
  readonly realm: string
  readonly set: string
  readonly where: string
}

const ofClient = { table: 'api_client', label: `'API client ' || t.name`, realm: 'null::uuid' }

/** What loses its link to the rows with the ids `$1`. */
export const unlinked: Readonly<Partial<Record<EntitiesEnum, Unlinking>>> = {
  REALM: {
    ...ofClient,
    set: `realm_ids = array(select one.id from unnest(t.realm_ids) with ordinality one(id, place)
                             where one.id <> all($1::text[]) order by one.place)`,
    where: 't.realm_ids && $1::text[]',
  },
  POLICY: { ...ofClient, set: 'default_policy_id = null', where: 't.default_policy_id = any($1::text[]::uuid[])' },
  MAILING_LIST: {
    table: 'realm',
    label: `'Realm ' || t.name`,
    realm: 't.id',
    set: 'mailing_list_id = null',
    where: 't.mailing_list_id = any($1::text[]::uuid[])',
  },
}
