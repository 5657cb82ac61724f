// Recording that certificates expired (contract 4.3, 11.1): the state itself is computed on every read.
import type { EntityManager } from '@mikro-orm/postgresql'
import { system } from '../domain/principal.ts'
import { recordMany, type Fact } from './audit.ts'

interface Expired {
  readonly id: string
  readonly realm_id: string
  readonly name: string
  readonly valid_not_after: Date | string
}

const factOf = ({ id, realm_id: realmId, name, valid_not_after: end }: Expired): Fact => ({
  type: 'CERTIFICATE_EXPIRED',
  objectId: id,
  realmId,
  certificateId: id,
  what: `Certificate ${name} expired on ${new Date(end).toISOString()}, recorded`,
})

// The list is made once, before the rows change. What another transaction holds is left for the next look: it may be
// revoking the certificate, or recording the same.
const markExpired = (em: EntityManager, now: Date, atMost: number): Promise<Expired[]> =>
  em.execute<Expired[]>(
    `update certificate set expiry_recorded = true
      where id = any(array(
        select id from certificate
         where not expiry_recorded and revocation_date is null and valid_not_after < ?
         order by valid_not_after limit ? for update skip locked))
      returning id, realm_id, coalesce(nullif(subject_dn, ''), serial_number) as name, valid_not_after`,
    [now, atMost],
  )

/** Records the expiry of so many certificates at most, in one transaction, and answers of how many. */
export const recordExpired = (em: EntityManager, now: Date, atMost: number): Promise<number> =>
  em.transactional(async tx => {
    const expired = await markExpired(tx, now, atMost)
    await recordMany(tx, expired.map(factOf), { now, author: system })
    return expired.length
  })
