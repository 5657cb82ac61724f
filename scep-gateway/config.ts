// The configuration of the SCEP gateway: the properties of contract 9.2, read once by main.ts from `application.properties`
// and the environment, which wins.
import { parse } from 'dot-properties'
import { z } from 'zod'

const flag = (usual: boolean) =>
  z
    .enum(['true', 'false'])
    .default(usual ? 'true' : 'false')
    .transform(text => text === 'true')

const numeral = z.string().transform(text => (/^-?\d+$/.test(text) ? Number(text) : Number.NaN))

const whole = (usual: number, [least, most]: readonly [number, number]) =>
  numeral.pipe(z.number().int().min(least).max(most)).default(usual)

const port = numeral.pipe(z.number().int().min(0).max(65_535))

const isBare = (text: string): boolean => {
  const { username, password, search, hash, pathname } = new URL(text)
  return `${username}${password}${search}${hash}` === '' && !/\/api\/v\d+\/?$/.test(pathname)
}
// Only what is a URL has parts to look at.
const address = z
  .url({ protocol: /^https?$/, abort: true })
  .refine(isBare, 'is an address without /api/v1, user, password, query and fragment')
  .transform(text => text.replace(/\/$/, ''))

const properties = {
  /** HTTPS. */
  'server.port': port.default(8507),
  /** The address that it listens on. */
  'server.address': z.string().default('0.0.0.0'),
  /** PEM files; without them a self-signed certificate is made. */
  'server.ssl.certificate': z.string().optional(),
  'server.ssl.private-key': z.string().optional(),
  /** Plain HTTP beside it, for devices that have nothing else; absent: none. */
  'server.http.port': port.optional(),
  /** Where Prometheus reads `/metrics`; absent: nowhere. */
  'server.metrics.port': port.optional(),
  'server.metrics.address': z.string().default('127.0.0.1'),
  /** How many proxies before it name the address of their client in X-Forwarded-For. */
  'server.trusted-proxies': whole(0, [0, 10]),
  /** Connections at a time, of all and of each address (of IPv6: each /64); 0: as many as come. */
  'server.max-connections': whole(4000, [0, 1_000_000]),
  'server.max-connections-per-address': whole(400, [0, 1_000_000]),
  /** So long a TLS handshake may take, and a request until its last octet is there. */
  'server.request-seconds': whole(30, [1, 600]),
  /** The main service and the API client. */
  'scep.service.base-url': address,
  'scep.service.token-url': address,
  'scep.service.client-id': z.string(),
  'scep.service.client-secret': z.string(),
  /** Document 3. */
  'scep.response.include.cachain': flag(true),
  'scep.getcacert.include.cachain.onmessage': flag(true),
  /** Set, it is the one method for all. */
  'scep.static-password': z.string().min(8).optional(),
  /** So long a device waits for its certificate before it is told PENDING. */
  'scep.wait-seconds': whole(10, [0, 300]),
  /** DES3 and SHA-1. */
  'scep.legacy-algorithms': flag(true),
  /** DES and MD5. */
  'scep.insecure-algorithms': flag(false),
  /** Larger is 413. */
  'scep.max-body-bytes': whole(131_072, [1024, 1_048_576]),
  /** So long the same PKCS#10 request of the same signer gets the same certificate again. */
  'scep.replay-minutes': whole(60, [0, 10_080]),
  /** So long after its end a certificate still renews. */
  'scep.renewal-grace-days': whole(0, [0, 365]),
  /** Requests a minute of each address (of IPv6: each /64); 0: as many as come, and as many at a time. */
  'scep.rate-limit': whole(1200, [0, 1_000_000]),
  'log.level': z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
}

const ScepGatewayConfig = z
  .object(properties)
  .refine(config => !config['server.ssl.certificate'] === !config['server.ssl.private-key'], {
    message: 'server.ssl.certificate and server.ssl.private-key belong together',
  })
  .refine(config => config['scep.legacy-algorithms'] || !config['scep.insecure-algorithms'], {
    message: 'scep.insecure-algorithms needs scep.legacy-algorithms',
  })
export type ScepGatewayConfig = z.output<typeof ScepGatewayConfig>

/** The name of the environment variable of a property. */
const variableOf = (property: string): string => property.toUpperCase().replaceAll(/[.-]/g, '_')

const propertyOf = new Map(Object.keys(properties).map(property => [variableOf(property), property]))

/** What is wrong, a line each; no line holds a value. */
export class Misconfigured extends Error {
  override readonly name = 'Misconfigured'

  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
  }
}

type Given = Readonly<Record<string, string | undefined>>

const isSet = ([, value]: readonly [string, string | undefined]): boolean => (value ?? '').trim() !== ''

/** The values by property; the environment holds much else, a file nothing else. */
const givenIn = (inFile: Given, environment: NodeJS.ProcessEnv): Given => {
  const named = Object.entries(inFile).map(([name, value]) => [variableOf(name), value] as const)
  const all = [...named, ...Object.entries(environment)].filter(isSet)
  return Object.fromEntries(all.flatMap(([name, value]) => [[propertyOf.get(name) ?? '', value]]))
}

const lineOf = ({ path: [property], message }: z.core.$ZodIssue, given: Given): string => {
  if (property === undefined) return message
  return `${String(property)}: ${given[String(property)] === undefined ? 'is missing' : message}`
}

/** The properties of a file, which editors of Windows begin with a mark. Misconfigured for `\u` that is no escape. */
const written = (file: string): Given => {
  const text = file.replace(/^\uFEFF/, '')
  const escapes = text.replaceAll(/^[ \t\f]*[#!].*$/gm, '').match(/\\(?:u[\da-f]{0,4}|[^])/gi) ?? []
  if (escapes.some(escape => escape.startsWith('\\u') && escape.length < 6))
    throw new Misconfigured(['\\u is followed by four hexadecimal digits; a backslash is written twice'])
  return parse(text) as Given
}

/** What a file of properties and the environment say together; blank values are as good as none. Misconfigured. */
export const readConfig = (file: string, environment: NodeJS.ProcessEnv): ScepGatewayConfig => {
  const inFile = written(file)
  const given = givenIn(inFile, environment)
  const { data, error } = ScepGatewayConfig.safeParse(given)
  const unknown = Object.keys(inFile).filter(name => !Object.hasOwn(properties, name))
  const lines = unknown.map(name => `${name}: there is no such property`)
  for (const issue of error?.issues ?? []) lines.push(lineOf(issue, given))
  if (data && lines.length === 0) return data
  throw new Misconfigured(lines)
}
