// The rows of sealed private keys.
import { defineEntity, p } from '@mikro-orm/postgresql'

const schema = defineEntity({
  name: 'PrivateKey',
  tableName: 'private_key',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => crypto.randomUUID()),
    /** PKCS#8 DER, sealed with the id of this row as context. */
    sealed: p.blob().$type<Buffer>(),
    createdDate: p.datetime(3).onCreate(() => new Date()),
  },
})

/** A private key of a certificate or a CA, sealed; it never leaves this row in the clear but to sign or be downloaded. */
export class PrivateKey extends schema.class {}
schema.setClass(PrivateKey)
