// The outbox (contract 8): what a mail tells, written in the transaction of its event, and one row for each address.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { valuesOf } from '../../domain/enums.ts'
import { MailKind, MailStatus, type MailFacts } from '../../domain/mails.ts'
import { creationDate, none } from './columns.ts'

const group = defineEntity({
  name: 'MailGroup',
  tableName: 'mail_group',
  properties: {
    id: p.uuid().primary(),
    kind: p.enum(valuesOf(MailKind)).$type<MailKind>(),
    realmId: p.uuid().nullable().onCreate(none),
    facts: p.json<MailFacts>(),
    /** The run whose certificates are still added to it: one mail a batch. */
    gathers: p.string().length(100).nullable().onCreate(none),
    /** The group whose run sends this one: itself, or another one of its realm; null is itself as well. */
    carriedBy: p.uuid().nullable().onCreate(none),
    createdDate: creationDate(),
    /** The last time that its run looked at it. */
    triedDate: p.datetime(3).nullable().onCreate(none),
    /** Set when none of its mails is queued any more. */
    closedDate: p.datetime(3).nullable().onCreate(none),
  },
  indexes: [
    {
      name: 'mail_group_gathering',
      expression:
        'create unique index mail_group_gathering on mail_group (gathers, realm_id, kind) where gathers is not null',
    },
    {
      name: 'mail_group_carried',
      expression: 'create index mail_group_carried on mail_group (carried_by) where carried_by is not null',
    },
    {
      name: 'mail_group_open',
      expression: 'create index mail_group_open on mail_group (created_date) where closed_date is null',
    },
  ],
})

/** What the mails of one event have in common; its id names the run that sends them, unless that of another group does. */
export class MailGroup extends group.class {}
group.setClass(MailGroup)

const mail = defineEntity({
  name: 'Mail',
  tableName: 'mail',
  properties: {
    /** The local part of its Message-ID as well. */
    id: p.uuid().primary(),
    groupId: () => p.manyToOne(MailGroup).mapToPk().fieldName('group_id').deleteRule('cascade').index(),
    address: p.string().length(254),
    status: p.enum(valuesOf(MailStatus)).$type<MailStatus>(),
    /** The token of a verification mail, sealed for this row (storage/key-uses.ts), until the mail is sent. */
    sealedToken: p.blob().$type<Buffer>().nullable().onCreate(none),
    attempts: p.integer().default(0),
    /** Why the last attempt failed; it holds no secret and no text of the server. */
    failureReason: p.string().length(255).nullable().onCreate(none),
    endedDate: p.datetime(3).nullable().onCreate(none),
  },
})

/** One mail to one address. */
export class Mail extends mail.class {}
mail.setClass(Mail)
