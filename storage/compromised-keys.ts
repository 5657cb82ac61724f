// Keys that are known to others (contract 5.4 check 6): those of certificates that were revoked with KEY_COMPROMISE, and the
// hashes that are left of such certificates when they are deleted (contract 4.5).
import type { EntityManager } from '@mikro-orm/postgresql'
import { anyOf, statement } from './statement.ts'

/**
 * An expression: those of the key hashes of a parameter that were ever revoked with KEY_COMPROMISE, as JSON. It looks in both
 * places at once, so that none is missed while it moves.
 */
export const compromisedAmong = (hashes: `$${number}::text[]`): string =>
  `(select coalesce(json_agg(public_key_hash), '[]') from (
     select public_key_hash from certificate
      where public_key_hash = ${anyOf(hashes)} and revocation_reason = 'KEY_COMPROMISE'
     union select public_key_hash from compromised_key where public_key_hash = ${anyOf(hashes)}) known)`

/** In one order, so that two who keep the same keys wait for each other and not crosswise. */
const keeping = statement(
  `insert into compromised_key (public_key_hash)
   select distinct public_key_hash from certificate
    where id = ${anyOf('$1::uuid[]')} and revocation_reason = 'KEY_COMPROMISE' order by 1
   on conflict do nothing`,
)

/** Remembers which keys of these certificates were compromised, before the certificates are deleted in the same transaction. */
export const keepCompromised = async (em: EntityManager, certificateIds: readonly string[]): Promise<void> => {
  await keeping.all(em, [certificateIds])
}
