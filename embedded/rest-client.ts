// A small client of the REST API for the demonstration.
/** Who asks for a token: a person through a client, or a client for itself. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly username?: string
  readonly password?: string
}

/** A refusal of the REST interface. */
export class RestError extends Error {
  readonly status: number
  readonly apiError: string

  constructor(call: string, status: number, body: string) {
    super(`${call} answered ${status}: ${body.slice(0, 500)}`)
    this.status = status
    this.apiError = /"apiError":"([A-Z_0-9]+)"/.exec(body)?.[1] ?? ''
  }
}

/** Whether an error is the refusal with this code. */
export const refusedAs = (error: unknown, apiError: string): boolean =>
  error instanceof RestError && error.apiError === apiError

/** Gets an access token at the path of the identity provider (contract 1.5). */
export const getToken = async (tokenUrl: string, credentials: Credentials): Promise<string> => {
  const { clientId, clientSecret, username, password } = credentials
  const person = username !== undefined && password !== undefined ? { username, password } : undefined
  const body = new URLSearchParams({
    grant_type: person ? 'password' : 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: 'openid',
    ...person,
  })
  const response = await fetch(tokenUrl, { method: 'POST', body })
  const text = await response.text()
  if (!response.ok) throw new RestError(`POST ${tokenUrl}`, response.status, text)
  return (JSON.parse(text) as { access_token: string }).access_token
}

/** One call of the REST interface, such as `call('GET /realms/')`; rejects with a RestError when it is refused. */
export type RestClient = <T>(call: string, body?: unknown) => Promise<T>

/** A client of the REST interface with the rights of a token. */
export const restClient =
  (baseUrl: string, token: string): RestClient =>
  async <T>(call: string, body?: unknown): Promise<T> => {
    const [method = 'GET', path = '/'] = call.split(' ')
    const whole = path.startsWith('/api/') ? path : `/api/v1${path}`
    const response = await fetch(`${baseUrl}${whole}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new RestError(call, response.status, text)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
