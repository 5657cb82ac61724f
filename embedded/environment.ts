// The environment variables that each process of the application gets.
import { tokenAudience } from './servers/identity-provider.ts'
import type { EmbeddedConfig } from './config.ts'
import type { Secrets } from './secrets.ts'
import { temporalNamespace } from './servers/temporal.ts'

/** What every process of ours gets. */
export interface CommonEnvironment {
  readonly BASE_URL: string
  readonly DATABASE_URL: string
  readonly TEMPORAL_ADDRESS: string
  readonly TEMPORAL_NAMESPACE: string
  readonly TEMPORAL_TASK_QUEUE: string
  /** `<keyId>:<base64 of 32 bytes>`, comma separated; the first one seals, all unseal. */
  readonly PAYLOAD_KEYS: string
  /** As PAYLOAD_KEYS, for what is sealed in the database. */
  readonly MASTER_KEYS: string
  readonly LOG_LEVEL: string
}

/** What the migration process gets, and nobody else: the role that owns the schema. */
export interface MigrationEnvironment {
  readonly MIGRATION_DATABASE_URL: string
  readonly DATABASE_URL: string
  readonly MASTER_KEYS: string
}

/** What the REST API gets. */
export interface ApiEnvironment extends CommonEnvironment {
  readonly API_HOST: string
  readonly API_PORT: string
  readonly API_METRICS_ADDRESS: string
  readonly TEMPORAL_UI_URL: string
  readonly CODEC_KEY: string
  readonly OIDC_ISSUER: string
  readonly OIDC_AUDIENCE: string
  readonly OIDC_ALGORITHMS: string
}

/** What the worker gets. */
export interface WorkerEnvironment extends CommonEnvironment {
  /** The client at the identity provider that gets ADMIN at the first start. */
  readonly START_ADMIN_CLIENT_ID: string
  /** The subject of the user who gets ADMIN at the first start. */
  readonly START_ADMIN_USER_ID: string
  readonly START_ADMIN_USER_EMAIL: string
  readonly DIRECTORY_URL: string
  readonly DIRECTORY_CLIENT_ID: string
  readonly DIRECTORY_CLIENT_SECRET: string
  readonly DIRECTORY_AUDIENCE: string
  /** Responders on this machine may be asked. */
  readonly OUTBOUND_PRIVATE_ADDRESSES: string
  readonly WORKER_METRICS_ADDRESS: string
}

/** What the SCEP gateway gets: it is a client of the REST API and knows nothing else. */
export interface ScepGatewayEnvironment {
  readonly SERVER_PORT: string
  readonly SERVER_ADDRESS: string
  readonly SCEP_SERVICE_BASE_URL: string
  readonly SCEP_SERVICE_TOKEN_URL: string
  readonly SCEP_SERVICE_CLIENT_ID: string
  readonly SCEP_SERVICE_CLIENT_SECRET: string
  readonly LOG_LEVEL: string
}

/** The addresses that people and programs use. */
export interface Addresses {
  readonly baseUrl: string
  readonly issuer: string
  readonly tokenUrl: string
  /** The identity provider before `/realms` and `/admin`. */
  readonly directoryUrl: string
  readonly temporal: string
  readonly temporalUiUrl: string
  readonly scepUrl: string
  readonly mailUrl: string
}

/** What the demonstration's people and clients are called at the identity provider. */
export const demoPrincipals = {
  adminClientId: 'certwright-admin',
  clientId: 'certwright-demo',
  /** The worker's own client, which makes API clients. */
  directoryClientId: 'certwright-directory',
  admin: { username: 'admin', email: 'admin@certwright.test', firstName: 'Ada', lastName: 'Administrator' },
} as const

/** The ids that the identity provider gave them. */
export interface DemoIdentities {
  readonly adminUserId: string
}

/** All that the environments are made of. */
export interface Started {
  readonly config: EmbeddedConfig
  readonly secrets: Secrets
  readonly addresses: Addresses
  /** As the role of API and worker. */
  readonly databaseUrl: string
  /** As the role that owns the schema. */
  readonly migrationUrl: string
  readonly identities: DemoIdentities
}

const common = ({ config, secrets, addresses, databaseUrl }: Started): CommonEnvironment => ({
  BASE_URL: addresses.baseUrl,
  DATABASE_URL: databaseUrl,
  TEMPORAL_ADDRESS: addresses.temporal,
  TEMPORAL_NAMESPACE: temporalNamespace,
  TEMPORAL_TASK_QUEUE: 'certwright',
  PAYLOAD_KEYS: secrets.payloadKeys,
  MASTER_KEYS: secrets.masterKeys,
  LOG_LEVEL: config.LOG_LEVEL,
})

/** The environment of the migration process. */
export const migrationEnvironment = ({ secrets, databaseUrl, migrationUrl }: Started): MigrationEnvironment => ({
  MIGRATION_DATABASE_URL: migrationUrl,
  DATABASE_URL: databaseUrl,
  MASTER_KEYS: secrets.masterKeys,
})

/** The environment of the REST API. */
export const apiEnvironment = (started: Started): ApiEnvironment => ({
  ...common(started),
  API_HOST: '127.0.0.1',
  API_PORT: String(started.config.API_PORT),
  API_METRICS_ADDRESS: `127.0.0.1:${started.config.API_METRICS_PORT}`,
  TEMPORAL_UI_URL: started.addresses.temporalUiUrl,
  CODEC_KEY: started.secrets.codecKey,
  OIDC_ISSUER: started.addresses.issuer,
  OIDC_AUDIENCE: tokenAudience,
  OIDC_ALGORITHMS: 'RS256',
})

/** The environment of the worker. */
export const workerEnvironment = (started: Started): WorkerEnvironment => ({
  ...common(started),
  START_ADMIN_CLIENT_ID: demoPrincipals.adminClientId,
  START_ADMIN_USER_ID: started.identities.adminUserId,
  START_ADMIN_USER_EMAIL: demoPrincipals.admin.email,
  DIRECTORY_URL: started.addresses.directoryUrl,
  DIRECTORY_CLIENT_ID: demoPrincipals.directoryClientId,
  DIRECTORY_CLIENT_SECRET: started.secrets.directoryClientSecret,
  DIRECTORY_AUDIENCE: tokenAudience,
  OUTBOUND_PRIVATE_ADDRESSES: '127.0.0.0/8,::1',
  WORKER_METRICS_ADDRESS: `127.0.0.1:${started.config.WORKER_METRICS_PORT}`,
})

/** The API client that a gateway is. */
export interface GatewayCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** The environment of the SCEP gateway. */
export const scepGatewayEnvironment = (
  { config, addresses }: Started,
  { clientId, clientSecret }: GatewayCredentials,
): ScepGatewayEnvironment => ({
  SERVER_PORT: String(config.SCEP_PORT),
  SERVER_ADDRESS: '127.0.0.1',
  SCEP_SERVICE_BASE_URL: addresses.baseUrl,
  SCEP_SERVICE_TOKEN_URL: addresses.tokenUrl,
  SCEP_SERVICE_CLIENT_ID: clientId,
  SCEP_SERVICE_CLIENT_SECRET: clientSecret,
  LOG_LEVEL: config.LOG_LEVEL,
})

/** What a device says and wants: where it enrols, and as whom. */
export interface ScepClientEnvironment {
  readonly SCEP_URL: string
  readonly SCEP_COMMON_NAME: string
  readonly SCEP_CHALLENGE: string
  readonly SCEP_CA_FINGERPRINT: string
  readonly SCEP_FOLDER: string
}
