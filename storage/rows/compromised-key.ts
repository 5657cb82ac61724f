// Which compromised keys no certificate tells of any more, because it was deleted (contract 4.5, 5.4).
import { defineEntity, p } from '@mikro-orm/postgresql'

const schema = defineEntity({
  name: 'CompromisedKey',
  tableName: 'compromised_key',
  properties: {
    /** As in the certificate: SHA-256 over its DER SubjectPublicKeyInfo, in hex. */
    publicKeyHash: p.string().length(64).primary(),
  },
})

/** The key of a deleted certificate that was revoked with KEY_COMPROMISE; it stays for good. */
export class CompromisedKey extends schema.class {}
schema.setClass(CompromisedKey)
