// Items of orders by their places: a run reads its chunk of them, and lists read a page, without the rest of the order. The key begins
// with the request instead, so that there are two indexes as before.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122210000_places_of_items extends Migration {
  override name = 'Migration20261122210000_places_of_items'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "order_item" drop constraint "order_item_pkey", add constraint "order_item_pkey" primary key ("cert_request_id", "order_id");`,
    )
    this.addSql(`create index "order_item_place" on "order_item" ("order_id", "position");`)
    this.addSql(`drop index "order_item_request";`)
  }
}
