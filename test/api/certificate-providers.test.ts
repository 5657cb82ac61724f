// Creating, reading, updating and checking certificate providers.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { makeProvider, makeRealm } from '../support/records.ts'
import { startService, type Service } from '../support/service.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const path = '/api/v1/certificate-providers'
const admin = () => service.user({ GLOBAL: ['ADMIN'] })
const everythingButAdmin = async () => {
  const realm = await makeRealm(service.em())
  return service.user({
    GLOBAL: ['REALMS_FULL_READ', 'REALMS_CREATE', 'USERS_UPDATE'],
    REALM: { [realm.id]: ['FULL_READ', 'UPDATE', 'DELETE', 'POLICIES_CREATE'] },
  })
}
const providerBody = (configuration: object = {}, members: object = {}) => ({
  name: `Provider ${randomUUID()}`,
  certificateProviderType: 'LOCAL',
  configuration: JSON.stringify(configuration),
  ...members,
})

const calls = [
  ['post', path, providerBody()],
  ['get', `${path}/${randomUUID()}`, undefined],
  ['post', `${path}/search`, {}],
  ['patch', `${path}/${randomUUID()}`, { name: 'x' }],
  ['post', `${path}/${randomUUID()}/check-connection`, undefined],
] as const

test.each(calls)('%s %s asks for a token, and for ADMIN before anything else', async (method, url, body) => {
  const send = (caller: typeof service.anonymous) => (method === 'get' ? caller.get(url) : caller[method](url, body))
  expect((await send(service.anonymous)).status).toBe(401)
  const refused = await send(await everythingButAdmin())
  expect([refused.status, refused.body.apiError]).toEqual([403, 'ACCESS_DENIED'])
})

describe('createCertificateProvider', () => {
  test('makes a LOCAL provider with its CAs', async () => {
    const user = await admin()
    const given = providerBody({
      keyAlgorithm: 'EDDSA',
      templates: [{ name: 'KIOSK', extendedKeyUsages: ['clientAuth'] }],
    })
    const { status, body } = await user.post(path, given)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name: given.name,
      certificateProviderType: 'LOCAL',
      connectionStatus: 'UNKNOWN',
      lastCheckedDate: null,
      archiveInfo: { archived: false },
      metadata: { createdBy: user.id, version: 1 },
    })
    expect(JSON.parse(body.configuration)).toMatchObject({
      hierarchy: 'ROOT_AND_ISSUING',
      keyAlgorithm: 'EDDSA',
      curve: 'ED25519',
      rootSubjectDn: `CN=${given.name} Root CA`,
      templates: [{ name: 'KIOSK' }],
    })
    expect((await user.get(`${path}/${body.id}`)).body).toEqual(body)
    const cas = await service.em().find(Ca, { certificateProviderId: body.id })
    expect(new Set(cas.map(({ subjectDn, publicKeyAlgorithm }) => `${subjectDn} ${publicKeyAlgorithm}`))).toEqual(
      new Set([`CN=${given.name} Issuing CA EDDSA`, `CN=${given.name} Root CA EDDSA`]),
    )
    const events = await service.em().find(AuditEvent, { objectId: body.id })
    expect(events.map(({ eventType }) => eventType)).toEqual(['ENTITY_CREATED'])
  })

  test('lets a single CA live longer than a root would, and a template have any name', async () => {
    const members = { hierarchy: 'SINGLE', issuingValidityYears: 25, templates: [{ name: 'toString' }] }
    const { status, body } = await (await admin()).post(path, providerBody(members))
    expect(status).toBe(201)
    const ca = await service.em().findOneOrFail(Ca, { certificateProviderId: body.id })
    expect(ca.validNotAfter.getTime()).toBeGreaterThan(Date.now() + 24.9 * 365 * 86_400_000)
  })

  test.each<[string, object, number, string]>([
    ['no JSON', { configuration: '{' }, 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a JSON list', { configuration: '[]' }, 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['an unknown member', providerBody({ color: 1 }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a member that every object has', providerBody({ toString: 'x' }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    [
      'a member for the prototype',
      { configuration: '{"__proto__":{"keyAlgorithm":"RSA"}}' },
      422,
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    [
      'a name that would be encoded as another',
      providerBody({ issuingSubjectDn: 'CN=Odd,0.99=#0c0141' }),
      422,
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    [
      'an issuing CA that outlives its root',
      providerBody({ issuingValidityYears: 21 }),
      422,
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    [
      'a purpose twice, by name and by OID',
      providerBody({ templates: [{ name: 'A', extendedKeyUsages: ['serverAuth', '1.3.6.1.5.5.7.3.1'] }] }),
      422,
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    ['an unknown algorithm', providerBody({ keyAlgorithm: 'DSA' }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a weak key', providerBody({ keyAlgorithm: 'RSA', keySize: 1024 }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['no partition', providerBody({ crlPartitions: 0 }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['too many partitions', providerBody({ crlPartitions: 257 }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a part of a partition', providerBody({ crlPartitions: 1.5 }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['partitions as text', providerBody({ crlPartitions: '4' }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['deltas of no time', providerBody({ deltaCrlHours: -1 }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    [
      'deltas that outlive the list',
      providerBody({ crlValidityHours: 24, deltaCrlHours: 24 }),
      422,
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    ['a broken name', providerBody({ rootSubjectDn: 'Root' }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a template without name', providerBody({ templates: [{}] }), 422, 'INVALID_PROVIDER_CONFIGURATION'],
    [
      'a template twice',
      providerBody({ templates: [{ name: 'A' }, { name: 'A' }] }),
      422,
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    [
      'a template that signs certificates',
      providerBody({ templates: [{ name: 'A', keyUsages: ['keyCertSign'] }] }),
      422,
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    ['another kind', { certificateProviderType: 'PAPER' }, 400, 'INVALID_REQUEST'],
    ['no configuration', { configuration: null }, 400, 'INVALID_REQUEST'],
    ['no name', { name: '' }, 400, 'INVALID_REQUEST'],
  ])('refuses %s', async (...[, members, status, apiError]) => {
    const reply = await (await admin()).post(path, { ...providerBody(), ...members })
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })

  test('takes a name once', async () => {
    const { name } = await makeProvider(service.em())
    const { status, body } = await (await admin()).post(path, providerBody({}, { name: name.toUpperCase() }))
    expect([status, body.apiError]).toEqual([422, 'ALREADY_EXISTS'])
  })
})

test('secrets are never shown, only that they are set', async () => {
  const em = service.em()
  const { id } = await makeProvider(em)
  await em.nativeUpdate(CertificateProvider, { id }, { secretNames: ['challengePassword'] })
  const { body } = await (await admin()).get(`${path}/${id}`)
  expect(JSON.parse(body.configuration)).toMatchObject({ challengePasswordSet: true })
})

test('an unknown provider is 404', async () => {
  const { status, body } = await (await admin()).get(`${path}/${randomUUID()}`)
  expect([status, body.apiError]).toEqual([404, 'CERTIFICATE_PROVIDER_NOT_FOUND'])
})

describe('searches', () => {
  test('find by name, kind and archive', async () => {
    const user = await admin()
    const word = randomUUID()
    const provider = await makeProvider(service.em(), { name: `Find ${word}` })
    const gone = await makeProvider(service.em(), { name: `Gone ${word}`, archived: true })
    const found = async (body: object) =>
      (await user.post(`${path}/search`, body)).body.content.map(({ id }: { id: string }) => id)
    expect(await found({ simpleSearchTerm: word.toUpperCase() })).toEqual([provider.id])
    expect(await found({ simpleSearchTerm: word, archived: true })).toEqual([gone.id])
    expect(await found({ simpleSearchTerm: word, certificateProviderTypes: ['LOCAL'] })).toEqual([provider.id])
    expect((await user.post(`${path}/search`, { certificateProviderTypes: [] })).status).toBe(400)
    expect((await user.post(`${path}/search?sort=configuration`, {})).status).toBe(200)
  })

  test('the minimal one serves whoever may shape a policy, and shows no configuration', async () => {
    const realm = await makeRealm(service.em())
    const provider = await makeProvider(service.em())
    const maker = await service.user({ REALM: { [realm.id]: ['POLICIES_CREATE'] } })
    const { status, body } = await maker.post(`${path}/minimal/search`, { simpleSearchTerm: provider.name })
    expect(status).toBe(200)
    expect(body.content).toEqual([{ id: provider.id, name: provider.name, certificateProviderType: 'LOCAL' }])
    const changer = await service.user({ POLICY: { [randomUUID()]: ['UPDATE'] } })
    expect((await changer.post(`${path}/minimal/search`, {})).status).toBe(200)
    const reader = await service.user({ GLOBAL: ['REALMS_FULL_READ'], REALM: { [realm.id]: ['FULL_READ', 'UPDATE'] } })
    expect((await reader.post(`${path}/minimal/search`, {})).status).toBe(403)
    expect((await service.anonymous.post(`${path}/minimal/search`, {})).status).toBe(401)
  })
})

describe('updateCertificateProvider', () => {
  const changeOf = async (change: object, members: object = {}) => {
    const { id } = await makeProvider(service.em(), members)
    return (await admin()).patch(`${path}/${id}`, change)
  }

  test('changes the name and what is not fixed', async () => {
    const name = `Provider ${randomUUID()}`
    const { status, body } = await changeOf({ name, configuration: '{"crlValidityHours":24}', version: 1 })
    expect([status, body.name, body.metadata.version]).toEqual([200, name, 2])
    const configuration = JSON.parse(body.configuration)
    expect(configuration).toMatchObject({ crlValidityHours: 24, keyAlgorithm: 'EC' })
    expect(configuration.rootSubjectDn).not.toContain(name)
  })

  test('keeps the members that it does not name; null brings back the default, a list is replaced', async () => {
    const user = await admin()
    const { id } = await makeProvider(service.em())
    const configured = async (configuration: object) =>
      JSON.parse(
        (await user.patch(`${path}/${id}`, { configuration: JSON.stringify(configuration) })).body.configuration,
      )
    const templates = [{ name: 'KIOSK', extendedKeyUsages: ['clientAuth'] }]
    expect(await configured({ templates, rootCrlValidityDays: 9 })).toMatchObject({ templates, rootCrlValidityDays: 9 })
    expect(await configured({ crlValidityHours: 24 })).toMatchObject({ templates, rootCrlValidityDays: 9 })
    expect(await configured({ crlPartitions: 256, deltaCrlHours: 23 })).toMatchObject({ crlPartitions: 256 })
    expect(await configured({ crlPartitions: null })).toMatchObject({ crlPartitions: 1, deltaCrlHours: 23 })
    expect(await configured({ rootCrlValidityDays: null, templates: [] })).toMatchObject({
      templates: [],
      rootCrlValidityDays: 365,
      crlValidityHours: 24,
    })
  })

  test('what it has already is no change: no version, no audit event', async () => {
    const user = await admin()
    const { id, name } = await makeProvider(service.em())
    const before = (await user.get(`${path}/${id}`)).body
    const again = { name, configuration: before.configuration, version: 1 }
    expect((await user.patch(`${path}/${id}`, again)).body).toEqual(before)
    expect((await user.patch(`${path}/${id}`, {})).body).toEqual(before)
    expect(await service.em().count(AuditEvent, { objectId: id })).toBe(0)
  })

  test.each<[string, object, number, string]>([
    ['an old version', { version: 3 }, 409, 'VERSION_CONFLICT'],
    ['other keys', { configuration: '{"keyAlgorithm":"RSA"}' }, 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['other years', { configuration: '{"rootValidityYears":3}' }, 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['no JSON', { configuration: 'x' }, 422, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a cleared name', { name: null }, 400, 'INVALID_REQUEST'],
  ])('refuses %s', async (...[, change, status, apiError]) => {
    const reply = await changeOf(change)
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })

  test('refuses a taken name and an archived provider', async () => {
    const taken = await changeOf({ name: (await makeProvider(service.em())).name })
    expect([taken.status, taken.body.apiError]).toEqual([409, 'ALREADY_EXISTS'])
    const archived = await changeOf({ name: randomUUID() }, { archived: true })
    expect([archived.status, archived.body.apiError]).toEqual([409, 'ENTITY_ARCHIVED'])
  })
})

describe('checkCertificateProviderConnection', () => {
  test('tells that the built-in CA works, and remembers it', async () => {
    const user = await admin()
    const { id } = await service.builtInCa()
    const { status, body } = await user.post(`${path}/${id}/check-connection`)
    expect([status, body]).toEqual([200, { result: true, errorMessage: null, durationMs: expect.any(Number) }])
    const { body: read } = await user.get(`${path}/${id}`)
    expect(read).toMatchObject({
      connectionStatus: 'OK',
      lastCheckedDate: expect.any(String),
      metadata: { version: 1, lastModifiedByType: 'SYSTEM' },
    })
  })

  test('tells what is wrong with status 200', async () => {
    const { id } = await makeProvider(service.em())
    const user = await admin()
    const { status, body } = await user.post(`${path}/${id}/check-connection`)
    expect([status, body.result]).toEqual([200, false])
    expect(body.errorMessage).toMatch(/\S/)
    expect((await user.get(`${path}/${id}`)).body.connectionStatus).toBe('FAILED')
  })

  test('an archived one is neither tried nor written to', async () => {
    const user = await admin()
    const { id } = await makeProvider(service.em(), { archived: true })
    const { status, body } = await user.post(`${path}/${id}/check-connection`)
    expect([status, body.apiError]).toEqual([422, 'ENTITY_ARCHIVED'])
    expect((await user.get(`${path}/${id}`)).body).toMatchObject({ connectionStatus: 'UNKNOWN', lastCheckedDate: null })
  })

  test('an unknown provider is 422 here', async () => {
    const { status, body } = await (await admin()).post(`${path}/${randomUUID()}/check-connection`)
    expect([status, body.apiError]).toEqual([422, 'CERTIFICATE_PROVIDER_NOT_FOUND'])
  })
})
