// The revocation lists of other CAs.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261123040000_fetched_crls extends Migration {
  override name = 'Migration20261123040000_fetched_crls'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "fetched_crl" ("ca_id" uuid not null, "url" varchar(1000) not null, "this_update" timestamptz(3) not null, "next_update" timestamptz(3) null, "fetched_date" timestamptz(3) not null, "der" bytea not null, primary key ("ca_id", "url"));`,
    )
    this.addSql(`create index "fetched_crl_date" on "fetched_crl" ("fetched_date");`)
    this.addSql(
      `alter table "fetched_crl" add constraint "fetched_crl_ca_id_foreign" foreign key ("ca_id") references "ca" ("id") on delete cascade;`,
    )
  }
}
