// The tokens of verification mails (contract 4.1): their hashes, since only the mail has the token itself.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { none } from './columns.ts'

const schema = defineEntity({
  name: 'VerificationToken',
  tableName: 'verification_token',
  properties: {
    /** SHA-256 over the token, hex. */
    hash: p.string().length(64).primary(),
    /** No foreign key: a token outlives its request, so that its holder hears what became of it. */
    certRequestId: p.uuid().index(),
    /** The address that it was sent to. */
    email: p.string().length(254),
    expiresDate: p.datetime(3),
    usedDate: p.datetime(3).nullable().onCreate(none),
    /** The message that used it, for the case that the message is worked on again. */
    usedBy: p.string().length(100).nullable().onCreate(none),
  },
})

/** One token, by its hash. */
export class VerificationToken extends schema.class {}
schema.setClass(VerificationToken)
