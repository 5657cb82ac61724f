// Mailing lists: who is told by mail what happens in the realms that link to them.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { archivable, archiveInfoOf, audited, metadataOf, type ArchiveInfo, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'MailingList',
  tableName: 'mailing_list',
  properties: {
    ...audited,
    ...archivable,
    name: p.string().length(255),
    /** Each in its canonical form (contract 1.1), none twice without case. */
    emails: p.array().default([]),
  },
  uniques: [
    {
      name: 'mailing_list_name',
      expression: 'create unique index mailing_list_name on mailing_list (comparable(name)) where not archived',
    },
  ],
})

/** Addresses under a name. */
export class MailingList extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
}
schema.setClass(MailingList)
