// The API's configuration: the environment, read once by main.ts.
import { z } from 'zod'
import { KeyList } from '../storage/config.ts'
import type { Limits } from './kernel/dependencies.ts'
import { defaultBounds, defaultPasswordBounds } from './kernel/work-pool.ts'

/** `host:port`, the host of IPv6 in brackets. */
const address = z
  .string()
  .regex(/^(\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5}$/)
  .transform(text => {
    const at = text.lastIndexOf(':')
    return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) }
  })

const list = (text: string): string[] =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')

const rate = (usual: number) => z.coerce.number().int().min(0).max(1_000_000).default(usual)

/** The signature algorithms that an access token may have; HMAC and `none` are never among them. */
const tokenAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

export const ApiConfig = z.object({
  /** The address that the API listens at. */
  API_HOST: z.string().default('0.0.0.0'),
  /** The port that the API listens at. */
  API_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Host and port where Prometheus reads the metrics of the API at `/metrics`; absent: nowhere. */
  API_METRICS_ADDRESS: address.optional(),
  /** The address of the API as its clients see it. */
  BASE_URL: z.url().default('http://localhost:8080'),
  /** The database of record. */
  DATABASE_URL: z.string().default('postgresql://certwright:certwright@postgres:5432/certwright'),
  /** The same database as the role that owns the schema; absent: the schema is up to date, or DATABASE_URL's role owns it. */
  MIGRATION_DATABASE_URL: z.string().optional(),
  /** The most database connections of this process. */
  DATABASE_CONNECTIONS: z.coerce.number().int().min(2).max(500).default(20),
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
  /** Where the worker listens. */
  TEMPORAL_TASK_QUEUE: z.string().default('certwright'),
  /** The address of the Temporal UI, which may then ask the codec endpoint; absent: no browser may. */
  TEMPORAL_UI_URL: z.url().optional(),
  /** Lets a Temporal UI that sends no token decode below `/temporal/codec/<key>`; for one machine, not for production. */
  CODEC_KEY: z
    .string()
    .regex(/^[\w-]{32,}$/)
    .optional(),
  /** Keys of the payload codec, `<id>:<base64 of 32 bytes>`, comma separated; the first encrypts. */
  PAYLOAD_KEYS: KeyList,
  /** Master keys that seal secrets in the database, written as above; the first seals. */
  MASTER_KEYS: KeyList,
  /** Master keys for the keys of CAs, where the worker has some: only for policies that sign with those (docs/security.md). */
  CA_MASTER_KEYS: z.preprocess(text => text || undefined, KeyList.optional()),
  /** A file of weak keys, one hash a line (docs/weak-keys.md); read when the process starts. */
  WEAK_KEYS_FILE: z.string().optional(),
  /** The identity provider, exactly as its tokens name it. */
  OIDC_ISSUER: z.url().default('http://localhost:8180/auth/realms/certwright'),
  /** Accepted in `aud` or `azp` of a token, comma separated; empty: any audience of the issuer. */
  OIDC_AUDIENCE: z.string().default('').transform(list),
  /** Accepted signature algorithms, comma separated. */
  OIDC_ALGORITHMS: z
    .string()
    .default('RS256,PS256,ES256')
    .transform(list)
    .pipe(z.array(z.enum(tokenAlgorithms)).min(1)),
  /** Where the issuer's public keys are, when its discovery document cannot be used from here. */
  OIDC_KEYS_URL: z.url().optional(),
  /** How many proxies before the API name the address of their client in X-Forwarded-For; 0: nobody's word is taken. */
  TRUSTED_PROXIES: z.coerce.number().int().min(0).max(10).default(0),
  /** Calls a minute that make keys, for each principal; 0 in this and the next: no limit. Each process counts alone. */
  RATE_LIMIT_KEYS: rate(600),
  /** Calls a minute that judge a key or a PKCS#10 request, or ask an OCSP responder, for each principal. */
  RATE_LIMIT_CHECK: rate(6000),
  /** Calls a minute that sign or decrypt by a signer, for each principal: a SCEP gateway is one for all of its devices. */
  RATE_LIMIT_SIGNER: rate(30_000),
  /** Calls a minute that create, issue or download many at once, for each principal. */
  RATE_LIMIT_BATCH: rate(600),
  /** Imports a minute of certificates and of tables, for each principal. */
  RATE_LIMIT_IMPORT: rate(600),
  /** Searches a minute that may judge by the rules of a policy, for each principal. */
  RATE_LIMIT_SEARCH: rate(1200),
  /** Mails a minute that each principal may have sent to somebody. */
  RATE_LIMIT_MAIL: rate(120),
  /** Calls a minute that check or reset a password, for each principal: one gateway makes them for all its devices. */
  RATE_LIMIT_PASSWORD: rate(60_000),
  /** Calls a minute without a token, for each address (of IPv6: each /64). */
  RATE_LIMIT_PUBLIC: rate(6000),
  /** Works that make or protect keys at the same time; libuv's threads, four of them, must outnumber them and the hashings. */
  KEY_WORK_AT_ONCE: z.coerce.number().int().min(1).max(64).default(defaultBounds.atOnce),
  /** Such works that may wait for their turn; more are refused with 429. */
  KEY_WORK_WAITING: z.coerce.number().int().min(0).max(10_000).default(defaultBounds.waiting),
  /** Passwords that are hashed at the same time, beside the works on keys. */
  PASSWORD_WORK_AT_ONCE: z.coerce.number().int().min(1).max(64).default(defaultPasswordBounds.atOnce),
  /** Passwords that may wait for it; more are refused with 429. */
  PASSWORD_WORK_WAITING: z.coerce.number().int().min(0).max(10_000).default(defaultPasswordBounds.waiting),
  /** silent, fatal, error, warn, info, debug or trace. */
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
})
export type ApiConfig = z.output<typeof ApiConfig>

/** What callers may take of this process. */
export const limitsIn = (config: ApiConfig): Limits => ({
  rates: {
    KEYS: config.RATE_LIMIT_KEYS,
    CHECK: config.RATE_LIMIT_CHECK,
    SIGNER: config.RATE_LIMIT_SIGNER,
    BATCH: config.RATE_LIMIT_BATCH,
    IMPORT: config.RATE_LIMIT_IMPORT,
    SEARCH: config.RATE_LIMIT_SEARCH,
    MAIL: config.RATE_LIMIT_MAIL,
    PASSWORD: config.RATE_LIMIT_PASSWORD,
    PUBLIC: config.RATE_LIMIT_PUBLIC,
  },
  keyWork: { atOnce: config.KEY_WORK_AT_ONCE, waiting: config.KEY_WORK_WAITING },
  passwordWork: { atOnce: config.PASSWORD_WORK_AT_ONCE, waiting: config.PASSWORD_WORK_WAITING },
  trustedProxies: config.TRUSTED_PROXIES,
})
