// Creating, reading and updating policies (contract 5.1).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Policy } from '../../storage/rows/policy.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { startApi, type Api } from '../support/api.ts'
import { makeEndEntity, makePolicy, makeProvider, makeRealm } from '../support/records.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const path = '/api/v1/policies'
const configuration = (templateSignerName: string) => JSON.stringify({ templateSignerName })
const someRealm = () => makeRealm(api.em())
const holderOf = (realm: Realm, ...permissions: string[]) => api.user({ REALM: { [realm.id]: permissions } })
const admin = () => api.user({ GLOBAL: ['ADMIN'] })
const idsOf = (body: { content: { id: string }[] }) => body.content.map(({ id }) => id)

const policyBody = async (realm: Realm, members: object = {}) => ({
  realmId: realm.id,
  name: `Policy ${randomUUID()}`,
  certificateProviderId: (await makeProvider(api.em())).id,
  certificateProviderConfiguration: configuration('SERVER'),
  ...members,
})

test.each([
  ['post', path],
  ['get', `${path}/${randomUUID()}`],
  ['patch', `${path}/${randomUUID()}`],
  ['post', `${path}/search`],
  ['post', `${path}/realms`],
  ['get', `${path}/realms/${randomUUID()}`],
  ['get', `${path}/certificate-providers/${randomUUID()}`],
  ['post', `${path}/${randomUUID()}/rules`],
  ['put', `${path}/allowed-crypto-params`],
] as const)('%s %s asks for a token', async (method, url) => {
  expect((await api.anonymous[method](url)).status).toBe(401)
})

describe('createNewPolicy', () => {
  test('lists that it was made without are empty in its answers, not null, and narrow nothing', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'POLICIES_CREATE')
    const given = { ...(await policyBody(realm)), cryptoRestrictions: { allowedCryptoAlgorithms: ['EC'] } }
    const restrictions = {
      allowedCryptoAlgorithms: ['EC'],
      allowedRsaKeySizes: [],
      allowedEcNamedCurves: [],
      allowedEdDSANamedCurves: [],
      allowedMlDsaParameterSets: [],
    }
    const { body } = await user.post(path, given)
    expect(body.cryptoRestrictions).toEqual(restrictions)
    // As it was stored before.
    const older = { allowedCryptoAlgorithms: ['EC' as const], allowedRsaKeySizes: null }
    await api.em().nativeUpdate(Policy, { id: body.id }, { cryptoRestrictions: older })
    expect((await user.get(`${path}/${body.id}`)).body.cryptoRestrictions).toEqual(restrictions)
  })

  test('makes a policy with its defaults, grants it to its maker and records it', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'POLICIES_CREATE')
    const given = await policyBody(realm)
    const { status, body } = await user.post(path, given)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      ...given,
      realmName: realm.name,
      certificateProviderName: expect.stringMatching(/^Provider /),
      description: null,
      requiresManualApproval: false,
      dualControl: false,
      requesterMayApprove: true,
      requiresEmailVerification: false,
      allowedKeyPairModes: ['SERVER_GEN', 'PKCS10'],
      allowedValidForValues: ['THREE_MONTHS', 'SIX_MONTHS', 'ONE_YEAR'],
      cryptoRestrictions: {
        allowedCryptoAlgorithms: ['RSA', 'EC', 'EDDSA', 'ML_DSA'],
        allowedRsaKeySizes: [2048, 3072, 4096],
        allowedEcNamedCurves: ['SECP256R1', 'SECP384R1', 'SECP521R1'],
        allowedEdDSANamedCurves: ['ED25519', 'ED448'],
        allowedMlDsaParameterSets: ['ML_DSA_44', 'ML_DSA_65', 'ML_DSA_87'],
      },
      endEntityStrategy: 'COMMON_NAME',
      endEntityRules: [],
      wildcardAllowed: false,
      enforceActiveCertUniqueness: false,
      renewalWindowDays: null,
      cmpConfiguration: null,
      scepConfiguration: null,
      metadata: { version: 1 },
    })
    expect((await user.get(`${path}/${body.id}`)).body).toEqual(body)
    expect((await user.patch(`${path}/${body.id}`, { wildcardAllowed: true })).status).toBe(200)
    const events = await api.em().find(AuditEvent, { objectId: body.id }, { orderBy: { id: 'asc' } })
    expect(events.map(({ eventType, realmId }) => [eventType, realmId])).toEqual([
      ['ENTITY_CREATED', realm.id],
      ['ENTITY_UPDATED', realm.id],
    ])
  })

  test('takes everything that it is given', async () => {
    const realm = await someRealm()
    const given = await policyBody(realm, {
      description: 'For servers',
      requiresManualApproval: true,
      dualControl: true,
      allowedKeyPairModes: ['PUBLIC_KEY'],
      allowedValidForValues: ['ONE_DAY'],
      cryptoRestrictions: { allowedCryptoAlgorithms: ['EC'], allowedEcNamedCurves: ['SECP384R1'] },
      endEntityStrategy: 'DOMAIN',
      endEntityRules: [{ property: 'DOMAIN', requirement: 'REQUIRED', pattern: '.+\\.example', maxCount: 3 }],
      enforceActiveCertUniqueness: true,
      cmpConfiguration: {},
      scepConfiguration: { enabled: false },
    })
    const { status, body } = await (await holderOf(realm, 'POLICIES_CREATE')).post(path, given)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      ...given,
      renewalWindowDays: 30,
      cmpConfiguration: { enabled: true, signatureAlgorithm: 'SHA256_WITH_ECDSA', signerCertificateId: null },
      scepConfiguration: { enabled: false, signerMode: 'RA' },
    })
  })

  test.each(['UPDATE', 'FULL_READ', 'POLICIES_READ'])('is refused with %s alone', async permission => {
    const realm = await someRealm()
    expect((await (await holderOf(realm, permission)).post(path, await policyBody(realm))).status).toBe(403)
  })

  test('is refused to those with rights in another realm only', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const reply = await (await holderOf(other, 'POLICIES_CREATE')).post(path, await policyBody(realm))
    expect([reply.status, reply.body.apiError]).toEqual([403, 'ACCESS_DENIED'])
  })

  const rule = (members: object) => ({ endEntityRules: [{ property: 'EMAIL', requirement: 'OPTIONAL', ...members }] })
  test.each<[string, object, number, string]>([
    ['an unknown realm', { realmId: randomUUID() }, 404, 'REALM_NOT_FOUND'],
    ['an unknown provider', { certificateProviderId: randomUUID() }, 404, 'CERTIFICATE_PROVIDER_NOT_FOUND'],
    ['a missing name', { name: null }, 400, 'INVALID_REQUEST'],
    ['an unknown constant', { endEntityStrategy: 'SHOE_SIZE' }, 400, 'INVALID_REQUEST'],
    ['a window out of range', { renewalWindowDays: 3651 }, 400, 'INVALID_REQUEST'],
    ['no template', { certificateProviderConfiguration: null }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['no JSON', { certificateProviderConfiguration: '{' }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['an unknown template', { certificateProviderConfiguration: configuration('X') }, 422, 'TEMPLATE_NOT_FOUND'],
    ['no mode', { allowedKeyPairModes: [] }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['no period', { allowedValidForValues: [] }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['dual control alone', { dualControl: true }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['a window alone', { renewalWindowDays: 3 }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['a look-ahead', rule({ pattern: 'a(?!b)' }), 422, 'INVALID_POLICY_CONFIGURATION'],
    ['a long pattern', rule({ pattern: 'a'.repeat(257) }), 422, 'INVALID_POLICY_CONFIGURATION'],
    ['an EC CA for SCEP', { scepConfiguration: { signerMode: 'CA' } }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['an unknown signer', { cmpConfiguration: { signerCertificateId: randomUUID() } }, 404, 'CERTIFICATE_NOT_FOUND'],
    [
      'EC keys with an RSA template',
      {
        certificateProviderConfiguration: configuration('SCEP_SIGNER'),
        cryptoRestrictions: { allowedCryptoAlgorithms: ['EC'] },
      },
      422,
      'INVALID_POLICY_CONFIGURATION',
    ],
  ])('refuses %s', async (...[, members, status, apiError]) => {
    const realm = await someRealm()
    const reply = await (await holderOf(realm, 'POLICIES_CREATE')).post(path, await policyBody(realm, members))
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })

  test('a name is taken once in a realm', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'POLICIES_CREATE')
    const { name } = await makePolicy(api.em(), realm)
    const { status, body } = await user.post(path, await policyBody(realm, { name: name.toUpperCase() }))
    expect([status, body.apiError]).toEqual([422, 'ALREADY_EXISTS'])
    const { name: elsewhere } = await makePolicy(api.em(), await someRealm())
    expect((await user.post(path, await policyBody(realm, { name: elsewhere }))).status).toBe(201)
  })

  test('an archived realm or provider takes none', async () => {
    const realm = await makeRealm(api.em(), { archived: true })
    const first = await (await holderOf(realm, 'POLICIES_CREATE')).post(path, await policyBody(realm))
    expect([first.status, first.body.apiError]).toEqual([422, 'ENTITY_ARCHIVED'])
    const gone = await makeProvider(api.em(), { archived: true })
    const living = await someRealm()
    const given = await policyBody(living, { certificateProviderId: gone.id })
    const second = await (await holderOf(living, 'POLICIES_CREATE')).post(path, given)
    expect(second.body.apiError).toBe('ENTITY_ARCHIVED')
  })
})

describe('getPolicy', () => {
  test('is read with a realm right or one of its own, and with nothing else', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const { id } = await makePolicy(api.em(), realm)
    const url = `${path}/${id}`
    expect((await (await holderOf(realm, 'POLICIES_READ')).get(url)).status).toBe(200)
    expect((await (await api.user({ POLICY: { [id]: ['SIGN'] } })).get(url)).status).toBe(200)
    expect((await (await holderOf(realm, 'READ')).get(url)).status).toBe(403)
    expect((await (await holderOf(other, 'FULL_READ')).get(url)).status).toBe(403)
  })

  test('an unknown id is 404', async () => {
    const { status, body } = await (await api.user()).get(`${path}/${randomUUID()}`)
    expect([status, body.apiError]).toEqual([404, 'POLICY_NOT_FOUND'])
  })
})

describe('lists of policies', () => {
  test('searchPolicies narrows by every filter', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const a = await makePolicy(api.em(), realm, { description: 'For_the Moon' })
    const b = await makePolicy(api.em(), realm)
    const gone = await makePolicy(api.em(), realm, { archived: true })
    const c = await makePolicy(api.em(), other)
    const user = await api.user({ REALM: { [realm.id]: ['POLICIES_READ'] }, POLICY: { [c.id]: ['READ'] } })
    const found = async (body: object) => idsOf((await user.post(`${path}/search?sort=createdDate`, body)).body)
    expect(await found({})).toEqual([a.id, b.id, c.id])
    expect(await found({ archived: true })).toEqual([gone.id])
    expect(await found({ realmId: realm.id })).toEqual([a.id, b.id])
    expect(await found({ simpleSearchTerm: 'for_THE' })).toEqual([a.id])
    expect(await found({ simpleSearchTerm: b.name.toUpperCase() })).toEqual([b.id])
    expect(await found({ policyIds: [b.id, c.id, randomUUID()], realmId: realm.id })).toEqual([b.id])
    expect(await found({ certificateProviderId: c.certificateProviderId })).toEqual([c.id])
    expect(await found({ policyIds: [randomUUID()] })).toEqual([])
    expect((await user.post(`${path}/search`, { policyIds: [] })).body.apiError).toBe('INVALID_REQUEST')
  })

  test('searchPolicies refuses a realm in which the caller has nothing, and what is unknown', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const user = await holderOf(other, 'FULL_READ')
    expect((await user.post(`${path}/search`, { realmId: realm.id })).status).toBe(403)
    expect((await user.post(`${path}/search`, { realmId: randomUUID() })).body.apiError).toBe('REALM_NOT_FOUND')
    const unknown = await user.post(`${path}/search`, { certificateProviderId: randomUUID() })
    expect([unknown.status, unknown.body.apiError]).toEqual([404, 'CERTIFICATE_PROVIDER_NOT_FOUND'])
  })

  test('the other lists hold what the caller may read', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const provider = await makeProvider(api.em())
    const members = { certificateProviderId: provider.id }
    const [a, b] = [await makePolicy(api.em(), realm, members), await makePolicy(api.em(), other, members)]
    await makePolicy(api.em(), realm, { archived: true })
    const user = await holderOf(realm, 'FULL_READ')
    expect(idsOf((await user.get(`${path}/realms/${realm.id}`)).body)).toEqual([a.id])
    expect((await user.get(`${path}/realms/${other.id}`)).status).toBe(403)
    expect(idsOf((await user.get(`${path}/certificate-providers/${provider.id}`)).body)).toEqual([a.id])
    const realmIds = [realm.id, other.id, randomUUID()]
    expect(idsOf((await user.post(`${path}/realms`, { realmIds })).body)).toEqual([a.id])
    expect(idsOf((await (await admin()).post(`${path}/realms?sort=name`, { realmIds })).body).sort()).toEqual(
      [a.id, b.id].sort(),
    )
    expect((await user.post(`${path}/realms`, { realmIds: [] })).status).toBe(400)
  })

  test.each(['name', 'realmName', 'certificateProviderName', 'renewalWindowDays', 'endEntityStrategy'])(
    'are sorted by %s',
    async property => {
      await makePolicy(api.em(), await someRealm())
      expect((await (await admin()).post(`${path}/search?sort=${property},desc`, {})).status).toBe(200)
    },
  )
})

describe('updatePolicy', () => {
  const owned = async (members: object = {}) => {
    const realm = await someRealm()
    const policy = await makePolicy(api.em(), realm, members)
    const user = await api.user({ POLICY: { [policy.id]: ['UPDATE'] } })
    return { realm, policy, user, url: `${path}/${policy.id}` }
  }

  test('changes what is stated, with a new provider as well', async () => {
    const { user, url, policy } = await owned()
    const provider = await makeProvider(api.em())
    const { status, body } = await user.patch(url, {
      description: 'New',
      certificateProviderId: provider.id,
      allowedValidForValues: ['ONE_WEEK'],
      version: 1,
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      name: policy.name,
      description: 'New',
      certificateProviderName: provider.name,
      allowedValidForValues: ['ONE_WEEK'],
      metadata: { version: 2 },
    })
    expect((await user.patch(url, { description: null })).body.description).toBeNull()
  })

  test('the renewal window comes and goes with uniqueness', async () => {
    const { user, url } = await owned()
    const windowAfter = async (body: object) => (await user.patch(url, body)).body.renewalWindowDays
    expect(await windowAfter({ enforceActiveCertUniqueness: true })).toBe(30)
    expect(await windowAfter({ renewalWindowDays: 5 })).toBe(5)
    expect(await windowAfter({ name: `Policy ${randomUUID()}` })).toBe(5)
    expect(await windowAfter({ enforceActiveCertUniqueness: false })).toBeNull()
  })

  test.each<[string, object, number, string]>([
    ['an old version', { version: 9 }, 409, 'VERSION_CONFLICT'],
    ['a required member cleared', { name: null }, 400, 'INVALID_REQUEST'],
    ['a contradiction with what stays', { dualControl: true }, 422, 'INVALID_POLICY_CONFIGURATION'],
    ['an unknown template', { certificateProviderConfiguration: configuration('X') }, 422, 'TEMPLATE_NOT_FOUND'],
    ['an unknown provider', { certificateProviderId: randomUUID() }, 404, 'CERTIFICATE_PROVIDER_NOT_FOUND'],
  ])('refuses %s and changes nothing', async (...[, change, status, apiError]) => {
    const { user, url } = await owned()
    const before = (await user.get(url)).body
    const reply = await user.patch(url, change)
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
    expect((await user.get(url)).body).toEqual(before)
  })

  test('refuses a taken name, an archived policy and callers without UPDATE', async () => {
    const { realm, policy, user, url } = await owned()
    const other = await makePolicy(api.em(), realm)
    const taken = await user.patch(url, { name: other.name })
    expect([taken.status, taken.body.apiError]).toEqual([409, 'ALREADY_EXISTS'])
    const gone = await owned({ archived: true })
    const archived = await gone.user.patch(gone.url, { description: 'x' })
    expect([archived.status, archived.body.apiError]).toEqual([409, 'ENTITY_ARCHIVED'])
    const reader = await api.user({ POLICY: { [policy.id]: ['READ', 'DELETE'], [other.id]: ['UPDATE'] } })
    expect((await reader.patch(url, { description: 'x' })).status).toBe(403)
    expect((await (await holderOf(realm, 'UPDATE', 'FULL_READ')).patch(url, { description: 'x' })).status).toBe(403)
  })

  test('a policy never moves to another realm', async () => {
    const { user, url, realm } = await owned()
    expect((await user.patch(url, { realmId: (await someRealm()).id })).body.realmId).toBe(realm.id)
  })
})

describe('checkEndEntityWithRules', () => {
  test('tells every violation, of a stored end entity and of a described one', async () => {
    const realm = await someRealm()
    const policy = await makePolicy(api.em(), realm, {
      endEntityRules: [
        { property: 'EMAIL', requirement: 'REQUIRED' },
        { property: 'DOMAIN', requirement: 'FORBIDDEN' },
      ],
    })
    const stored = await makeEndEntity(api.em(), realm, { domains: ['a.example'] })
    const user = await holderOf(realm, 'FULL_READ')
    const url = `${path}/${policy.id}/rules`
    const first = await user.post(url, { endEntityId: stored.id })
    expect(first.body.violations.map(({ property }: { property: string }) => property)).toEqual(['EMAIL', 'DOMAIN'])
    const second = await user.post(url, { endEntity: { commonName: 'a', email: 'a@example.org' } })
    expect([second.status, second.body]).toEqual([200, { result: true, violations: [] }])
    for (const body of [{}, { endEntityId: stored.id, endEntity: { commonName: 'a' } }])
      expect((await user.post(url, body)).body).toMatchObject({
        apiError: 'INVALID_REQUEST',
        fieldErrors: [{ field: 'endEntityId', message: expect.stringContaining('exactly one of') }],
      })
    expect((await user.post(url, { endEntity: { commonName: 'a', country: 'XX' } })).body.apiError).toBe(
      'VALIDATION_FAILED',
    )
    expect((await user.post(url, { endEntityId: randomUUID() })).body.apiError).toBe('END_ENTITY_NOT_FOUND')
    const foreign = await makeEndEntity(api.em(), await someRealm())
    expect((await user.post(url, { endEntityId: foreign.id })).status).toBe(403)
    expect((await (await admin()).post(url, { endEntityId: foreign.id })).body.apiError).toBe('REALM_MISMATCH')
    expect((await (await holderOf(realm, 'POLICIES_READ')).post(url, { endEntityId: stored.id })).status).toBe(403)
  })
})

describe('getAllowedCryptoParameters', () => {
  test('tells what fits a template', async () => {
    const provider = await makeProvider(api.em())
    const user = await holderOf(await someRealm(), 'POLICIES_CREATE')
    const ask = (template: string, certificateProviderId = provider.id) =>
      user.put(`${path}/allowed-crypto-params`, {
        certificateProviderId,
        certificateProviderConfiguration: configuration(template),
      })
    expect((await ask('SERVER')).body).toMatchObject({
      cryptoAlgorithms: ['RSA', 'EC', 'EDDSA', 'ML_DSA'],
      mlDsaParameterSets: ['ML_DSA_44', 'ML_DSA_65', 'ML_DSA_87'],
    })
    const rsaOnly = { cryptoAlgorithms: ['RSA'], ecNamedCurves: [], mlDsaParameterSets: [] }
    expect((await ask('SCEP_SIGNER')).body).toMatchObject(rsaOnly)
    expect((await ask('X')).body.apiError).toBe('TEMPLATE_NOT_FOUND')
    expect((await ask('SERVER', randomUUID())).status).toBe(404)
    const outsider = await holderOf(await someRealm(), 'FULL_READ')
    const body = { certificateProviderId: provider.id, certificateProviderConfiguration: '{}' }
    expect((await outsider.put(`${path}/allowed-crypto-params`, body)).status).toBe(403)
  })
})
