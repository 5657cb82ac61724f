// The tokens of verification mails.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122010000_verification_tokens extends Migration {
  override name = 'Migration20261122010000_verification_tokens'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "verification_token" ("hash" varchar(64) not null, "cert_request_id" uuid not null, "email" varchar(254) not null, "expires_date" timestamptz(3) not null, "used_date" timestamptz(3) null, "used_by" varchar(100) null, primary key ("hash"));`,
    )
    this.addSql(`create index "verification_token_cert_request_id_index" on "verification_token" ("cert_request_id");`)
  }
}
