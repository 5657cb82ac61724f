// Revocations in the records (contract 4.3): asked for, claimed by their run, recorded, and seen by it again.
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../domain/enums.ts'
import type { ItemError } from '../domain/batch.ts'
import type { Place } from '../domain/permissions.ts'
import type { Principal } from '../domain/principal.ts'
import type { Revoked, RevocationState } from '../domain/revocation-rules.ts'
import { recordMany, type Fact } from './audit.ts'
import { insertRows } from './insert-rows.ts'
import { Certificate } from './rows/certificate.ts'
import { CertificateProvider } from './rows/certificate-provider.ts'
import { Revocation, RevocationItem } from './rows/revocation.ts'
import { actor, stampOf } from './rows/stamp.ts'

type Named = 'id' | 'realmId' | 'policyId' | 'policyName' | 'certRequestId' | 'subjectDn' | 'serialNumber'

/** A certificate as its revocation looks at it. */
export interface RevocableCertificate extends RevocationState, Readonly<Record<Named, string>> {
  readonly imported: boolean
  readonly raUserId: string | null
  readonly revocationRunId?: string | null | undefined
}

/** Where the right to revoke it is held. */
export const placeOf = ({ id, realmId, policyId, raUserId }: RevocableCertificate): Place => ({
  REALM: realmId,
  POLICY: policyId,
  CERTIFICATE: id,
  PRINCIPAL: raUserId ?? undefined,
})

const looks = [
  'archived',
  'certRequestId',
  'imported',
  'policyId',
  'policyName',
  'raUserId',
  'realmId',
  'revocationDate',
  'revocationReason',
  'revocationRunId',
  'serialNumber',
  'subjectDn',
  'validNotAfter',
  'validNotBefore',
] as const

const find = (
  em: EntityManager,
  ids: readonly string[],
  lock: { lockMode?: LockMode.PESSIMISTIC_WRITE },
): Promise<RevocableCertificate[]> =>
  em.find(
    Certificate,
    { id: { $in: [...ids] } },
    { fields: looks, orderBy: { id: 'asc' }, disableIdentityMap: true, ...lock },
  )

/** Those of the certificates that exist, without their octets. */
export const findRevocable = (em: EntityManager, ids: readonly string[]): Promise<RevocableCertificate[]> =>
  find(em, ids, {})

/** The same, kept from changing until the transaction ends. */
export const lockRevocable = (em: EntityManager, ids: readonly string[]): Promise<RevocableCertificate[]> =>
  find(em, ids, { lockMode: LockMode.PESSIMISTIC_WRITE })

/** The provider that each certificate came from: that of its CA where it is one of ours, else that of its policy. */
export const providersOf = async (
  em: EntityManager,
  ids: readonly string[],
): Promise<ReadonlyMap<string, CertificateProvider>> => {
  const rows = await em.execute<{ id: string; provider_id: string }[]>(
    `select c.id, coalesce(ca.certificate_provider_id, p.certificate_provider_id) as provider_id
       from certificate c join policy p on p.id = c.policy_id left join ca on ca.id = c.issuer_ca_id
      where c.id = any(?::uuid[])`,
    [`{${ids.join(',')}}`],
  )
  const found = await em.find(CertificateProvider, { id: { $in: [...new Set(rows.map(row => row.provider_id))] } })
  const byId = new Map(found.map(provider => [provider.id, provider]))
  return new Map(
    rows.flatMap(row => {
      const provider = byId.get(row.provider_id)
      return provider ? [[row.id, provider] as const] : []
    }),
  )
}

/** A call that asks for revocations. */
export interface Asked {
  /** The id of its run as well. */
  readonly id: string
  readonly reason: RevocationReason
  readonly by: Pick<Principal, 'id' | 'type'>
  readonly certificateIds: readonly string[]
  readonly now: Date
}

/** Keeps, in the running transaction, what is asked for; answers the certificates that it has. */
export const placeRevocationIn = async (tx: EntityManager, asked: Asked): Promise<ReadonlySet<string>> => {
  const { id, reason, by, certificateIds, now } = asked
  const rows = await tx.execute<{ id: string }[]>(
    `update certificate set revocation_run_id = ?, revocation_requested_date = ? where revocation_run_id is null and id in
       (select id from certificate where id = any(?::uuid[]) order by id for update) returning id`,
    [id, now, `{${certificateIds.join(',')}}`],
  )
  const taken = new Set(rows.map(row => row.id))
  if (taken.size === 0) return taken
  tx.create(Revocation, { id, reason, createdBy: by.id, createdByType: by.type, startedDate: now })
  await tx.flush()
  const mine = certificateIds.filter(one => taken.has(one))
  const items = mine.map((certificateId, position) => ({
    revocationId: id,
    certificateId,
    position,
    status: 'RUNNING' as const,
  }))
  await insertRows(tx, RevocationItem, items)
  return taken
}

/** Keeps what is asked for and answers the certificates that it has; those that another run has are left out. */
export const placeRevocation = (em: EntityManager, asked: Asked): Promise<ReadonlySet<string>> =>
  em.fork().transactional(tx => placeRevocationIn(tx, asked))

/** Those certificates between two positions of a revocation that nothing has become of yet, locked where asked for. */
export const openItems = async (
  em: EntityManager,
  revocationId: string,
  { from, to, locked }: { readonly from: number; readonly to: number; readonly locked: boolean },
): Promise<string[]> => {
  const rows = await em.execute<{ id: string }[]>(
    `select certificate_id as id from revocation_item
      where revocation_id = ? and position between ? and ? and status = 'RUNNING' order by position ${locked ? 'for update' : ''}`,
    [revocationId, from, to],
  )
  return rows.map(({ id }) => id)
}

/** Ends items of a revocation and frees their certificates. */
export const endRevocationItems = async (
  em: EntityManager,
  revocationId: string,
  ends: ReadonlyMap<string, Pick<ItemError, 'apiError' | 'errorMessage'> | null>,
): Promise<void> => {
  const rows = [...ends].map(([id, failure]) => ({
    id,
    status: failure ? 'FAILED' : 'COMPLETED',
    code: failure?.apiError ?? null,
    message: failure?.errorMessage ?? null,
  }))
  await em.execute(
    `update revocation_item set status = e.status, failure_code = e.code, failure_message = e.message
       from jsonb_to_recordset(?::jsonb) as e(id uuid, status text, code text, message text)
      where revocation_id = ? and certificate_id = e.id and revocation_item.status = 'RUNNING'`,
    [JSON.stringify(rows), revocationId],
  )
  await em.execute(
    `update certificate set revocation_run_id = null, revocation_requested_date = null
      where id = any(?::uuid[]) and revocation_run_id = ?`,
    [`{${[...ends.keys()].join(',')}}`, revocationId],
  )
}

/** What became of each certificate of a revocation. */
export const findRevocationEnds = async (
  em: EntityManager,
  revocationId: string,
): Promise<ReadonlyMap<string, Pick<RevocationItem, 'status' | 'failureCode' | 'failureMessage'>>> => {
  const items = await em.fork().find(RevocationItem, { revocationId })
  return new Map(items.map(item => [item.certificateId, item]))
}

/** What becomes of a certificate that is locked. */
export interface Change {
  readonly certificate: RevocableCertificate
  readonly revoked: Revoked
}

const verbs: Readonly<Record<Revoked['event'], string>> = {
  CERTIFICATE_HELD: 'put on hold',
  CERTIFICATE_RELEASED: 'released from hold',
  CERTIFICATE_REVOKED: 'revoked',
  CERTIFICATE_MARKED_AS_REVOKED: 'marked as revoked',
}

const factOf = ({
  certificate: { id, realmId, subjectDn, serialNumber },
  revoked: { event, reason },
}: Change): Fact => ({
  type: event,
  objectId: id,
  realmId,
  certificateId: id,
  what: `Certificate ${subjectDn || serialNumber} ${verbs[event]}${reason && reason !== 'CERTIFICATE_HOLD' ? ` (${reason})` : ''}`,
})

/** Records changes of certificates by the actor of the EntityManager; the lists of their CAs have yet to tell them. */
export const storeRevoked = async (em: EntityManager, changes: readonly Change[], now: Date): Promise<void> => {
  const { lastModifiedBy, lastModifiedByType } = stampOf(em, now)
  const rows = changes.map(({ certificate: { id }, revoked: { reason, date } }) => ({ id, reason, date }))
  await em.execute(
    `update certificate c set revocation_reason = e.reason, revocation_date = e.date, revocation_crl_number = null,
            crl_pending = not c.imported and exists (select from ca where ca.id = c.issuer_ca_id and ca.private_key_id is not null),
            version = version + 1, last_modified_by = ?, last_modified_by_type = ?, last_modified_date = ?
       from jsonb_to_recordset(?::jsonb) as e(id uuid, reason text, date timestamptz) where c.id = e.id`,
    [lastModifiedBy, lastModifiedByType, now, JSON.stringify(rows)],
  )
  await recordMany(em, changes.map(factOf), { now, author: actor(em) })
}

/** What became of a revocation. */
export interface RevocationCount {
  readonly revoked: number
  readonly refused: number
  /** So many of the revoked that the CRL of their CA has yet to tell. */
  readonly unlisted: number
  /** The latest CRL that told one of them. */
  readonly crlNumber: number | null
}

/** Counts what became of the certificates of a revocation. */
export const countRevoked = async (em: EntityManager, revocationId: string): Promise<RevocationCount> => {
  const [row] = await em.execute<{ revoked: number; refused: number; unlisted: number; number: string | null }[]>(
    `select count(*) filter (where i.status = 'COMPLETED')::int as revoked,
            count(*) filter (where i.status = 'FAILED')::int as refused,
            count(*) filter (where i.status = 'COMPLETED' and c.crl_pending)::int as unlisted,
            max(c.revocation_crl_number) filter (where i.status = 'COMPLETED') as number
       from revocation_item i join certificate c on c.id = i.certificate_id where i.revocation_id = ?`,
    [revocationId],
  )
  const { revoked = 0, refused = 0, unlisted = 0, number = null } = row ?? {}
  return { revoked, refused, unlisted, crlNumber: number === null ? null : Number(number) }
}

/** The CAs whose lists have yet to tell certificates of a revocation. */
export const unlistedCas = async (em: EntityManager, revocationId: string): Promise<string[]> => {
  const rows = await em.execute<{ id: string }[]>(
    `select distinct c.issuer_ca_id as id from revocation_item i join certificate c on c.id = i.certificate_id
      where i.revocation_id = ? and i.status = 'COMPLETED' and c.crl_pending`,
    [revocationId],
  )
  return rows.map(({ id }) => id)
}

/** Closes a revocation; false when it was closed before. */
export const closeRevocation = async (em: EntityManager, id: string, now: Date): Promise<boolean> =>
  (await em.nativeUpdate(Revocation, { id, closedDate: null }, { closedDate: now })) > 0
