// Records that have served: the mails of past events, the tokens of past verifications, SCEP challenges, the names of deleted
// clients, purges, fetched lists, and the revocations of deleted certificates.
import type { EntityManager } from '@mikro-orm/postgresql'
import { leastThisUpdate } from './crls.ts'

/** So long they stay for whoever asks what became of a mail or a link. */
const keptDays = 90
const dayMs = 86_400_000

const statements = [
  'delete from mail_group where id = any(array(select id from mail_group where closed_date < ? order by created_date limit ?))',
  'delete from deleted_client where provider_id = any(array(select provider_id from deleted_client where deleted_date < ? limit ?))',
  'delete from verification_token where hash = any(array(select hash from verification_token where expires_date < ? limit ?))',
  // Complete lists that were made after the end of a certificate have told it.
  `delete from kept_revocation where (issuer_ca_id, serial_number) in
    (select issuer_ca_id, serial_number from kept_revocation k where valid_not_after < ? and valid_not_after < coalesce(
       (${leastThisUpdate('k.issuer_ca_id', 'k.crl_partition')}), 'infinity') limit ?)`,
  'delete from purge where id = any(array(select id from purge where closed_date < ? limit ?))',
  'delete from scep_challenge where hash = any(array(select hash from scep_challenge where expires_date < ? limit ?))',
  'delete from fetched_crl where (ca_id, url) in (select ca_id, url from fetched_crl where fetched_date < ? limit ?)',
] as const

/** Removes so many old records of each kind at most, and answers whether there may be more. */
export const removeOldRecords = async (em: EntityManager, now: Date, atMost: number): Promise<boolean> => {
  const before = new Date(now.getTime() - keptDays * dayMs)
  let more = false
  for (const statement of statements) {
    const { affectedRows } = await em.execute<{ affectedRows: number }>(statement, [before, atMost], 'run')
    more ||= affectedRows >= atMost
  }
  return more
}
