// The gateway's client of the REST API: the token of its API client, calls that end in time, answers that are checked.
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { EndEntityStrategy, valuesOf } from '../domain/enums.ts'

/** Where the service and its identity provider are, and who the gateway is there. */
export interface ServiceAccess {
  readonly baseUrl: string
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
}

/** The service refuses a call for what it says (ApiExceptionResponse). */
export class ServiceRefusal extends Error {
  override readonly name = 'ServiceRefusal'
  readonly status: number
  readonly apiError: string

  constructor(call: string, status: number, said: { readonly apiError: string; readonly errorMessage: string }) {
    super(`${call}: ${status} ${said.apiError}: ${said.errorMessage}`)
    this.status = status
    this.apiError = said.apiError
  }
}

/** The service cannot be asked now, or has not answered in the time that was given. */
export class ServiceDown extends Error {
  override readonly name = 'ServiceDown'
}

const ApiException = z.object({
  apiError: z.string(),
  errorMessage: z
    .string()
    .nullish()
    .transform(text => text ?? ''),
})
const Token = z.object({ access_token: z.string(), expires_in: z.number().default(60) })

/** One call: its body, how long it may take, and what ends it before. */
export interface CallOptions {
  readonly body?: unknown
  readonly milliseconds?: number
  readonly ending?: AbortSignal
}

const usualMs = 30_000

/** A token is not used in the last part of its life, which may pass on the way. */
const marginMs = 15_000
const againAfterMs = 250

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')

/** Repeats what the network broke off, once: every call of the gateway may be repeated. */
const overNetwork = async (call: string, send: () => Promise<Response>, tries = 1): Promise<Response> => {
  try {
    return await send()
  } catch (error) {
    if (isTimeout(error)) throw new ServiceDown(`${call} took too long`, { cause: error })
    if (tries > 1) throw new ServiceDown(`${call} got no answer`, { cause: error })
  }
  await wait(againAfterMs)
  return overNetwork(call, send, tries + 1)
}

const parsed = <S extends z.ZodType>(schema: S, text: string, call: string): z.output<S> => {
  try {
    return schema.parse(text === '' ? {} : JSON.parse(text))
  } catch (error) {
    throw new ServiceDown(`${call} answered something else than it should`, { cause: error })
  }
}

const refusalOf = (call: string, status: number, text: string): Error => {
  // A token that is not taken, though it is new, is a trouble of the installation: no device is told a final word.
  if (status >= 500 || status === 429 || status === 401) return new ServiceDown(`${call} answered ${status}`)
  return new ServiceRefusal(call, status, parsed(ApiException, text, call))
}

/** The token of the API client, asked for when the last one is old, by one of those who wait for it. */
const tokenSource = ({ tokenUrl, clientId, clientSecret }: ServiceAccess) => {
  let asked: Promise<{ text: string; until: number }> | undefined
  const ask = async () => {
    const grant = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'openid',
    }
    const response = await overNetwork('The token', () =>
      fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(grant), signal: AbortSignal.timeout(usualMs) }),
    )
    const text = await response.text()
    if (!response.ok) throw new ServiceDown(`The identity provider gives no token: ${response.status}`)
    const { access_token, expires_in } = parsed(Token, text, 'The token')
    return { text: access_token, until: performance.now() + expires_in * 1000 - marginMs }
  }
  const askAnew = (): NonNullable<typeof asked> => {
    asked = ask().catch((error: unknown) => {
      asked = undefined
      throw error
    })
    return asked
  }
  const get = async (): Promise<string> => {
    const last = asked ?? askAnew()
    const { text, until } = await last
    if (until > performance.now()) return text
    return (await (asked === last || !asked ? askAnew() : asked)).text
  }
  return { get, forget: () => void (asked = undefined) }
}

/** Calls of the REST API, such as `call(Schema, 'GET /scep/…')`; ServiceRefusal, ServiceDown. */
export type ServiceClient = <S extends z.ZodType>(
  schema: S,
  call: string,
  options?: CallOptions,
) => Promise<z.output<S>>

/** Makes a client of the service. */
export const serviceClient = (access: ServiceAccess): ServiceClient => {
  const tokens = tokenSource(access)
  const send = async (call: string, { body, milliseconds = usualMs, ending }: CallOptions): Promise<Response> => {
    const timeout = AbortSignal.timeout(milliseconds)
    const [method = 'GET', path = '/'] = call.split(' ')
    const headers = { authorization: `Bearer ${await tokens.get()}`, 'content-type': 'application/json' }
    const url = `${access.baseUrl}${path.startsWith('/api/') ? path : `/api/v1${path}`}`
    return fetch(url, {
      method,
      headers,
      signal: ending ? AbortSignal.any([timeout, ending]) : timeout,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
  return async (schema, call, options = {}) => {
    let response = await overNetwork(call, () => send(call, options))
    if (response.status === 401) {
      tokens.forget()
      response = await overNetwork(call, () => send(call, options))
    }
    const text = await response.text().catch((error: unknown) => {
      throw new ServiceDown(`${call} broke off`, { cause: error })
    })
    if (!response.ok) throw refusalOf(call, response.status, text)
    return parsed(schema, text, call)
  }
}

/** Base64 as octets. */
const Octets = z.string().transform(text => Buffer.from(text, 'base64'))

const Instant = z.string().transform(text => new Date(text))

/** The parts of the service's answers that the gateway reads (contract 6). */
export const answers = {
  principal: z.object({ id: z.string() }),
  apiClient: z.object({ defaultPolicyId: z.string().nullish() }),
  policy: z.object({
    realmId: z.string(),
    allowedValidForValues: z.array(z.string()),
    endEntityStrategy: z.enum(valuesOf(EndEntityStrategy)),
  }),
  configuration: z.object({
    signerMode: z.enum(['RA', 'CA']),
    signerCertificatePem: z.string(),
    caChainPem: z.string(),
    nextCaChainPem: z.string().nullish(),
  }),
  decrypted: z.object({ decryptedDataBase64: Octets }),
  signature: z.object({ signatureBase64: Octets, signerCertificatePem: z.string() }),
  authentication: z.object({ authenticated: z.boolean(), challengeSpentDate: Instant.nullish() }),
  endEntity: z.object({ id: z.string() }),
  certificate: z.object({
    id: z.string(),
    realmId: z.string(),
    endEntityId: z.string(),
    certStatus: z.string(),
    validNotBefore: z.string(),
    validNotAfter: z.string(),
    revocationDate: z.string().nullish(),
    imported: z.boolean(),
    metadata: z.object({ createdDate: z.string() }),
  }),
  request: z.object({
    id: z.string(),
    endEntityId: z.string(),
    certRequestStatus: z.string(),
    certificateId: z.string().nullish(),
    orderId: z.string().nullish(),
    pkcs10ReqBase64: Octets.nullish(),
    archiveInfo: z.object({ archived: z.boolean() }),
    metadata: z.object({ createdDate: z.string(), lastModifiedDate: z.string() }),
  }),
  chain: z.object({ pemCertificate: z.string() }),
  issued: z.object({
    certificate: z.object({ id: z.string() }),
    certificateChainPem: z.object({ pemCertificate: z.string() }),
  }),
  crl: z.object({ crl: Octets }),
  nothing: z.object({}),
}

/** The requests of a search. */
export const requestPage = z.object({ content: z.array(answers.request) })

/** A certificate request as the gateway knows it. */
export type KnownRequest = z.output<typeof answers.request>

/** A certificate as the gateway knows it. */
export type KnownCertificate = z.output<typeof answers.certificate>
