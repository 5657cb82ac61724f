// Keys of deleted certificates that were revoked with KEY_COMPROMISE.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261123050000_compromised_keys extends Migration {
  override name = 'Migration20261123050000_compromised_keys'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "compromised_key" ("public_key_hash" varchar(64) not null, primary key ("public_key_hash"));`,
    )
  }
}
