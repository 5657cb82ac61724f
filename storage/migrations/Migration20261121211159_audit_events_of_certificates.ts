// The events of a certificate are found by an index.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261121211159_audit_events_of_certificates extends Migration {
  override name = 'Migration20261121211159_audit_events_of_certificates'

  override up(): void | Promise<void> {
    this.addSql(
      `create index audit_event_certificate on audit_event (certificate_id, id desc) where certificate_id is not null;`,
    )
  }
}
