// What a caller names its certificate requests by, and the key under which it makes one only once.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122130000_request_references extends Migration {
  override name = 'Migration20261122130000_request_references'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "cert_request" add column "reference" varchar(128) null, add column "idempotency_key" varchar(128) null;`,
    )
    this.addSql(
      `create index cert_request_reference on cert_request (realm_id, reference, created_date desc) where reference is not null;`,
    )
    this.addSql(
      `create unique index cert_request_idempotency on cert_request (created_by, idempotency_key) where idempotency_key is not null;`,
    )
  }
}
