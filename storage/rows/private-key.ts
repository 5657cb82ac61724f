// Private keys, sealed.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { creationDate } from './columns.ts'

const schema = defineEntity({
  name: 'PrivateKey',
  tableName: 'private_key',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => crypto.randomUUID()),
    /** PKCS#8 DER, sealed for its certificate or CA (storage/key-uses.ts). */
    sealed: p.blob().$type<Buffer>(),
    createdDate: creationDate(),
  },
})

/** A private key of a certificate or a CA, sealed; it never leaves this row in the clear but to sign or be downloaded. */
export class PrivateKey extends schema.class {}
schema.setClass(PrivateKey)
