// Reminders of certificates that expire (contract 8): which are due, and that each is sent once.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { ReminderWindow } from '../domain/notification-rules.ts'
import { system } from '../domain/principal.ts'
import { recordMany } from './audit.ts'
import { queueEventMails, recipientsOf } from './mails.ts'

/** Certificates in one mail and one transaction; further ones come in the next. */
export const noticesAtOnce = 5000

/** The realms that have somebody to write to. */
export const realmsWithReaders = async (em: EntityManager): Promise<string[]> => {
  const rows = await em.execute<{ id: string }[]>(
    `select r.id from realm r join mailing_list l on l.id = r.mailing_list_id
      where not r.archived and not l.archived and cardinality(l.emails) > 0 order by r.id`,
  )
  return rows.map(({ id }) => id)
}

interface Due {
  readonly id: string
  readonly name: string
  readonly serial_number: string
  readonly policy_name: string
  readonly valid_not_after: Date | string
}

/** Of which certificates is reminded, and when. */
interface Reminding {
  readonly window: ReminderWindow
  readonly now: Date
}

// Renewed is what has a certificate of the same end entity and policy that is valid for longer.
const noteDue = (em: EntityManager, realmId: string, { window, now }: Reminding): Promise<Due[]> =>
  em.execute<Due[]>(
    `with due as (
       select c.id, coalesce(nullif(c.subject_dn, ''), c.serial_number) as name, c.serial_number, c.valid_not_after,
              p.name as policy_name
         from certificate c join policy p on p.id = c.policy_id
        where c.realm_id = ? and not c.archived and c.valid_not_after > ? and c.valid_not_after <= ?
          and c.revocation_date is null
          and not exists (select from expiry_notice n where n.certificate_id = c.id and n.days = ?)
          and not exists (select from certificate r
                           where r.end_entity_id = c.end_entity_id and r.policy_id = c.policy_id and r.id <> c.id
                             and not r.archived and r.revocation_date is null
                             and r.valid_not_after > c.valid_not_after)
        order by c.valid_not_after, c.id limit ?),
     noted as (
       insert into expiry_notice (certificate_id, days, noticed_date) select id, ?, ? from due
         on conflict do nothing returning certificate_id)
     select due.* from due join noted on noted.certificate_id = due.id order by due.valid_not_after, due.id`,
    [realmId, window.after, window.until, window.days, noticesAtOnce, window.days, now],
  )

/** What was queued: how many certificates are reminded of, and the group of the mails. */
export interface Reminder {
  readonly count: number
  readonly groupId: string | null
}

/** Notes and queues the reminders of one realm and interval, some thousand at most, in the running transaction. */
export const remind = async (em: EntityManager, realmId: string, reminding: Reminding): Promise<Reminder> => {
  if ((await recipientsOf(em, realmId)).length === 0) return { count: 0, groupId: null }
  const due = await noteDue(em, realmId, reminding)
  const {
    window: { days },
    now,
  } = reminding
  const items = due.map(({ id, name, serial_number: serialNumber, policy_name: policyName, valid_not_after: end }) => ({
    id,
    subject: name,
    serialNumber,
    policyName,
    validNotAfter: new Date(end).toISOString(),
  }))
  const groupId = await queueEventMails(em, { kind: 'CERTIFICATES_EXPIRING', realmId, items, days }, { now })
  // Who emptied the list meanwhile stops this: nothing is noted of what nobody gets.
  if (groupId === null && due.length > 0) throw new Error(`The reminders of the realm ${realmId} could not be queued.`)
  const facts = due.map(({ id, name }) => ({
    type: 'EXPIRY_REMINDER_SENT' as const,
    objectId: id,
    realmId,
    certificateId: id,
    what: `Reminder that certificate ${name} expires within ${days} ${days === 1 ? 'day' : 'days'} sent`,
  }))
  await recordMany(em, facts, { now, author: system })
  return { count: due.length, groupId }
}
