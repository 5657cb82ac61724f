// Queuing mails (contract 8): rows of the outbox, written in the transaction of their event. Who commits starts the run
// that sends them (`sendMailsRun`); the reconciler starts what a crash left behind.
import type { EntityManager } from '@mikro-orm/postgresql'
import { itemsListed, type EventMailKind, type MailFacts, type MailItem, type MailKind } from '../domain/mails.ts'
import { mailTokenUse } from './key-uses.ts'
import type { Seal } from './seal.ts'
import type { Settings } from './settings.ts'

/** What is told to whom: each address gets a mail of its own. */
export interface NewMails {
  readonly kind: MailKind
  readonly realmId?: string | null
  readonly to: readonly string[]
  readonly facts: MailFacts
  /** The token of a link, sealed until the mail is sent. */
  readonly secret?: { readonly token: string; readonly seal: Seal }
  /** The run whose further certificates belong in the same mail. */
  readonly gathers?: string | null
}

/** When mails are queued. */
interface Queuing {
  readonly now: Date
}

/** Whether mails can be sent: switched on, with a server and a sender (else MAIL_NOT_CONFIGURED). */
export const isMailReady = async (settings: Settings): Promise<boolean> =>
  (await settings.isOn('mail.enabled')) &&
  Boolean((await settings.text('mail.host')) && (await settings.text('mail.from')))

/** As the transaction sees it, not as it was seconds ago. */
const mailIsOn = `exists (select 1 from setting where settings_key = 'mail.enabled' and value = 'true')`

const listOfRealm = `realm r join mailing_list l on l.id = r.mailing_list_id
      where r.id = ? and not l.archived and ${mailIsOn}`

/** The addresses that hear of a realm's events; nobody while mail is off. */
export const recipientsOf = async (em: EntityManager, realmId: string): Promise<readonly string[]> => {
  const [row] = await em.execute<{ emails: string[] }[]>(`select to_jsonb(l.emails) as emails from ${listOfRealm}`, [
    realmId,
  ])
  return row?.emails ?? []
}

/** Who gets a mail, in SQL: an id, an address and a sealed token each. */
interface Readers {
  readonly sql: string
  readonly value: string
}

/** The list of a realm. */
const readersOf = (realmId: string): Readers => ({
  sql: `select gen_random_uuid() as id, unnest(l.emails) as address, null::bytea as sealed_token from ${listOfRealm}`,
  value: realmId,
})

/** These addresses, each with a token that is sealed for its mail. */
const readersNamed = (groupId: string, { to, secret }: NewMails): Readers => {
  const rows = to.map(address => {
    const id = crypto.randomUUID()
    const sealed = secret ? secret.seal.seal(Buffer.from(secret.token), mailTokenUse({ id, groupId })) : null
    return { id, address, sealed_token: sealed ? `\\x${Buffer.from(sealed).toString('hex')}` : null }
  })
  return {
    sql: `select id, address, sealed_token from json_populate_recordset(null::mail, ?::json) where ${mailIsOn}`,
    value: JSON.stringify(rows),
  }
}

type GroupMembers = Pick<NewMails, 'kind' | 'realmId' | 'facts' | 'gathers'> & Queuing & { readonly id: string }

/**
 * Makes a group and its mails, or adds the facts to the group that gathers for the same run, where anybody reads them: in
 * one statement, because somebody waits for the event. Answers the id of the group that was made.
 */
const store = async (em: EntityManager, readers: Readers, group: GroupMembers): Promise<string | null> => {
  const { id, kind, realmId = null, facts, gathers = null, now } = group
  const [row] = await em.execute<{ id: string }[]>(
    `with reader as (${readers.sql}),
     made as (
       insert into mail_group as g (id, kind, realm_id, facts, gathers, created_date)
         select ?, ?, ?::uuid, ?::jsonb, ?, ?::timestamptz where exists (select 1 from reader)
         on conflict (gathers, realm_id, kind) where gathers is not null do update set facts = g.facts || jsonb_build_object(
           'count', (g.facts->>'count')::int + (excluded.facts->>'count')::int,
           'items', case when jsonb_array_length(g.facts->'items') < ? then (g.facts->'items') || (excluded.facts->'items')
                         else g.facts->'items' end)
         returning id, xmax = 0 as is_new),
     queued as (
       insert into mail (id, group_id, address, status, sealed_token, attempts)
         select reader.id, made.id, address, 'QUEUED', sealed_token, 0 from reader, made where is_new)
     select id from made where is_new`,
    [readers.value, id, kind, realmId, JSON.stringify(facts), gathers, now, itemsListed],
  )
  return row?.id ?? null
}

/**
 * Stores mails in the running transaction and answers the id of their group, whose run (`sendMailsRun`) is to be started
 * after the commit; null when mail is off or there is nobody to write to.
 */
export const queueMails = (em: EntityManager, mails: NewMails, { now }: Queuing): Promise<string | null> => {
  const id = crypto.randomUUID()
  return store(em, readersNamed(id, mails), { ...mails, id, now })
}

/** What happened in a realm. */
export interface RealmEvent {
  readonly kind: EventMailKind
  readonly realmId: string
  readonly items: readonly MailItem[]
  /** Who did it, by name. */
  readonly by?: string | null
  /** The interval of a reminder. */
  readonly days?: number
  /** The run whose further certificates belong in the same mail: one mail a batch. */
  readonly gathers?: string | null
}

/**
 * Queues the mails of an event to the mailing list of its realm, as queueMails does; null also when the mails of the same
 * run gather already.
 */
export const queueEventMails = async (
  em: EntityManager,
  { kind, realmId, items, by, days, gathers = null }: RealmEvent,
  { now }: Queuing,
): Promise<string | null> => {
  if (items.length === 0) return null
  const facts = {
    count: items.length,
    items: items.slice(0, itemsListed),
    ...(by === undefined ? {} : { by }),
    ...(days === undefined ? {} : { days }),
  }
  return store(em, readersOf(realmId), { id: crypto.randomUUID(), kind, realmId, facts, gathers, now })
}
