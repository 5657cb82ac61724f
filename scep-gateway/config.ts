// The configuration of the SCEP gateway: the keys of contract 9.2, read once by main.ts from `application.properties` and
// the environment, which wins.
import { parse } from 'dot-properties'
import { z } from 'zod'

const flag = (usual: boolean) =>
  z
    .enum(['true', 'false'])
    .default(usual ? 'true' : 'false')
    .transform(text => text === 'true')

const whole = (usual: number, [least, most]: readonly [number, number]) =>
  z.coerce.number().int().min(least).max(most).default(usual)

const port = z.coerce.number().int().min(0).max(65_535)

export const ScepGatewayConfig = z
  .object({
    /** `server.port`: HTTPS. */
    SERVER_PORT: port.default(8507),
    /** `server.address`: the address that it listens on. */
    SERVER_ADDRESS: z.string().default('0.0.0.0'),
    /** `server.ssl.certificate` and `server.ssl.private-key`: PEM files; without them a self-signed certificate is made. */
    SERVER_SSL_CERTIFICATE: z.string().optional(),
    SERVER_SSL_PRIVATE_KEY: z.string().optional(),
    /** `server.http.port`: plain HTTP beside it, for devices that have nothing else; absent: none. */
    SERVER_HTTP_PORT: port.optional(),
    /** `server.metrics.port`: where Prometheus reads `/metrics`, on this machine alone; absent: nowhere. */
    SERVER_METRICS_PORT: port.optional(),
    /** `server.trusted-proxies`: how many proxies before it name the address of their client in X-Forwarded-For. */
    SERVER_TRUSTED_PROXIES: whole(0, [0, 10]),
    /** `scep.service.…`: the main service and the API client. */
    SCEP_SERVICE_BASE_URL: z.url(),
    SCEP_SERVICE_TOKEN_URL: z.url(),
    SCEP_SERVICE_CLIENT_ID: z.string().min(1),
    SCEP_SERVICE_CLIENT_SECRET: z.string().min(1),
    /** `scep.response.include.cachain`, `scep.getcacert.include.cachain.onmessage`: document 3. */
    SCEP_RESPONSE_INCLUDE_CACHAIN: flag(true),
    SCEP_GETCACERT_INCLUDE_CACHAIN_ONMESSAGE: flag(true),
    /** `scep.static-password`: set, it is the one method for all. */
    SCEP_STATIC_PASSWORD: z.string().min(8).optional(),
    /** `scep.wait-seconds`: so long a device waits for its certificate before it is told PENDING. */
    SCEP_WAIT_SECONDS: whole(10, [0, 300]),
    /** `scep.legacy-algorithms`: DES3 and SHA-1. */
    SCEP_LEGACY_ALGORITHMS: flag(true),
    /** `scep.insecure-algorithms`: DES and MD5. */
    SCEP_INSECURE_ALGORITHMS: flag(false),
    /** `scep.max-body-bytes`: larger is 413. */
    SCEP_MAX_BODY_BYTES: whole(131_072, [1024, 1_048_576]),
    /** `scep.replay-minutes`: so long the same PKCS#10 request of the same signer gets the same certificate again. */
    SCEP_REPLAY_MINUTES: whole(60, [0, 10_080]),
    /** `scep.renewal-grace-days`: so long after its end a certificate still renews. */
    SCEP_RENEWAL_GRACE_DAYS: whole(0, [0, 365]),
    /** `scep.rate-limit`: requests a minute of each address (of IPv6: each /64); 0: as many as come. */
    SCEP_RATE_LIMIT: whole(1200, [0, 1_000_000]),
    /** `log.level`. */
    LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  })
  .refine(({ SERVER_SSL_CERTIFICATE: one, SERVER_SSL_PRIVATE_KEY: other }) => !one === !other, {
    message: 'server.ssl.certificate and server.ssl.private-key belong together',
  })
  .refine(({ SCEP_INSECURE_ALGORITHMS: insecure, SCEP_LEGACY_ALGORITHMS: legacy }) => legacy || !insecure, {
    message: 'scep.insecure-algorithms needs scep.legacy-algorithms',
  })
export type ScepGatewayConfig = z.output<typeof ScepGatewayConfig>

/** The name of the environment variable of a key. */
const variableOf = (key: string): string => key.toUpperCase().replaceAll(/[.-]/g, '_')

const isSet = ([, value]: readonly [string, unknown]): boolean => value !== undefined && value !== ''

/** What a file of properties and the environment say together; empty values are as good as none. */
export const settingsIn = (properties: string, environment: NodeJS.ProcessEnv): Readonly<Record<string, unknown>> => {
  const ofFile = Object.entries(parse(properties)).map(([key, value]) => [variableOf(key), value] as const)
  return Object.fromEntries([...ofFile, ...Object.entries(environment)].filter(isSet))
}
