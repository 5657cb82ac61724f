// Mailing lists, which realms send their mails to.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { archivable, archiveInfoOf, audited, metadataOf, type ArchiveInfo, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'MailingList',
  tableName: 'mailing_list',
  properties: {
    ...audited,
    ...archivable,
    name: p.string().length(255),
    emails: p.array().default([]),
  },
})

/** The addresses that hear of the events of the realms that link it. */
export class MailingList extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
}
schema.setClass(MailingList)
