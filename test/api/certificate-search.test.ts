// Searching certificates by text, filters and rights (contract 1.3).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { ecKey, issueFor, refusalOf, spkiOf, type Issued } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let other: Scene
const made: Record<string, Issued> = {}
/** The end of validity of `old`, in its own form. */
const longAgo = new Date('2020-05-01T00:00:00.000Z')

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}' })
  other = await makeScene(service)
  const RSA = { keyGenParamsDto: { cryptoAlgorithm: 'RSA' } }
  const brought = { keyPairMode: 'PUBLIC_KEY', keyGenParamsDto: null, publicKeyBase64: spkiOf(ecKey()) }
  const web = { commonName: 'Web 01', organization: 'Example 100%', domains: ['web.example.org'], ips: ['192.0.2.7'] }
  made['web'] = await issueFor(scene, web)
  made['jane'] = await issueFor(scene, { commonName: 'Jane Doe', email: 'jane@example.org' }, RSA)
  made['held'] = await issueFor(scene, { commonName: 'Held' }, brought)
  made['old'] = await issueFor(scene, { commonName: 'Old' })
  made['gone'] = await issueFor(scene, { commonName: 'Gone' })
  made['alien'] = await issueFor(other, 'alien.example.org')
  const em = service.em()
  await em.nativeUpdate(
    Certificate,
    { id: idOf('held') },
    { revocationReason: 'CERTIFICATE_HOLD', revocationDate: new Date() },
  )
  const period = { validNotBefore: new Date('2020-04-01T00:00:00.000Z'), validNotAfter: longAgo }
  await em.nativeUpdate(Certificate, { id: idOf('old') }, period)
  await em.nativeUpdate(Certificate, { id: idOf('gone') }, { archived: true })
})
afterAll(() => service.stop())

const url = '/api/v1/certificates/search'
const idOf = (name: string): string => made[name]?.id ?? ''
const living = ['web', 'jane', 'held', 'old']
const nameOf = (id: string) => Object.keys(made).find(name => idOf(name) === id) ?? id
const find = async (body: object, { query = '', caller = scene.owner } = {}): Promise<string[]> => {
  const reply = await caller.post(url + query, body)
  expect(reply.status).toBe(200)
  return reply.body.content.map(({ id }: { id: string }) => nameOf(id))
}
const filter = (key: string, value: string) => ({ searchFilters: [{ key, value }] })

test('asks for a token, JSON and a body', async () => {
  expect((await service.anonymous.post(url, {})).status).toBe(401)
  const extras = { raw: '{}', headers: { 'Content-Type': 'text/plain' } }
  expect((await scene.owner.post(url, undefined, extras)).status).toBe(415)
  expect(refusalOf(await scene.owner.post(url, []))).toEqual([400, 'INVALID_JSON'])
})

test('answers a page of whole certificates, the newest first', async () => {
  const { status, body } = await scene.owner.post(url, {})
  expect(status).toBe(200)
  expect(body).toMatchObject({
    totalElements: 4,
    totalPages: 1,
    number: 0,
    size: 20,
    numberOfElements: 4,
    first: true,
    last: true,
    empty: false,
  })
  expect(body.content.map(({ id }: Issued) => nameOf(id))).toEqual(living.toReversed())
  for (const item of body.content) expect(item).toEqual((await scene.owner.get(`/api/v1/certificates/${item.id}`)).body)
})

describe('the free text', () => {
  test.each<[string, string[]]>([
    ['eb 0', ['web']],
    ['JANE', ['jane']],
    ['jane@example', ['jane']],
    ['WEB.example', ['web']],
    ['192.0.2.7', ['web']],
    ['built-in ca issuing', living],
    ['100%', ['web']],
    ['%', ['web']],
    ['_', []],
    ['subjectAlternative', []],
    ['"type"', []],
    ['', living],
    ['  ', living],
  ])('%j', async (simpleSearchTerm, names) => {
    expect((await find({ simpleSearchTerm })).toSorted()).toEqual(names.toSorted())
  })

  test('finds serial number, fingerprint, alias, policy name and the exact id', async () => {
    const { serialNumber = '', fingerprint = '' } = made['jane'] ?? {}
    expect(await find({ simpleSearchTerm: serialNumber.slice(2, -2).toUpperCase() })).toEqual(['jane'])
    expect(await find({ simpleSearchTerm: fingerprint.slice(1) })).toEqual(['jane'])
    expect(await find({ simpleSearchTerm: idOf('jane').toUpperCase() })).toEqual(['jane'])
    expect(await find({ simpleSearchTerm: idOf('jane').slice(1) })).toEqual([])
    const { body } = await scene.owner.get(`/api/v1/policies/${scene.policyId}`)
    expect(await find({ simpleSearchTerm: body.name })).toHaveLength(4)
    const alias = `alias-${randomUUID()}`
    await service.em().nativeUpdate(EndEntity, { id: made['old']?.endEntityId ?? '' }, { alias })
    expect(await find({ simpleSearchTerm: alias.toUpperCase() })).toEqual(['old'])
    expect(await find(filter('END_ENTITY_ALIAS', alias.slice(3)))).toEqual(['old'])
  })
})

describe('a filter', () => {
  const colons = (hex = '') => `00:${hex.toUpperCase().replace(/..(?=.)/g, '$&:')}`
  test.each<[string, () => string, string[]]>([
    ['SUBJECT_DN', () => 'o=example', ['web']],
    ['SUBJECT_COMMON_NAME', () => 'E D', ['jane']],
    ['ISSUER_DN', () => 'cn=built-in ca', living],
    ['ISSUER_COMMON_NAME', () => 'Root', []],
    ['END_ENTITY_ALIAS', () => 'jane d', ['jane']],
    ['EMAIL', () => 'JANE@', ['jane']],
    ['EMAIL', () => 'web.example.org', []],
    ['DOMAIN', () => 'Example.ORG', ['web']],
    ['IP', () => '192.0.2', ['web']],
    ['IP', () => 'web', []],
    ['SERIAL_NUMBER', () => made['web']?.serialNumber ?? '', ['web']],
    ['SERIAL_NUMBER', () => `000${made['web']?.serialNumber.toUpperCase()}`, ['web']],
    ['SERIAL_NUMBER', () => made['web']?.serialNumber.slice(1) ?? '', []],
    ['FINGERPRINT', () => colons(made['held']?.fingerprint).slice(3), ['held']],
    ['CERT_STATUS', () => 'ACTIVE', ['web', 'jane']],
    ['CERT_STATUS', () => 'EXPIRED', ['old']],
    ['CERT_STATUS', () => 'REVOKED', ['held']],
    ['PUBLIC_KEY_ALGORITHM', () => 'RSA', ['jane']],
    ['PUBLIC_KEY_ALGORITHM', () => 'EDDSA', []],
    ['PUBLIC_KEY_ALGORITHM', () => 'ML_DSA', []],
    ['REVOCATION_REASON', () => 'CERTIFICATE_HOLD', ['held']],
    ['KEY_PAIR_MODE', () => 'PUBLIC_KEY', ['held']],
    ['POLICY_ID', () => scene.policyId.toUpperCase(), living],
    ['POLICY_ID', () => other.policyId, []],
    ['END_ENTITY_ID', () => made['web']?.endEntityId ?? '', ['web']],
    ['ISSUER_CA_ID', () => randomUUID(), []],
    ['VALID_NOT_BEFORE', () => '2020-04-01T02:00:00+02:00/2020-04-01T00:00:00Z', ['old']],
    ['VALID_NOT_BEFORE', () => '2020-04-01T00:00:01Z/', ['web', 'jane', 'held']],
    ['VALID_NOT_AFTER', () => '/2020-05-01T00:00:00.000Z', ['old']],
    ['VALID_NOT_AFTER', () => '2020-04-30T00:00:00Z/2020-04-30T23:59:59Z', []],
    ['VALID_NOT_AFTER', () => '/', living],
  ])('%s narrows (%#)', async (...[key, value, names]) => {
    expect((await find(filter(key, value()))).toSorted()).toEqual(names.toSorted())
  })

  test('of a serial number ignores colons', async () => {
    const { serialNumber = '' } = made['web'] ?? {}
    const even = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`
    expect(await find(filter('SERIAL_NUMBER', colons(even)))).toEqual(['web'])
  })

  test('of the issuing CA', async () => {
    const { body } = await scene.owner.get(`/api/v1/certificates/${idOf('web')}`)
    expect(await find(filter('ISSUER_CA_ID', body.issuerCaId))).toHaveLength(4)
  })

  test.each([
    ['SERIAL_NUMBER', 'xyz'],
    ['FINGERPRINT', 'abcd'],
    ['CERT_STATUS', 'active'],
    ['CERT_STATUS', 'constructor'],
    ['PUBLIC_KEY_ALGORITHM', 'DSA'],
    ['PUBLIC_KEY_ALGORITHM', 'toString'],
    ['REVOCATION_REASON', '6'],
    ['KEY_PAIR_MODE', 'NONE'],
    ['POLICY_ID', 'policy'],
    ['END_ENTITY_ID', '1'],
    ['ISSUER_CA_ID', 'x'],
    ['VALID_NOT_BEFORE', '2020-04-01T00:00:00Z'],
    ['VALID_NOT_BEFORE', 'yesterday/today'],
    ['VALID_NOT_AFTER', '2020-04-01T00:00:00/'],
    ['VALID_NOT_AFTER', '2020-13-01T00:00:00Z/'],
    ['VALID_NOT_AFTER', '//'],
    ['SHOE_SIZE', '42'],
    ['SUBJECT_DN', ''],
  ])('%s refuses %j', async (key, value) => {
    expect(refusalOf(await scene.owner.post(url, filter(key, value)))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('must match with every other', async () => {
    const both = [
      { key: 'ISSUER_DN', value: 'built' },
      { key: 'CERT_STATUS', value: 'ACTIVE' },
    ]
    expect((await find({ searchFilters: both, simpleSearchTerm: 'doe' })).toSorted()).toEqual(['jane'])
    expect(await find({ searchFilters: [...both, { key: 'EMAIL', value: 'nobody' }] })).toEqual([])
  })
})

describe('the members', () => {
  test.each<[string, () => object, string[]]>([
    ['certificateIds', () => ({ certificateIds: [idOf('web'), idOf('alien'), randomUUID()] }), ['web']],
    ['certificateIds that are unknown', () => ({ certificateIds: [randomUUID()] }), []],
    ['policyId', () => ({ policyId: scene.policyId }), living],
    ['endEntityId', () => ({ endEntityId: made['jane']?.endEntityId }), ['jane']],
    ['realmId', () => ({ realmId: scene.realmId }), living],
    ['archived', () => ({ archived: true }), ['gone']],
    ['certStatuses', () => ({ certStatuses: ['EXPIRED', 'REVOKED'] }), ['old', 'held']],
    ['validNotAfterEnd', () => ({ validNotAfterEnd: longAgo }), ['old']],
    ['validNotAfterStart', () => ({ validNotAfterStart: new Date() }), ['web', 'jane', 'held']],
    ['validNotBeforeStart', () => ({ validNotBeforeStart: longAgo }), ['web', 'jane', 'held']],
    ['validNotBeforeEnd', () => ({ validNotBeforeEnd: '2020-04-01T01:00:00+01:00' }), ['old']],
    ['two that exclude each other', () => ({ certStatuses: ['ACTIVE'], validNotAfterEnd: longAgo }), []],
  ])('%s narrow', async (...[, body, names]) => {
    expect((await find(body())).toSorted()).toEqual(names.toSorted())
  })

  test('an empty list of ids is refused', async () => {
    expect(refusalOf(await scene.owner.post(url, { certificateIds: [] }))).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each([
    ['realmId', 'REALM_NOT_FOUND'],
    ['policyId', 'POLICY_NOT_FOUND'],
    ['endEntityId', 'END_ENTITY_NOT_FOUND'],
  ])('an unknown %s is 404', async (member, code) => {
    expect(refusalOf(await scene.owner.post(url, { [member]: randomUUID() }))).toEqual([404, code])
  })

  test.each([
    { certStatuses: ['FINE'] },
    { certStatuses: [] },
    { searchFilters: [] },
    { certificateIds: [] },
    { validNotAfterEnd: '2020-01-01' },
    { archived: 'no' },
    { searchFilters: {} },
  ])('%j is refused', async body => {
    expect(refusalOf(await scene.owner.post(url, body))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('a page', () => {
  test('of one, and one behind the end', async () => {
    const { body } = await scene.owner.post(`${url}?page=1&size=3`, {})
    expect(body).toMatchObject({ number: 1, size: 3, totalElements: 4, totalPages: 2, numberOfElements: 1, last: true })
    expect(body.content.map(({ id }: Issued) => nameOf(id))).toEqual(['web'])
    const { body: behind } = await scene.owner.post(`${url}?page=7&size=3`, {})
    expect(behind).toMatchObject({ content: [], empty: true, totalElements: 4 })
  })

  test.each<[string, string[]]>([
    ['subjectCommonName', ['held', 'jane', 'old', 'web']],
    ['subjectCommonName,desc', ['web', 'old', 'jane', 'held']],
    ['validNotAfter', ['old']],
    ['certPublicKeyAlgorithm,desc', ['jane']],
    ['endEntityCommonName,asc', ['held', 'jane', 'old', 'web']],
    ['revocationDate,desc', ['held']],
    ['certStatus,desc', ['held', 'old']],
    ['createdDate,asc', living],
    ['metadata.createdDate,desc', living.toReversed()],
  ])('is sorted by %s', async (sort, first) => {
    const found = await find({}, { query: `?sort=${sort}` })
    expect(found).toHaveLength(4)
    expect(found.slice(0, first.length)).toEqual(first)
  })

  test.each(['size=0', 'size=1001', 'page=-1', 'sort=weight', 'sort=metadata', 'sort=subjectDn,up'])(
    'refuses %s',
    async query => {
      expect(refusalOf(await scene.owner.post(`${url}?${query}`, {}))).toEqual([400, 'INVALID_REQUEST'])
    },
  )
})

describe('finds only what the caller may read', () => {
  test.each<[string, () => object, string[]]>([
    ['nothing', () => ({}), []],
    ['READ on one', () => ({ CERTIFICATE: { [idOf('web')]: ['READ'] } }), ['web']],
    ['SIGN on a policy', () => ({ POLICY: { [other.policyId]: ['SIGN'] } }), ['alien']],
    ['CERTS_READ on a realm', () => ({ REALM: { [scene.realmId]: ['CERTS_READ'] } }), living],
    ['CERTREQS_READ on a realm', () => ({ REALM: { [scene.realmId]: ['CERTREQS_READ'] } }), []],
    ['FULL_READ on another realm', () => ({ REALM: { [other.realmId]: ['FULL_READ'] } }), ['alien']],
    ['REALMS_FULL_READ', () => ({ GLOBAL: ['REALMS_FULL_READ'] }), [...living, 'alien']],
    ['ADMIN', () => ({ GLOBAL: ['ADMIN'] }), [...living, 'alien']],
  ])('with %s', async (...[, grants, names]) => {
    const caller = await service.user(grants())
    expect((await find({}, { caller })).toSorted()).toEqual(names.toSorted())
    const { body } = await caller.post(url, {})
    expect(body.totalElements).toBe(names.length)
  })

  test('a realm in which the caller has nothing is refused', async () => {
    expect(refusalOf(await other.owner.post(url, { realmId: scene.realmId }))).toEqual([403, 'ACCESS_DENIED'])
    const guest = await service.user({ CERTIFICATE: { [idOf('web')]: ['READ'] } })
    expect(await find({ realmId: scene.realmId }, { caller: guest })).toEqual(['web'])
  })
})
