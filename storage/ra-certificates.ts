// RA certificates: the one that each user has, the end entity of the system realm that it is issued for, and what becomes
// of the one before (contract 6.7, 12).
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { SecurityIdentityType } from '../domain/enums.ts'
import { nameOf, type EndEntityFields } from '../domain/end-entity-rules.ts'
import { Failure } from '../domain/failure.ts'
import { placeRevocationIn } from './revocations.ts'
import { Certificate } from './rows/certificate.ts'
import { EndEntity } from './rows/end-entity.ts'
import type { User } from './rows/user.ts'
import { statement } from './statement.ts'
import { storeNew } from './store-new.ts'

/** The RA certificate of a user, else RA_CERTIFICATE_NOT_FOUND. */
export const raCertificateOf = async (em: EntityManager, { raCertificateId }: User): Promise<Certificate> => {
  const certificate = raCertificateId ? await em.findOne(Certificate, raCertificateId) : null
  if (!certificate) throw new Failure('RA_CERTIFICATE_NOT_FOUND')
  return certificate
}

const names = [
  'commonName',
  'organization',
  'organizationalUnit',
  'country',
  'externalId',
  'email',
  'domains',
  'ips',
  'genericDtoList',
] as const satisfies readonly (keyof EndEntityFields)[]

const namesOf = (fields: EndEntityFields) => names.map(name => fields[name])

/**
 * The end entity that stands for a user under these names: the one that is there, else a new one, since names do not change
 * (contract 5.2). Nobody is granted anything on it: rights are those on the user. Needs the lock RA_CERTIFICATE of the user.
 */
export const endEntityOf = async (
  em: EntityManager,
  { id: userId }: User,
  { realmId, fields, now }: { readonly realmId: string; readonly fields: EndEntityFields; readonly now: Date },
): Promise<EndEntity> => {
  const wanted = namesOf(fields)
  const all = await em.find(
    EndEntity,
    { userId, realmId, archived: false },
    { orderBy: { createdDate: 'desc', id: 'asc' } },
  )
  const same = all.find(one => isDeepStrictEqual(namesOf(one.fields), wanted))
  if (same) return same
  const what = `End entity ${nameOf(fields)} created for the RA certificates of user ${userId}`
  return storeNew(em, {
    entity: EndEntity,
    data: { realmId, userId, ...fields },
    fact: ({ id }) => ({ type: 'ENTITY_CREATED', objectId: id, realmId, what }),
    now,
  })
}

/** A certificate that was issued for a user. */
export interface NewRaCertificate {
  readonly userId: string
  readonly requestId: string
  readonly certificateId: string
  /** Who asked for it. */
  readonly by: { readonly createdBy?: string | null | undefined; readonly createdByType: SecurityIdentityType }
  /** The run that is to revoke the one before, where that is wished. */
  readonly revocationId: string
}

/** A certificate before it, as the run that revokes it is found by. */
interface Previous {
  readonly certificateId: string
  /** The request that it was issued for. */
  readonly id: string
  readonly realmId: string
  readonly policyId: string
  readonly policyName: string
}

// Of several that are issued at once for one user the last of the list is kept.
const taking = statement<Previous & { readonly requestId: string }>(
  `with issued as (select distinct on (user_id) user_id, request_id, certificate_id
       from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality as given(user_id, request_id, certificate_id, position)
      order by user_id, position desc),
    before as (select u.id, u.ra_certificate_id, u.superseding_request_id from app_user u join issued i on i.user_id = u.id
      order by u.id for update of u),
    taken as (update app_user u set ra_certificate_id = i.certificate_id,
        superseding_request_id = nullif(b.superseding_request_id, i.request_id)
      from before b join issued i on i.user_id = b.id where u.id = b.id
      returning i.request_id, b.ra_certificate_id, b.superseding_request_id)
   select t.request_id as "requestId", c.id as "certificateId", c.cert_request_id as id, c.realm_id as "realmId",
       c.policy_id as "policyId", p.name as "policyName"
     from taken t join certificate c on c.id = t.ra_certificate_id join policy p on p.id = c.policy_id
    where t.superseding_request_id = t.request_id and c.revocation_date is null and not c.archived
      and c.valid_not_after > $4`,
)

/** A revocation that was asked for: its run, and what that is found by. */
export interface AskedRevocation {
  readonly id: string
  readonly count: number
  readonly requests: readonly Previous[]
}

/**
 * Makes certificates the RA certificates of their users, in the transaction that stores them, and asks for the revocation
 * of those before (SUPERSEDED) where that was wished; answers what is to be started then.
 */
export const takeRaCertificates = async (
  em: EntityManager,
  issued: readonly NewRaCertificate[],
  now: Date,
): Promise<AskedRevocation[]> => {
  if (issued.length === 0) return []
  const column = (name: 'userId' | 'requestId' | 'certificateId') => issued.map(one => one[name])
  const rows = await taking.all(em, [column('userId'), column('requestId'), column('certificateId'), now])
  const asked: AskedRevocation[] = []
  for (const { requestId, revocationId: id, by } of issued) {
    const previous = rows.find(row => row.requestId === requestId)
    if (!previous) continue
    const asker = { id: by.createdBy ?? null, type: by.createdByType }
    const certificateIds = [previous.certificateId]
    const taken = await placeRevocationIn(em, { id, reason: 'SUPERSEDED', by: asker, certificateIds, now })
    if (taken.size > 0) asked.push({ id, count: 1, requests: [previous] })
  }
  return asked
}
