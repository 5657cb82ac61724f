// The way of queued mails through the outbox: which run sends them, what is still to be sent, and how each ended.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Mail, MailGroup } from './rows/mail.ts'

/** The groups of a run in SQL: the one that names it, unless another run carries that, and those that it carries. */
const ofRun = '((g.id = ? and g.carried_by is null) or g.carried_by = ?)'

/** Lets the run of a group carry these as well, it among them; what another run has stays with that. */
export const carryGroups = async (em: EntityManager, groupId: string, ids: readonly string[]): Promise<void> => {
  await em.execute('update mail_group set carried_by = ? where id = any(?::uuid[]) and carried_by is null', [
    groupId,
    `{${ids.join()}}`,
  ])
}

/** The groups that a run sends, the oldest first. */
export const groupsOf = (em: EntityManager, groupId: string): Promise<MailGroup[]> =>
  em.find(
    MailGroup,
    { $or: [{ id: groupId, carriedBy: null }, { carriedBy: groupId }] },
    { orderBy: { createdDate: 'asc' } },
  )

/** Ends the gathering of a group unless its run still has certificates to issue; answers whether it is over. */
export const closeGathering = async (em: EntityManager, groupId: string, patient: boolean): Promise<boolean> => {
  const [row] = await em.execute<{ gathers: boolean }[]>(
    `with ended as (
       update mail_group set gathers = null where id = ? and gathers is not null
          and not (?::boolean and exists (select 1 from cert_request where run_id = gathers
                                             and cert_request_status = 'APPROVED' and not archived))
       returning id)
     select gathers is not null and not exists (select 1 from ended) as gathers from mail_group where id = ?`,
    [groupId, patient, groupId],
  )
  return row?.gathers !== true
}

/** The next queued mails of these groups behind one of them, by id. */
export const nextMails = (
  em: EntityManager,
  groupIds: readonly string[],
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<Mail[]> => {
  const behind = after === null ? {} : { id: { $gt: after } }
  return em.find(
    Mail,
    { groupId: { $in: [...groupIds] }, status: 'QUEUED', ...behind },
    { orderBy: { id: 'asc' }, limit },
  )
}

/** Notes that an attempt begins; false when the mail has ended meanwhile. */
export const beginAttempt = async (em: EntityManager, id: string): Promise<boolean> => {
  const rows = await em.execute<{ id: string }[]>(
    `update mail set attempts = attempts + 1 where id = ? and status = 'QUEUED' returning id`,
    [id],
  )
  return rows.length > 0
}

/** Ends a mail and erases its token; one that has ended stays as it is. */
export const endMail = async (
  em: EntityManager,
  id: string,
  end: { readonly status: 'SENT' | 'FAILED'; readonly reason?: string; readonly now: Date },
): Promise<void> => {
  const { status, reason = null, now } = end
  await em.nativeUpdate(
    Mail,
    { id, status: 'QUEUED' },
    { status, failureReason: reason, endedDate: now, sealedToken: null },
  )
}

/** Keeps why queued mails could not be sent yet. */
export const noteReason = async (em: EntityManager, ids: readonly string[], failureReason: string): Promise<void> => {
  if (ids.length === 0) return
  await em.nativeUpdate(Mail, { id: { $in: [...ids] }, status: 'QUEUED' }, { failureReason })
}

/** Keeps why the queued mails of these groups behind one of them were not tried. */
export const noteReasonBehind = async (
  em: EntityManager,
  { groupIds, after }: { readonly groupIds: readonly string[]; readonly after: string },
  failureReason: string,
): Promise<void> => {
  const behind = { groupId: { $in: [...groupIds] }, status: 'QUEUED' as const, id: { $gt: after } }
  await em.nativeUpdate(Mail, behind, { failureReason })
}

/** Gives up what is still queued of a run; the reason of its last attempt stays. */
export const giveUp = async (em: EntityManager, groupId: string, now: Date): Promise<number> => {
  const rows = await em.execute<{ id: string }[]>(
    `update mail m set status = 'FAILED', ended_date = ?, sealed_token = null,
            failure_reason = coalesce(m.failure_reason, 'No attempt was made.')
       from mail_group g where g.id = m.group_id and ${ofRun} and m.status = 'QUEUED' returning m.id`,
    [now, groupId, groupId],
  )
  return rows.length
}

/** How mails stand. */
export interface MailCounts {
  readonly queued: number
  readonly sent: number
  readonly failed: number
}

/** Notes that a run looked at its groups, closes those of which nothing is queued any more, and counts their mails. */
export const settle = async (em: EntityManager, groupId: string, now: Date): Promise<MailCounts> => {
  const [row] = await em.execute<Record<keyof MailCounts, string>[]>(
    `with counted as (
       select g.id, count(*) filter (where m.status = 'QUEUED') as queued,
              count(*) filter (where m.status = 'SENT') as sent, count(*) filter (where m.status = 'FAILED') as failed
         from mail_group g left join mail m on m.group_id = g.id where ${ofRun} group by g.id),
     touched as (
       update mail_group g set tried_date = ?, closed_date = case when c.queued = 0 then ?::timestamptz end
         from counted c where c.id = g.id)
     select coalesce(sum(queued), 0) as queued, coalesce(sum(sent), 0) as sent, coalesce(sum(failed), 0) as failed
       from counted`,
    [groupId, groupId, now, now],
  )
  return { queued: Number(row?.queued ?? 0), sent: Number(row?.sent ?? 0), failed: Number(row?.failed ?? 0) }
}

/** A run waits so long at most between two looks at its groups, and a little. */
const forgottenAfterMs = 2 * 3_600_000

/** The most groups that are looked at in one pass. */
const maxGroups = 5000

/** A run of mails, by the group that names it. */
export interface MailRun {
  readonly groupId: string
  readonly realmId: string | null
}

/**
 * The runs of open groups that no run has looked at: since they were made, or for longer than a run ever waits. From here on
 * a group that no other run carries has one of its own.
 */
export const forgottenRuns = (em: EntityManager, before: Date): Promise<MailRun[]> =>
  em.execute<MailRun[]>(
    `with forgotten as (
       select id from mail_group where closed_date is null and created_date < ? and (tried_date is null or tried_date < ?)
        order by created_date limit ?),
     taken as (
       update mail_group g set carried_by = coalesce(g.carried_by, g.id) from forgotten f where f.id = g.id
       returning g.carried_by, g.realm_id)
     select distinct carried_by as "groupId", realm_id as "realmId" from taken`,
    [before, new Date(before.getTime() - forgottenAfterMs), maxGroups],
  )
