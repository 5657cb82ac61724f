// The way of queued mails through the outbox: what is still to be sent, and how each ended.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Mail, MailGroup } from './rows/mail.ts'

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

/** The next queued mails of a group behind one of them, by id. */
export const nextMails = (
  em: EntityManager,
  groupId: string,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<Mail[]> => {
  const behind = after === null ? {} : { id: { $gt: after } }
  return em.find(Mail, { groupId, status: 'QUEUED', ...behind }, { orderBy: { id: 'asc' }, limit })
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

/** Keeps why the queued mails of a group behind one of them were not tried. */
export const noteReasonBehind = async (
  em: EntityManager,
  { groupId, after }: { readonly groupId: string; readonly after: string },
  failureReason: string,
): Promise<void> => {
  await em.nativeUpdate(Mail, { groupId, status: 'QUEUED', id: { $gt: after } }, { failureReason })
}

/** Gives up what is still queued of a group; the reason of its last attempt stays. */
export const giveUp = async (em: EntityManager, groupId: string, now: Date): Promise<number> => {
  const rows = await em.execute<{ id: string }[]>(
    `update mail set status = 'FAILED', ended_date = ?, sealed_token = null,
            failure_reason = coalesce(failure_reason, 'No attempt was made.')
      where group_id = ? and status = 'QUEUED' returning id`,
    [now, groupId],
  )
  return rows.length
}

/** How the mails of a group stand. */
export interface MailCounts {
  readonly queued: number
  readonly sent: number
  readonly failed: number
}

/** Notes that the run of a group looked at it, closes the group when nothing is queued any more, and counts its mails. */
export const settle = async (em: EntityManager, groupId: string, now: Date): Promise<MailCounts> => {
  const [row] = await em.execute<Record<keyof MailCounts, string>[]>(
    `with counted as (
       select count(*) filter (where status = 'QUEUED') as queued, count(*) filter (where status = 'SENT') as sent,
              count(*) filter (where status = 'FAILED') as failed from mail where group_id = ?),
     touched as (
       update mail_group set tried_date = ?, closed_date = case when (select queued from counted) = 0 then ?::timestamptz end
        where id = ?)
     select * from counted`,
    [groupId, now, now, groupId],
  )
  return { queued: Number(row?.queued ?? 0), sent: Number(row?.sent ?? 0), failed: Number(row?.failed ?? 0) }
}

/** A run waits so long at most between two looks at its group, and a little. */
const forgottenAfterMs = 2 * 3_600_000

/** The most groups that are looked at in one pass. */
const maxGroups = 5000

/** The open groups that no run has looked at: since they were made, or for longer than a run ever waits. */
export const forgottenGroups = (em: EntityManager, before: Date): Promise<MailGroup[]> => {
  const longAgo = new Date(before.getTime() - forgottenAfterMs)
  return em.find(
    MailGroup,
    { closedDate: null, createdDate: { $lt: before }, $or: [{ triedDate: null }, { triedDate: { $lt: longAgo } }] },
    { limit: maxGroups, orderBy: { createdDate: 'asc' } },
  )
}
