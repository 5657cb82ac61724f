// Keys of ML-DSA in certificates and CAs.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261123030000_ml_dsa extends Migration {
  override name = 'Migration20261123030000_ml_dsa'

  override up(): void | Promise<void> {
    this.addSql(`alter table "ca" drop constraint "ca_public_key_algorithm_check";`)
    this.addSql(
      `alter table "ca" add constraint "ca_public_key_algorithm_check" check ("public_key_algorithm" in ('RSA', 'EC', 'EDDSA', 'ML_DSA'));`,
    )
    this.addSql(`alter table "certificate" drop constraint "certificate_cert_public_key_algorithm_check";`)
    this.addSql(
      `alter table "certificate" add constraint "certificate_cert_public_key_algorithm_check" check ("cert_public_key_algorithm" in ('RSA', 'EC', 'EDDSA', 'ML_DSA'));`,
    )
  }
}
