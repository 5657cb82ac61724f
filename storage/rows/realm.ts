// Realms, which everything else belongs to.
import { defineEntity, p, type Opt } from '@mikro-orm/postgresql'
import type { Place } from '../../domain/permissions.ts'
import { archivable, archiveInfoOf, audited, metadataOf, none, type ArchiveInfo, type Metadata } from './columns.ts'
import { MailingList } from './mailing-list.ts'

const schema = defineEntity({
  name: 'Realm',
  tableName: 'realm',
  properties: {
    ...audited,
    ...archivable,
    name: p.string().length(255),
    mailingListId: () =>
      p
        .manyToOne(MailingList)
        .mapToPk()
        .fieldName('mailing_list_id')
        .nullable()
        .onCreate(none)
        .deleteRule('set null')
        .index('realm_mailing_list'),
    systemRealm: p.boolean().default(false),
  },
  uniques: [
    { name: 'realm_name', expression: 'create unique index realm_name on realm (comparable(name)) where not archived' },
  ],
})

/** A responsibility area: every policy, end entity and certificate belongs to one. */
export class Realm extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
  get place(): Place & Opt {
    return { REALM: this.id }
  }
}
schema.setClass(Realm)
