// Tokens that were checked are not verified again, but for the key that the issuer has now and for the time that it is.
import { beforeAll, describe, expect, test } from '@jest/globals'
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT, type JWK, type JWTVerifyGetKey } from 'jose'
import { authenticateWith, type Authenticate } from '../../api/kernel/authentication.ts'
import { KnownTokens, type CheckedToken } from '../../api/kernel/known-tokens.ts'

const issuer = 'https://issuer.example'
const seconds = () => Math.floor(Date.now() / 1000)

interface Issuing {
  readonly jwk: JWK
  readonly token: string
}

const issuing = async (): Promise<Issuing> => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const token = await new SignJWT({ sub: 'ada' })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuer(issuer)
    .setExpirationTime('5m')
    .sign(privateKey)
  return { jwk: { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }, token }
}

let first: Issuing
let other: Issuing
let published: JWTVerifyGetKey
let asked: number
let authenticate: Authenticate

const publish = (...keys: JWK[]): void => {
  published = createLocalJWKSet({ keys })
}

const refused = { code: 'AUTHENTICATION_FAILED' }
const accepted = { kind: 'USER', subject: 'ada' }

beforeAll(async () => {
  first = await issuing()
  other = await issuing()
})

describe('a token that was accepted', () => {
  const call = (token = first.token) => authenticate(`Bearer ${token}`)

  const begin = async (): Promise<void> => {
    asked = 0
    const keys: JWTVerifyGetKey = (header, token) => {
      asked += 1
      return published(header, token)
    }
    publish(first.jwk)
    authenticate = authenticateWith({ issuer, audiences: [], algorithms: ['ES256'] }, keys)
    await expect(call()).resolves.toMatchObject(accepted)
  }

  test('is accepted again, and the keys of the issuer are looked at each time', async () => {
    await begin()
    await expect(call()).resolves.toMatchObject(accepted)
    expect(asked).toBe(2)
  })

  test('is refused once its key is withdrawn, also where another has its name', async () => {
    await begin()
    publish(other.jwk)
    await expect(call()).rejects.toMatchObject(refused)
    publish()
    await expect(call()).rejects.toMatchObject(refused)
  })

  test('is accepted where the issuer publishes the same key anew', async () => {
    await begin()
    publish(first.jwk)
    await expect(call()).resolves.toMatchObject(accepted)
  })

  test('lends nothing to a token of the same claims with another signature', async () => {
    await begin()
    const [header, claims] = first.token.split('.')
    await expect(call(`${header}.${claims}.${other.token.split('.')[2]}`)).rejects.toMatchObject(refused)
  })
})

describe('what is known of a token', () => {
  const key = { type: 'public' } as unknown as CheckedToken['key']
  const keys: JWTVerifyGetKey = async () => key
  const checked = (payload: CheckedToken['payload']): CheckedToken => ({
    payload,
    protectedHeader: { alg: 'ES256' },
    key,
  })

  const claimsAfter = async (payload: CheckedToken['payload']) => {
    const known = new KnownTokens(60)
    known.keep('token', checked(payload))
    return known.claimsOf('token', keys)
  }

  test('is told until its end and the tolerance are over', async () => {
    expect(await claimsAfter({ exp: seconds() + 300 })).toMatchObject({})
    expect(await claimsAfter({ exp: seconds() - 61 })).toBeUndefined()
    expect(await claimsAfter({})).toBeUndefined()
    expect(await claimsAfter({ exp: seconds() + 300, nbf: seconds() + 200 })).toBeUndefined()
  })

  test('is bounded: the one that was used least goes first', async () => {
    const known = new KnownTokens(60, 2)
    for (const name of ['a', 'b']) known.keep(name, checked({ exp: seconds() + 300, sub: name }))
    await known.claimsOf('a', keys)
    known.keep('c', checked({ exp: seconds() + 300, sub: 'c' }))
    const left = await Promise.all(['a', 'b', 'c'].map(name => known.claimsOf(name, keys)))
    expect(left.map(claims => claims?.sub)).toEqual(['a', undefined, 'c'])
  })
})
