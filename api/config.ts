// The API's configuration: the environment, read once by main.ts.
import { z } from 'zod'
import { parseKeys } from '../storage/seal.ts'

const keys = z.string({ error: 'is required' }).transform((text, context) => {
  try {
    return parseKeys(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'unreadable' })
    return z.NEVER
  }
})

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
  PAYLOAD_KEYS: keys,
  /** Master keys that seal secrets in the database, written as above; the first seals. */
  MASTER_KEYS: keys,
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
  /** silent, fatal, error, warn, info, debug or trace. */
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
})
export type ApiConfig = z.output<typeof ApiConfig>
