// The worker's configuration: the environment, read once by main.ts.
import { z } from 'zod'
import { parseNetworks } from '../activities/outside/addresses.ts'
import { KeyList } from '../storage/config.ts'

const NetworkList = z.string().transform((text, context) => {
  try {
    return parseNetworks(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'must be networks such as 10.0.0.0/8, comma separated' })
    return z.NEVER
  }
})

export const WorkerConfig = z.object({
  /** The database of record. */
  DATABASE_URL: z.string().default('postgresql://certwright:certwright@postgres:5432/certwright'),
  /** The same database as the role that owns the schema; absent: the schema is up to date, or DATABASE_URL's role owns it. */
  MIGRATION_DATABASE_URL: z.string().optional(),
  /** Host and port of the Temporal server. */
  TEMPORAL_ADDRESS: z.string().default('temporal:7233'),
  /** The namespace of our runs. */
  TEMPORAL_NAMESPACE: z.string().default('certwright'),
  /** PEM file with the CAs that the Temporal server's certificate is believed by; with any of these four, TLS is spoken. */
  TEMPORAL_TLS_CA: z.string().optional(),
  /** PEM file with the certificate (chain) that we show to the Temporal server. */
  TEMPORAL_TLS_CERT: z.string().optional(),
  /** PEM file with its private key. */
  TEMPORAL_TLS_KEY: z.string().optional(),
  /** The name that the Temporal server's certificate has, when it is not that of the address. */
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  /** Where this worker listens. */
  TEMPORAL_TASK_QUEUE: z.string().default('certwright'),
  /** Keys of the payload codec, `<id>:<base64 of 32 bytes>`, comma separated; the first encrypts. */
  PAYLOAD_KEYS: KeyList,
  /** Master keys that seal secrets in the database, written as above; the first seals. */
  MASTER_KEYS: KeyList,
  /** Master keys for the keys of CAs alone, which then only the worker has; absent: MASTER_KEYS. */
  CA_MASTER_KEYS: z.preprocess(text => text || undefined, KeyList.optional()),
  /** A file of weak keys, one hash a line (docs/weak-keys.md); read when the process starts. */
  WEAK_KEYS_FILE: z.string().optional(),
  /** The address of the API as its clients see it; the links in certificates begin with it. */
  BASE_URL: z.url().default('http://localhost:8080'),
  /** The identity provider's address before `/realms` and `/admin`; absent: API clients cannot be written. */
  DIRECTORY_URL: z.preprocess(text => text || undefined, z.url().optional()),
  /** Its realm. */
  DIRECTORY_REALM: z.string().default('certwright'),
  /** The worker's own client there, whose service account has manage-clients, manage-users and view-realm of realm-management. */
  DIRECTORY_CLIENT_ID: z.string().default('certwright-directory'),
  /** Its secret. */
  DIRECTORY_CLIENT_SECRET: z.string().optional(),
  /** The audience that the tokens of new API clients get; empty: none. As OIDC_AUDIENCE of the API. */
  DIRECTORY_AUDIENCE: z.string().default(''),
  /** Networks that are not of the internet in which responders named by certificates may be asked, `10.1.0.0/16,fd00::/64`. */
  OUTBOUND_PRIVATE_ADDRESSES: z.string().default('').pipe(NetworkList),
  /** Client id at the identity provider that gets ADMIN at first start. */
  START_ADMIN_CLIENT_ID: z.string().optional(),
  /** Subject at the identity provider that gets ADMIN at first start. */
  START_ADMIN_USER_ID: z.string().optional(),
  /** The e-mail address of that user. */
  START_ADMIN_USER_EMAIL: z.string().optional(),
  /** Where Prometheus reads the metrics of the worker; absent: nowhere. */
  WORKER_METRICS_ADDRESS: z.string().optional(),
  /** fatal, error, warn, info, debug or trace. */
  LOG_LEVEL: z.string().default('info'),
})
export type WorkerConfig = z.output<typeof WorkerConfig>
