// Queuing mails (contract 8): rows of the outbox, written in the transaction of their event. Who commits starts the run
// that sends them (`sendMailsRun`); the reconciler starts what a crash left behind.
import type { EntityManager } from '@mikro-orm/postgresql'
import { itemsListed, type EventMailKind, type MailFacts, type MailItem, type MailKind } from '../domain/mails.ts'
import { insertRows } from './insert-rows.ts'
import { mailTokenUse } from './key-uses.ts'
import { Mail } from './rows/mail.ts'
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

/** The addresses that hear of a realm's events; nobody while mail is off. */
export const recipientsOf = async (em: EntityManager, realmId: string): Promise<readonly string[]> => {
  const [row] = await em.execute<{ emails: string[] }[]>(
    `select to_jsonb(l.emails) as emails from realm r join mailing_list l on l.id = r.mailing_list_id
      where r.id = ? and not l.archived and ${mailIsOn}`,
    [realmId],
  )
  return row?.emails ?? []
}

interface StoredGroup {
  readonly id: string
  readonly made: boolean
}

/** Makes the group of these mails, or adds the facts to the one that gathers for the same run. */
const storeGroup = async (em: EntityManager, mails: NewMails, { now }: Queuing): Promise<StoredGroup> => {
  const { kind, realmId = null, facts, gathers = null } = mails
  const [row] = await em.execute<StoredGroup[]>(
    `insert into mail_group as g (id, kind, realm_id, facts, gathers, created_date) values (?, ?, ?, ?::jsonb, ?, ?)
       on conflict (gathers, realm_id, kind) where gathers is not null do update set facts = g.facts || jsonb_build_object(
         'count', (g.facts->>'count')::int + (excluded.facts->>'count')::int,
         'items', case when jsonb_array_length(g.facts->'items') < ? then (g.facts->'items') || (excluded.facts->'items')
                       else g.facts->'items' end)
       returning id, xmax = 0 as made`,
    [crypto.randomUUID(), kind, realmId, JSON.stringify(facts), gathers, now, itemsListed],
  )
  if (!row) throw new Error('A group of mails was neither made nor found.')
  return row
}

const rowsOf = (groupId: string, { to, secret }: NewMails) =>
  to.map(address => {
    const id = crypto.randomUUID()
    const sealedToken = secret ? secret.seal.seal(Buffer.from(secret.token), mailTokenUse({ id, groupId })) : null
    return { id, groupId, address, status: 'QUEUED' as const, sealedToken, attempts: 0 }
  })

const store = async (em: EntityManager, mails: NewMails, queuing: Queuing): Promise<string | null> => {
  if (mails.to.length === 0) return null
  const { id, made } = await storeGroup(em, mails, queuing)
  if (made) await insertRows(em, Mail, rowsOf(id, mails))
  return made ? id : null
}

/**
 * Stores mails in the running transaction and answers the id of their group, whose run (`sendMailsRun`) is to be started
 * after the commit; null when mail is off or there is nobody to write to.
 */
export const queueMails = async (em: EntityManager, mails: NewMails, queuing: Queuing): Promise<string | null> => {
  const [row] = await em.execute<{ on: boolean }[]>(`select ${mailIsOn} as on`)
  return row?.on === true ? store(em, mails, queuing) : null
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
  queuing: Queuing,
): Promise<string | null> => {
  if (items.length === 0) return null
  const facts = {
    count: items.length,
    items: items.slice(0, itemsListed),
    ...(by === undefined ? {} : { by }),
    ...(days === undefined ? {} : { days }),
  }
  return store(em, { kind, realmId, to: await recipientsOf(em, realmId), facts, gathers }, queuing)
}
