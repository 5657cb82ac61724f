// Explaining why a principal may or may not do something.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import type { Operation } from '../../api/kernel/operation.ts'
import { scopes, type Scope } from '../../domain/permissions.ts'
import { User } from '../../storage/rows/user.ts'
import { startApi, type Api, type ApiCaller, type GrantsByScope } from '../support/api.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeProvider, makeRealm } from '../support/records.ts'

const path = '/api/v1/permissions/explain'
let api: Api
let admin: ApiCaller & { id: string }
let scene: Awaited<ReturnType<typeof makeScene>>

const makeScene = async () => {
  const em = api.em()
  const realm = await makeRealm(em)
  const policy = await makePolicy(em, realm)
  const endEntity = await makeEndEntity(em, realm)
  const certificate = await makeCertificate(em, policy, { endEntity })
  const ids: Record<Scope, string> = {
    REALM: realm.id,
    POLICY: policy.id,
    END_ENTITY: endEntity.id,
    CERT_REQUEST: certificate.certRequestId,
    CERTIFICATE: certificate.id,
  }
  return { realm, policy, endEntity, certificate, ids }
}

beforeAll(async () => {
  api = await startApi()
  admin = await api.user({ GLOBAL: ['ADMIN'] })
  scene = await makeScene()
})
afterAll(() => api.stop())

const ask = (query: Record<string, string>, caller: ApiCaller = admin) =>
  caller.get(`${path}?${new URLSearchParams(query).toString()}`)
const explain = async (principalId: string, operationId: string, id?: string) => {
  const { status, body } = await ask({ principalId, operationId, ...(id && { id }) })
  expect([status, body.apiError]).toEqual([200, undefined])
  return body
}
const mailOf = async (id: string) => (await api.em().findOneOrFail(User, { id })).email

describe('who asks, and for what', () => {
  test('others than ADMIN ask about themselves, and hear of nothing that they may not read', async () => {
    const own = await api.user({ REALM: { [scene.realm.id]: ['READ'] } })
    const may = await ask({ principalId: own.id, operationId: 'getRealm', id: scene.realm.id }, own)
    expect([may.status, may.body.allowed, may.body.resource.name]).toEqual([200, true, scene.realm.name])
    const { status, body } = await ask({ principalId: own.id, operationId: 'getPolicy', id: scene.policy.id }, own)
    expect([status, body.allowed, body.grantors]).toEqual([200, false, []])
    expect(body.wouldServe.flat()).toContainEqual(expect.objectContaining({ scope: 'POLICY', id: null, name: null }))
    expect(JSON.stringify(body)).not.toContain(scene.policy.name)
    expect((await ask({ principalId: admin.id, operationId: 'getRealms' }, own)).status).toBe(403)
  })

  test('only ADMIN may ask about others', async () => {
    const query = { principalId: admin.id, operationId: 'getRealms' }
    expect((await ask(query, api.anonymous)).status).toBe(401)
    const other = await api.user({
      GLOBAL: ['USERS_READ', 'REALMS_FULL_READ'],
      REALM: { [scene.realm.id]: ['UPDATE'] },
    })
    expect((await ask(query, other)).status).toBe(403)
  })

  test.each<[string, Record<string, string>, number, string]>([
    ['an unknown operation', { operationId: 'flyToTheMoon' }, 400, 'INVALID_REQUEST'],
    ['the name of something else', { operationId: 'constructor' }, 400, 'INVALID_REQUEST'],
    ['no operation', { operationId: '' }, 400, 'INVALID_REQUEST'],
    ['no resource where there is one', { operationId: 'getRealm' }, 400, 'INVALID_REQUEST'],
    ['an unknown principal', { operationId: 'getRealms', principalId: randomUUID() }, 404, 'USER_NOT_FOUND'],
    ['an unknown realm', { operationId: 'getRealm', id: randomUUID() }, 404, 'REALM_NOT_FOUND'],
    ['an unknown certificate', { operationId: 'downloadCertificate', id: randomUUID() }, 404, 'CERTIFICATE_NOT_FOUND'],
    ['a policy that is no realm', { operationId: 'getRealm', id: 'POLICY' }, 404, 'REALM_NOT_FOUND'],
    ['no id at all', { operationId: 'getRealm', id: 'x' }, 400, 'INVALID_IDENTIFIER'],
  ])('%s is refused', async (...[, query, status, apiError]) => {
    const id = query['id'] === 'POLICY' ? { id: scene.policy.id } : {}
    const reply = await ask({ principalId: admin.id, ...query, ...id })
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })
})

test('who holds a permission may by it, and hears its resource by name', async () => {
  const { realm, policy, certificate } = scene
  const client = await api.apiClient({ POLICY: { [policy.id]: ['SIGN'] } })
  expect(await explain(client.id, 'getCertificateDetails', certificate.id)).toEqual({
    principalId: client.id,
    principalType: 'API_CLIENT',
    principalName: client.clientId,
    enabled: true,
    operationId: 'getCertificateDetails',
    resource: { scope: 'CERTIFICATE', id: certificate.id, name: certificate.subjectCommonName },
    allowed: true,
    reason: `${client.clientId} may call getCertificateDetails on certificate ${certificate.subjectCommonName} by SIGN on policy ${policy.name}.`,
    by: [{ scope: 'POLICY', id: policy.id, name: policy.name, permission: 'SIGN' }],
    wouldServe: [],
    alsoNeeds: [],
    reach: null,
    grantors: [],
  })
  const everywhere = await api.user({ GLOBAL: ['REALMS_FULL_READ'] })
  const { by } = await explain(everywhere.id, 'getRealm', realm.id)
  expect(by).toEqual([{ scope: 'GLOBAL', id: null, name: null, permission: 'REALMS_FULL_READ' }])
})

test('who holds nothing hears what would serve and who could give it', async () => {
  const { realm, policy, ids } = await makeScene()
  const realmGrants = (...permissions: string[]): GrantsByScope => ({ REALM: { [realm.id]: permissions } })
  const able = await api.user(realmGrants('UPDATE', 'POLICIES_READ'))
  const ableByPolicy = await api.apiClient({ ...realmGrants('UPDATE'), POLICY: { [policy.id]: ['SIGN'] } })
  const unable = [
    await api.user(realmGrants('UPDATE')),
    await api.user(realmGrants('FULL_READ')),
    await api.user({ REALM: { [scene.realm.id]: ['UPDATE', 'FULL_READ'] } }),
    await api.user({ ...realmGrants('UPDATE', 'FULL_READ') }),
  ]
  await api.em().nativeUpdate(User, { id: unable.at(-1)?.id ?? '' }, { enabled: false })
  const nobody = await api.user()
  const { allowed, by, wouldServe, grantors, reason } = await explain(nobody.id, 'getPolicy', ids.POLICY)
  expect([allowed, by]).toEqual([false, []])
  expect(wouldServe).toEqual([
    [
      { scope: 'GLOBAL', id: null, name: null, permissions: ['ADMIN', 'REALMS_FULL_READ'] },
      { scope: 'REALM', id: realm.id, name: realm.name, permissions: ['FULL_READ', 'POLICIES_READ'] },
      { scope: 'POLICY', id: policy.id, name: policy.name, permissions: Object.keys(scopes.POLICY) },
    ],
  ])
  const givers = grantors.map(({ id }: { id: string }) => id)
  expect(givers).toEqual(expect.arrayContaining([admin.id, able.id, ableByPolicy.id]))
  for (const { id } of [...unable, nobody]) expect(givers).not.toContain(id)
  expect(grantors).toContainEqual({ id: ableByPolicy.id, type: 'API_CLIENT', name: ableByPolicy.clientId })
  expect(reason).toBe(
    `${await mailOf(nobody.id)} may not call getPolicy on policy ${policy.name}: it takes the global permission ADMIN or ` +
      `REALMS_FULL_READ, or FULL_READ or POLICIES_READ on realm ${realm.name}, or any permission on policy ${policy.name}.`,
  )
})

test('what takes two permissions says which of them is missing', async () => {
  const { policy, certificate } = scene
  const half = await api.user({ POLICY: { [policy.id]: ['CERTS_CREATE'] } })
  const { allowed, by, wouldServe } = await explain(half.id, 'createCertificate', certificate.certRequestId)
  expect([allowed, by]).toMatchObject([false, [{ scope: 'POLICY', permission: 'CERTS_CREATE' }]])
  expect(wouldServe).toHaveLength(1)
  expect(JSON.stringify(wouldServe)).not.toContain('CERTS_CREATE')
  const none = await api.user()
  expect((await explain(none.id, 'createCertificate', certificate.certRequestId)).wouldServe).toHaveLength(2)
})

test('a resource that only the body names is named as open', async () => {
  const { policy } = scene
  const requester = await api.user({ POLICY: { [policy.id]: ['CERTS_CREATE'] } })
  const { allowed, by, alsoNeeds, reason } = await explain(requester.id, 'createCertRequest', policy.id)
  const on = 'the end entity that endEntityId in the body names'
  expect([allowed, by]).toMatchObject([null, [{ permission: 'CERTS_CREATE' }]])
  expect(alsoNeeds).toEqual([{ right: 'READ_END_ENTITY', on, optional: false, allowed: null, by: [], wouldServe: [] }])
  expect(reason).toContain(`it also takes READ_END_ENTITY on ${on}, which the question does not name.`)
  const boss = await explain(admin.id, 'createCertRequest', policy.id)
  expect([boss.allowed, boss.alsoNeeds[0].allowed]).toEqual([true, true])
  const refused = await explain((await api.user()).id, 'createCertRequest', policy.id)
  expect(refused.allowed).toBe(false)
})

test('where the body chooses between two rights, neither alone is missing, and both stand open', async () => {
  const { policy, realm } = scene
  const importer = await api.user({ POLICY: { [policy.id]: ['CERTS_CREATE'] } })
  const { allowed, alsoNeeds, reason } = await explain(importer.id, 'importCertificates', policy.id)
  expect(allowed).toBeNull()
  expect(reason).toContain('but it also takes READ_END_ENTITY on the end entity that endEntityId in the body names or')
  expect(alsoNeeds).toMatchObject([
    { right: 'READ_END_ENTITY', optional: true, allowed: null },
    { right: 'CREATE_END_ENTITY', optional: true, allowed: false },
  ])
  expect(alsoNeeds[1].wouldServe[0]).toContainEqual({
    scope: 'REALM',
    id: realm.id,
    name: realm.name,
    permissions: ['ENDENTITIES_CREATE'],
  })
})

test('what the body may leave out does not decide', async () => {
  const { policy, realm } = scene
  const importer = await api.user({
    POLICY: { [policy.id]: ['CERTS_CREATE'] },
    REALM: { [realm.id]: ['ENDENTITIES_CREATE'] },
  })
  expect((await explain(importer.id, 'importCertificates', policy.id)).allowed).toBe(true)
  const shaper = await api.user({ POLICY: { [policy.id]: ['UPDATE'] } })
  const { allowed, alsoNeeds } = await explain(shaper.id, 'updatePolicy', policy.id)
  expect([allowed, alsoNeeds]).toMatchObject([true, [{ right: 'DOWNLOAD_KEY', optional: true, allowed: null }]])
})

test('a resource that the operation finds itself can be named, and stays open unless it is', async () => {
  const reader = await api.user({ CERTIFICATE: { [scene.certificate.id]: ['READ'] } })
  expect((await explain(reader.id, 'getCertificateByFingerprint')).allowed).toBeNull()
  expect((await explain(reader.id, 'getCertificateByFingerprint', scene.certificate.id)).allowed).toBe(true)
  const other = await makeScene()
  expect((await explain(reader.id, 'getCertificateByFingerprint', other.certificate.id)).allowed).toBe(false)
})

test('a list says what it would show', async () => {
  const { realm, policy, endEntity } = scene
  const reader = await api.user({ POLICY: { [policy.id]: ['READ'] }, END_ENTITY: { [endEntity.id]: ['READ'] } })
  const { allowed, reach, by, reason } = await explain(reader.id, 'getPolicyByRealmId', realm.id)
  expect([allowed, by]).toMatchObject([true, [{ scope: 'WITHIN', id: realm.id, name: realm.name, permission: null }]])
  expect(reach).toEqual({
    right: 'READ_POLICY',
    all: false,
    ways: [
      { scope: 'REALM', permissions: ['FULL_READ', 'POLICIES_READ'], resources: 0 },
      { scope: 'POLICY', permissions: Object.keys(scopes.POLICY), resources: 1 },
    ],
  })
  expect(reason).toContain('; the list shows what hangs on 1 × policy.')
  const free = await explain(reader.id, 'getRealms')
  expect([free.allowed, free.resource, free.reason.endsWith('with any token; the list shows nothing.')]).toEqual([
    true,
    null,
    true,
  ])
  expect((await explain(admin.id, 'getRealms')).reach).toEqual({ right: 'READ_REALM', all: true, ways: [] })
})

test('rights beyond a resource are told as such', async () => {
  const { id: providerId } = await makeProvider(api.em())
  const shaper = await api.user({ POLICY: { [scene.policy.id]: ['UPDATE'] } })
  const { allowed, by } = await explain(shaper.id, 'getTemplateSignersByCertificateProviderId', providerId)
  expect([allowed, by]).toMatchObject([true, [{ scope: 'ANYWHERE', permission: 'UPDATE' }]])
  const { wouldServe, reason } = await explain((await api.user()).id, 'getAllowedCryptoParameters')
  expect(wouldServe[0]).toContainEqual({ scope: 'ANYWHERE', id: null, name: null, permissions: ['POLICIES_CREATE'] })
  expect(reason).toContain('POLICIES_CREATE on any realm, or UPDATE on any policy.')
})

test('being the one asked about is a reason', async () => {
  const [one, other] = [await api.user(), await api.user()]
  const own = await explain(one.id, 'getUserPermissions', one.id)
  expect([own.allowed, own.by]).toMatchObject([true, [{ scope: 'SELF', permission: null }]])
  expect(own.resource.name).toBe(await mailOf(one.id))
  const foreign = await explain(one.id, 'getUserPermissions', other.id)
  expect([foreign.allowed, foreign.reason.endsWith('USERS_READ, or being that principal.')]).toEqual([false, true])
})

test('the disabled may nothing but what anybody may', async () => {
  const user = await api.user({ GLOBAL: ['ADMIN'] })
  await api.em().nativeUpdate(User, { id: user.id }, { enabled: false })
  const { allowed, enabled, reason } = await explain(user.id, 'getRealms')
  expect([allowed, enabled, reason.endsWith('is disabled: every call with a token is refused.')]).toEqual([
    false,
    false,
    true,
  ])
  const open = await explain(user.id, 'getValidForValues')
  expect([open.allowed, open.reason]).toEqual([true, 'Anybody may call getValidForValues: it needs no token.'])
})

const readers: [Scope, string, string][] = [
  ['REALM', 'getRealm', '/api/v1/realms/'],
  ['POLICY', 'getPolicy', '/api/v1/policies/'],
  ['END_ENTITY', 'getEndEntity', '/api/v1/end-entities/'],
  ['CERT_REQUEST', 'getCertRequest', '/api/v1/cert-requests/'],
  ['CERTIFICATE', 'getCertificateDetails', '/api/v1/certificates/'],
]
const single = (Object.keys(scopes) as Scope[]).flatMap(scope =>
  Object.keys(scopes[scope]).map((permission): [Scope, string] => [scope, permission]),
)

test('the explanation is what the call does, for every permission there is', async () => {
  const seen = { allowed: 0, refused: 0 }
  for (const [held, permission] of single) {
    const caller = await api.user({ [held]: { [scene.ids[held]]: [permission] } })
    for (const [scope, operationId, url] of readers) {
      const { allowed } = await explain(caller.id, operationId, scene.ids[scope])
      const { status } = await caller.get(url + scene.ids[scope])
      expect([held, permission, operationId, status]).toEqual([held, permission, operationId, allowed ? 200 : 403])
      seen[allowed ? 'allowed' : 'refused'] += 1
    }
  }
  expect(Math.min(seen.allowed, seen.refused)).toBeGreaterThan(20)
})

test('every operation can be asked about, and ADMIN may call them all', async () => {
  for (const operationId of Object.keys(operations)) {
    const { status, body } = await ask({ principalId: admin.id, operationId })
    const isIncomplete = body.fieldErrors?.[0]?.field === 'id'
    expect([operationId, status, isIncomplete || body.allowed]).toEqual([operationId, isIncomplete ? 400 : 200, true])
  }
})

/** The resources of the scene by the classes that operations work on. */
const scopeNamed: Readonly<Record<string, Scope>> = {
  Realm: 'REALM',
  Policy: 'POLICY',
  EndEntity: 'END_ENTITY',
  CertRequest: 'CERT_REQUEST',
  Certificate: 'CERTIFICATE',
}
const scopesOf = ({ on, alsoNeeds }: Operation): Scope[] => {
  const entities = [...Object.values(on), ...alsoNeeds].map(({ entity }) => entity?.name ?? '')
  return [...new Set(entities.flatMap(name => scopeNamed[name] ?? []))]
}
/** Every operation with every resource that it may be asked about; of another kind is 404. */
const asked = Object.entries(operations).flatMap(([operationId, operation]) =>
  scopesOf(operation).map(scope => [operationId, scope] as const),
)

test.each<[string, Scope, string, readonly Scope[]]>([
  // Its name is that of the end entity.
  ['reads a certificate', 'CERTIFICATE', 'READ', ['CERTIFICATE', 'END_ENTITY']],
  ['revokes a certificate', 'CERTIFICATE', 'REVOKE', ['CERTIFICATE', 'END_ENTITY']],
  ['updates an end entity', 'END_ENTITY', 'UPDATE', ['END_ENTITY']],
  ['makes certificates under a policy', 'POLICY', 'CERTS_CREATE', ['POLICY', 'CERTIFICATE', 'END_ENTITY']],
  ['creates in a realm', 'REALM', 'POLICIES_CREATE', ['REALM']],
])('who %s is told no other name, whatever operation is asked about', async (...[, held, permission, readable]) => {
  const { realm, policy, endEntity, certificate, ids } = await makeScene()
  const caller = await api.user({ [held]: { [ids[held]]: [permission] } })
  const names = { REALM: realm.name, POLICY: policy.name, END_ENTITY: endEntity.commonName ?? '' } as const
  const secret = (Object.keys(names) as (keyof typeof names)[]).filter(scope => !readable.includes(scope))
  const own = held === 'CERTIFICATE' ? certificate.subjectCommonName : names[held as keyof typeof names]
  const entered: string[] = []
  for (const [operationId, scope] of asked) {
    const { status, body } = await ask({ principalId: caller.id, operationId, id: ids[scope] }, caller)
    const text = JSON.stringify(body)
    const told = secret.filter(one => text.includes(names[one]) || (one !== scope && text.includes(ids[one])))
    expect([operationId, scope, told]).toEqual([operationId, scope, []])
    if (status === 200 && body.resource && scope === held) expect(body.resource.name).toBe(own)
    if (body.by?.some((way: { scope: string }) => way.scope === 'WITHIN')) entered.push(operationId)
  }
  if (held !== 'REALM') expect(entered.length).toBeGreaterThan(5)
})

test('every list that is filtered says by what', () => {
  const isOpen = (needs: unknown): boolean => JSON.stringify(needs).match(/"(TOKEN|ENTER_REALM)"/) !== null
  const lists = Object.entries(operations).filter(([, { paging, needs }]) => paging && isOpen(needs))
  // The items of an order are shown or refused as a whole; CAs are shown to every caller.
  const silent = lists.filter(([, { shows }]) => shows === undefined).map(([operationId]) => operationId)
  expect(silent).toEqual(['getOrderItems', 'searchCas'])
  expect(lists.length).toBeGreaterThan(8)
})
