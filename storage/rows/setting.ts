// The settings that users change at run time.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { audited, metadataOf, none, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'Setting',
  tableName: 'setting',
  properties: {
    ...audited,
    settingsKey: p.string().length(255).unique(),
    value: p.text().nullable().onCreate(none),
    /** The value of a SECRET, sealed for its key (storage/key-uses.ts). */
    sealed: p.blob().nullable().onCreate(none),
    description: p.string().length(1000).nullable().onCreate(none),
  },
})

/** A stored value of the configuration; a key without a row has its default. */
export class Setting extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
}
schema.setClass(Setting)
