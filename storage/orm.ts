// The one place that knows all entities and how to reach the database.
import { MikroORM, type EntityManager } from '@mikro-orm/postgresql'
import { Migrator } from '@mikro-orm/migrations'
import { takeLock } from './lock.ts'
import { grantUse } from './roles.ts'
import { ApiClient } from './rows/api-client.ts'
import { AuditEvent } from './rows/audit-event.ts'
import { Ca } from './rows/ca.ts'
import { CertRequest } from './rows/cert-request.ts'
import { Certificate } from './rows/certificate.ts'
import { CertificateOrder, OrderItem } from './rows/certificate-order.ts'
import { CertificateProvider } from './rows/certificate-provider.ts'
import { CompromisedKey } from './rows/compromised-key.ts'
import { Crl } from './rows/crl.ts'
import { CrlChange } from './rows/crl-change.ts'
import { DeletedClient } from './rows/deleted-client.ts'
import { EndEntity } from './rows/end-entity.ts'
import { EndEntityPassword } from './rows/end-entity-password.ts'
import { ExpiryNotice } from './rows/expiry-notice.ts'
import { FetchedCrl } from './rows/fetched-crl.ts'
import { ImportStep } from './rows/import-step.ts'
import { KeptRevocation } from './rows/kept-revocation.ts'
import { Mail, MailGroup } from './rows/mail.ts'
import { MailingList } from './rows/mailing-list.ts'
import { OcspSigner } from './rows/ocsp-signer.ts'
import { PermissionGrant } from './rows/permission-grant.ts'
import { Policy } from './rows/policy.ts'
import { PolicySigner } from './rows/policy-signer.ts'
import { PrivateKey } from './rows/private-key.ts'
import { Purge, PurgeItem } from './rows/purge.ts'
import { Realm } from './rows/realm.ts'
import { Revocation, RevocationItem } from './rows/revocation.ts'
import { ScepChallenge } from './rows/scep-challenge.ts'
import { Setting } from './rows/setting.ts'
import { Stamp } from './rows/stamp.ts'
import { User } from './rows/user.ts'
import { VerificationToken } from './rows/verification-token.ts'
import { prepareConnections } from './statement.ts'

const entities = [
  ApiClient,
  AuditEvent,
  Ca,
  CertRequest,
  Certificate,
  CertificateOrder,
  CertificateProvider,
  CompromisedKey,
  Crl,
  CrlChange,
  DeletedClient,
  EndEntity,
  EndEntityPassword,
  ExpiryNotice,
  FetchedCrl,
  ImportStep,
  KeptRevocation,
  Mail,
  MailGroup,
  MailingList,
  OcspSigner,
  OrderItem,
  PermissionGrant,
  Policy,
  PolicySigner,
  PrivateKey,
  Purge,
  PurgeItem,
  Realm,
  Revocation,
  RevocationItem,
  ScepChallenge,
  Setting,
  User,
  VerificationToken,
]

/** How the database is reached. */
export interface StorageOptions {
  /** `postgresql://user:password@host:port/database` */
  readonly url: string
  /** At most so many connections are open; 10 unless stated. */
  readonly connections?: number
  /** What rows are dated by; the clock of the machine unless stated. */
  readonly clock?: () => Date
  /**
   * A process that is frozen or cut off in a transaction holds rows that others wait for: so many milliseconds, a minute
   * unless stated, then it is rolled back.
   */
  readonly longestSilenceMs?: number
}

/** Opens the storage; `migrate` brings its schema up to date. */
export const openStorage = ({
  url,
  connections = 10,
  clock = () => new Date(),
  longestSilenceMs = 60_000,
}: StorageOptions): Promise<MikroORM> =>
  MikroORM.init({
    clientUrl: url,
    entities,
    subscribers: [new Stamp(clock)],
    extensions: [Migrator],
    pool: { min: 0, max: connections },
    driverOptions: { idle_in_transaction_session_timeout: longestSilenceMs, onPoolCreated: prepareConnections },
    migrations: {
      path: new URL('migrations', import.meta.url).pathname,
      glob: '*.ts',
      emit: 'ts',
      snapshot: false,
      silent: true,
    },
    // Functions and triggers are made by migrations alone.
    schemaGenerator: { ignoreRoutines: true, ignoreTriggers: true },
    debug: false,
  })

/** Resolves when PostgreSQL answers, else rejects. */
export const checkConnection = async (orm: MikroORM): Promise<void> => {
  await orm.em.fork().execute('select 1')
}

const migrateAnd = (orm: MikroORM, then: (em: EntityManager) => Promise<void>): Promise<void> =>
  orm.em.fork().transactional(async em => {
    await takeLock(em, 'MIGRATION')
    // The migrator has a connection of its own: this one is silent for as long as the largest table takes.
    await em.execute('set local idle_in_transaction_session_timeout = 0')
    await orm.migrator.up()
    await then(em)
  })

/** Brings the schema up to date; several processes may call it at once. */
export const migrate = (orm: MikroORM): Promise<void> => migrateAnd(orm, async () => {})

/** Brings the schema up to date and lets another role use it; several processes may call it at once. */
export const migrateFor = (orm: MikroORM, role: string): Promise<void> => migrateAnd(orm, em => grantUse(em, role))
