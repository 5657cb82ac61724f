// The rows of users.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { audited, metadataOf, none, type Metadata } from './columns.ts'

const schema = defineEntity({
  name: 'User',
  tableName: 'app_user',
  properties: {
    ...audited,
    /** The subject at the identity provider. */
    providerId: p.string().length(255).unique(),
    firstName: p.string().length(255).nullable().onCreate(none),
    lastName: p.string().length(255).nullable().onCreate(none),
    email: p.string().length(254).nullable().onCreate(none),
    enabled: p.boolean().default(true),
  },
})

/** A human principal. */
export class User extends schema.class {
  get metadata(): Metadata {
    return metadataOf(this)
  }
}
schema.setClass(User)
