// Deleting certificate requests with their certificates (contract 4.5), set by set in the caller's transaction: what a
// revocation list has yet to tell stays, and so do the hashes of compromised keys; all else that hangs on them goes.
import type { EntityManager } from '@mikro-orm/postgresql'
import { recordEach, run } from './archiving.ts'
import { keepCompromised } from './compromised-keys.ts'
import { leastThisUpdate } from './crls.ts'

const ids = '$1::uuid[]'
const theirs = `cert_request_id = any(${ids})`

const lockingRequests = `with locked as (select id from cert_request where id = any(${ids}) order by id for update)
  select id from locked`
const lockingCertificates = `with locked as (select id from certificate where ${theirs} order by id for update)
  select id from locked`
const lockingOrders = `with locked as (select id from certificate_order
    where id in (select order_id from order_item where ${theirs}) order by id for update)
  select id from locked`

/**
 * A list names a certificate until one that was made after its end: what had not expired when the latest of the complete lists
 * that name it was made has yet to stand in the next. Held ones are revoked as well.
 */
const keeping = `insert into kept_revocation
    (issuer_ca_id, serial_number, valid_not_after, revocation_date, revocation_reason, crl_partition, crl_pending)
  select c.issuer_ca_id, c.serial_number, c.valid_not_after, c.revocation_date, c.revocation_reason, c.crl_partition, c.crl_pending
    from certificate c join ca on ca.id = c.issuer_ca_id and ca.private_key_id is not null
    left join lateral (${leastThisUpdate('ca.id', 'c.crl_partition')}) last on true
   where c.${theirs} and c.revocation_date is not null and not c.imported
     and c.valid_not_after >= least($2::timestamptz, last.this_update)
  on conflict do nothing`

/**
 * What a spent challenge was good for again and again is gone: the same message would make another request. It stays known as a
 * challenge, so that a device that goes on sending it guesses no password.
 */
const endingChallenges = `update scep_challenge s set spent_on = null from cert_request r
  where r.id = any(${ids}) and s.end_entity_id = r.end_entity_id and s.policy_id = r.policy_id and s.spent_date is not null`

const droppingGrants = `delete from permission_grant where resource_id = any(${ids})`
const droppingSigners = `delete from policy_signer where certificate_id = any(${ids}) returning private_key_id as id`
const droppingCertificates = `with gone as (delete from certificate where id = any(${ids}) returning private_key_id as id)
  select id from gone where id is not null`
const droppingKeys = `delete from private_key where id = any(${ids})`
const droppingRequests = `delete from cert_request where id = any(${ids})`

/** An order goes with the last of its requests; one whose run has yet to end goes then (activities/orders.ts). */
const droppingOrders = `delete from certificate_order where id = any($1::text[]) and closed_date is not null
  and not exists (select from order_item where order_id = certificate_order.id)`

/** Keeps requests from changing, before anything that hangs above them is locked; answers those that are there. */
export const lockRequests = (em: EntityManager, requestIds: readonly string[]): Promise<string[]> =>
  run(em, lockingRequests, [requestIds])

/** Why something is deleted, in the words of its event, and when. */
export interface Deletion {
  readonly what: string
  readonly now: Date
}

/** Deletes requests that are locked, with their certificates; answers how many of each there were. */
export const deleteRequests = async (
  em: EntityManager,
  requestIds: readonly string[],
  { what, now }: Deletion,
): Promise<{ requests: number; certificates: number }> => {
  const certificateIds = await run(em, lockingCertificates, [requestIds])
  const orderIds = await run(em, lockingOrders, [requestIds])
  await run(em, keeping, [requestIds, now])
  await keepCompromised(em, certificateIds)
  const step = { which: `t.id = any(${ids})`, type: 'ENTITY_DELETED', what }
  await recordEach(em, { ids: certificateIds, now }, { ...step, kind: 'CERTIFICATE' })
  await recordEach(em, { ids: requestIds, now }, { ...step, kind: 'CERT_REQUEST' })
  await run(em, endingChallenges, [requestIds])
  await run(em, droppingGrants, [[...requestIds, ...certificateIds]])
  const ofSigners = await run(em, droppingSigners, [certificateIds])
  const ofCertificates = await run(em, droppingCertificates, [certificateIds])
  await run(em, droppingKeys, [[...ofSigners, ...ofCertificates]])
  await run(em, droppingRequests, [requestIds])
  await run(em, droppingOrders, [orderIds])
  return { requests: requestIds.length, certificates: certificateIds.length }
}
