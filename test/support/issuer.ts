// A token issuer of the tests' own: discovery, public keys, and tokens with whatever claims a test wants.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'

/** What a token is to say beside or instead of the usual. */
export interface TokenOptions {
  readonly claims?: JWTPayload
  readonly issuer?: string
  /** Seconds from now; the default is 300. */
  readonly expiresIn?: number
}

const keyPair = () => generateKeyPair('ES256', { extractable: true })

/** Starts an issuer on a free loopback port. */
export const startIssuer = async () => {
  const { privateKey, publicKey } = await keyPair()
  const jwk = { ...(await exportJWK(publicKey)), kid: 'test', alg: 'ES256', use: 'sig' }
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'application/json')
    const { url } = request
    if (url === '/.well-known/openid-configuration')
      response.end(JSON.stringify({ issuer: issuer(), jwks_uri: `${issuer()}/keys` }))
    else response.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sign = (key: CryptoKey | Uint8Array, algorithm: string, options: TokenOptions) =>
    new SignJWT(options.claims ?? {})
      .setProtectedHeader({ alg: algorithm, kid: 'test' })
      .setIssuer(options.issuer ?? issuer())
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1000) + (options.expiresIn ?? 300))
      .sign(key)
  return {
    issuer: issuer(),
    /** A good token, unless the options spoil it. */
    token: (options: TokenOptions = {}) => sign(privateKey, 'ES256', options),
    userToken: (subject: string, claims: JWTPayload = {}) =>
      sign(privateKey, 'ES256', { claims: { sub: subject, preferred_username: subject, ...claims } }),
    clientToken: (clientId: string) =>
      sign(privateKey, 'ES256', {
        claims: { sub: `sa-${clientId}`, azp: clientId, preferred_username: `service-account-${clientId}` },
      }),
    /** Signed with somebody else's key under our key id. */
    foreignToken: async (options: TokenOptions = {}) => sign((await keyPair()).privateKey, 'ES256', options),
    /** Not signed at all, and saying so. */
    unsignedToken: ({ claims = {} }: TokenOptions = {}) =>
      new UnsecuredJWT(claims).setIssuer(issuer()).setIssuedAt().setExpirationTime('5m').encode(),
    /** The public key used as an HMAC secret. */
    confusedToken: async (options: TokenOptions = {}) =>
      sign(new TextEncoder().encode(await exportSPKI(publicKey)), 'HS256', options),
    stop: () => new Promise<void>(resolve => void server.close(() => resolve())),
  }
}

/** A running token issuer. */
export type Issuer = Awaited<ReturnType<typeof startIssuer>>
