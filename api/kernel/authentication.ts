// Who holds this bearer token (contract 1.5): the signature and claims are checked here, the record is found in storage.
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import { Failure } from '../../domain/failure.ts'
import type { TokenFacts } from '../../storage/principal.ts'
import { KnownTokens } from './known-tokens.ts'

const clockToleranceSeconds = 60
const patienceMs = 5000
const serviceAccountPrefix = 'service-account-'

/** What a token must satisfy. */
export interface TokenRules {
  /** The issuer, which is also where its discovery document is. */
  readonly issuer: string
  /** Accepted in `aud` or `azp`; empty: not asked for. */
  readonly audiences: readonly string[]
  /** The signature algorithms that are accepted, whatever a token says. */
  readonly algorithms: readonly string[]
  /** Where the public keys are when the discovery document cannot be used from here. */
  readonly keysUrl?: string | undefined
}

/** Turns the Authorization header into the facts of a valid token, else AUTHENTICATION_FAILED. */
export type Authenticate = (header: string | undefined) => Promise<TokenFacts>

const refuse = (reason: string): never => {
  throw new Failure('AUTHENTICATION_FAILED', reason)
}

const tokenIn = (header: string | undefined): string =>
  /^Bearer +([\w.~+/=-]+) *$/i.exec(header ?? '')?.[1] ?? refuse('A bearer token is required.')

/** The fault is not the token's: the log has the cause, the caller tries again. */
const unavailable = (cause: unknown): Failure => {
  const failure = new Failure('SERVICE_UNAVAILABLE', 'The keys of the identity provider cannot be had now.')
  failure.cause = cause
  return failure
}

const discover = async (issuer: string): Promise<URL> => {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs) })
  const { jwks_uri: keys, issuer: stated } = (await response.json()) as { jwks_uri?: string; issuer?: string }
  if (!response.ok || keys === undefined || stated !== issuer) throw new Error(`${url} does not describe ${issuer}.`)
  return new URL(keys)
}

/** A set without any key is as broken as one that cannot be read. */
const remoteKeys = (url: URL): JWTVerifyGetKey => {
  const keys = createRemoteJWKSet(url, { timeoutDuration: patienceMs })
  return (header, token) =>
    keys(header, token).catch((error: unknown) => {
      if (keys.jwks()?.keys.length === 0) throw new Error(`The key set at ${url.href} is empty.`, { cause: error })
      throw error
    })
}

/** The public keys of the issuer: looked for at first use and again after a failure, then kept and refreshed. */
export const issuerKeys = ({ issuer, keysUrl }: TokenRules): JWTVerifyGetKey => {
  let found: Promise<JWTVerifyGetKey> | undefined
  const find = async () => remoteKeys(keysUrl === undefined ? await discover(issuer) : new URL(keysUrl))
  return async (header, token) => {
    found ??= find().catch((error: unknown) => {
      found = undefined
      throw new Error(`The identity provider ${issuer} cannot be reached.`, { cause: error })
    })
    return (await found)(header, token)
  }
}

const isForUs = ({ aud, azp }: JWTPayload, audiences: readonly string[]): boolean =>
  audiences.length === 0 || [aud, azp].flat().some(audience => audiences.includes(String(audience)))

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

const clientFacts = (claims: JWTPayload, account: string): TokenFacts => {
  const clientId = text(claims['client_id']) ?? text(claims['azp']) ?? refuse('The token names no client.')
  // Somebody who may choose a user name must not become the API client whose tokens carry the same prefix.
  if (account.toLowerCase() !== `${serviceAccountPrefix}${clientId}`.toLowerCase())
    refuse('The token names two clients.')
  const { iat } = claims
  return { kind: 'API_CLIENT', clientId, ...(typeof iat === 'number' && { issuedDate: new Date(iat * 1000) }) }
}

/** What the claims of a checked token tell of its subject. */
export const factsOf = (claims: JWTPayload): TokenFacts => {
  const account = text(claims['preferred_username']) ?? ''
  if (account.startsWith(serviceAccountPrefix)) return clientFacts(claims, account)
  const subject = claims.sub ?? refuse('The token names no subject.')
  return {
    kind: 'USER',
    subject,
    email: text(claims['email']),
    firstName: text(claims['given_name']),
    lastName: text(claims['family_name']),
    name: text(claims['name']) ?? (account || subject),
  }
}

/** What a token alone can cause while its key is looked for; all else is the fault of the keys. */
const isUnknownKey = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys

const orUnavailable =
  (keys: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keys(header, token)
    } catch (error) {
      throw isUnknownKey(error) ? error : unavailable(error)
    }
  }

/** The token is at fault where the library says what is wrong with it, and the key where it cannot even use that. */
const refusalOf = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  return error instanceof errors.JOSEError
    ? new Failure('AUTHENTICATION_FAILED', 'The token is not valid.')
    : unavailable(error)
}

const verified = async (token: string, { issuer, algorithms }: TokenRules, keys: JWTVerifyGetKey) =>
  jwtVerify(token, keys, {
    issuer,
    algorithms: [...algorithms],
    clockTolerance: clockToleranceSeconds,
    requiredClaims: ['exp'],
  })

/** The claims of a token: checked now, or a moment ago under the key that the issuer still has. */
const claimsReader = (rules: TokenRules, given: JWTVerifyGetKey) => {
  const keys = orUnavailable(given)
  const known = new KnownTokens(clockToleranceSeconds)
  return async (token: string): Promise<JWTPayload> => {
    const before = await known.claimsOf(token, keys)
    if (before) return before
    const checked = await verified(token, rules, keys)
    known.keep(token, checked)
    return checked.payload
  }
}

/** Makes the check of tokens under these rules. */
export const authenticateWith = (rules: TokenRules, keys: JWTVerifyGetKey = issuerKeys(rules)): Authenticate => {
  const claimsIn = claimsReader(rules, keys)
  return async header => {
    const payload = await claimsIn(tokenIn(header)).catch((error: unknown) => {
      throw refusalOf(error)
    })
    if (!isForUs(payload, rules.audiences)) refuse('The token is for another audience.')
    if (!['Bearer', null].includes(text(payload['typ']))) refuse('The token is not an access token.')
    return factsOf(payload)
  }
}
