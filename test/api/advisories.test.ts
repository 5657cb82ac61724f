// What went wrong in other products of this kind, tried on this one.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { authenticateWith } from '../../api/kernel/authentication.ts'
import { dto } from '../../api/kernel/dto.ts'
import { exampleCertificatePem, examplePkcs10 } from '../../api/kernel/examples.ts'
import { from, operation } from '../../api/kernel/operation.ts'
import { scopes, type Scope } from '../../domain/permissions.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { giveGrants, startApi, type Api, type ApiCaller, type Reply } from '../support/api.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeProvider, makeRealm } from '../support/records.ts'

type Ids = Record<Scope, string> & { readonly fingerprint: string }

let api: Api
/** Where the caller may do everything, and where nothing. */
let own: Ids
let foreign: Ids
let caller: ApiCaller & { id: string }
let receiverId: string

const makePlace = async (): Promise<Ids> => {
  const em = api.em()
  const realm = await makeRealm(em)
  const policy = await makePolicy(em, realm, { certificateImportAllowed: true })
  const endEntity = await makeEndEntity(em, realm)
  const { id, certRequestId, fingerprint } = await makeCertificate(em, policy, { endEntity })
  return {
    REALM: realm.id,
    POLICY: policy.id,
    END_ENTITY: endEntity.id,
    CERT_REQUEST: certRequestId,
    CERTIFICATE: id,
    fingerprint,
  }
}
const everythingOn = (ids: Ids) =>
  Object.fromEntries(
    (Object.keys(scopes) as Scope[]).map(scope => [scope, { [ids[scope]]: Object.keys(scopes[scope]) }]),
  )

beforeAll(async () => {
  api = await startApi({ operations: { ...operations, undeclared } })
  own = await makePlace()
  foreign = await makePlace()
  caller = await api.user(everythingOn(own))
  receiverId = (await api.user()).id
})
afterAll(() => api.stop())

const admin = () => api.user({ GLOBAL: ['ADMIN'] })
const key = { cryptoAlgorithm: 'EC' }

describe('an id in a body or query takes the same right as one in the path', () => {
  const request = { validFor: 'SIX_MONTHS', keyPairMode: 'SERVER_GEN', keyGenParamsDto: key }
  const [one, other] = [() => own, () => foreign]
  const receiver = () => ({ principalId: receiverId, principalType: 'USER' })
  type Call = (a: Ids, b: Ids) => readonly ['post' | 'put' | 'patch' | 'get', string, object?]

  /** Each call names two resources; either may be the foreign one. */
  const calls: Record<string, Call> = {
    createCertRequest: (a, b) => [
      'post',
      'cert-requests',
      { ...request, policyId: a.POLICY, endEntityId: b.END_ENTITY },
    ],
    examinePkcs10Request: (a, b) => [
      'put',
      'cert-requests/examine-pkcs10-request',
      { policyId: a.POLICY, endEntityId: b.END_ENTITY, pkcs10ReqBase64: examplePkcs10 },
    ],
    importCertificates: (a, b) => [
      'post',
      'cert-requests/import-certificates',
      { policyId: a.POLICY, endEntityId: b.END_ENTITY, pemCertificates: exampleCertificatePem },
    ],
    verifyImportCertificates: (a, b) => [
      'post',
      'cert-requests/import-certificates/verify',
      { policyId: a.POLICY, endEntityId: b.END_ENTITY, pemCertificates: exampleCertificatePem },
    ],
    checkEndEntityWithRules: (a, b) => ['post', `policies/${a.POLICY}/rules`, { endEntityId: b.END_ENTITY }],
    'searchEndEntities by policy': (a, b) => ['post', 'end-entities/search', { realmId: a.REALM, policyId: b.POLICY }],
    'searchEndEntities by password': (a, b) => [
      'post',
      'end-entities/search',
      { realmId: a.REALM, withoutPasswordForPolicyId: b.POLICY },
    ],
    uploadEndEntitiesCsv: (a, b) => [
      'post',
      'end-entities/upload-csv',
      { realmId: a.REALM, policyId: b.POLICY, csv: 'commonName\nweb-09\n' },
    ],
    downloadCertificatesAsZip: (a, b) => ['get', `certificates/batch-download?ids=${a.CERTIFICATE},${b.CERTIFICATE}`],
    updatePolicyPermissions: (a, b) => [
      'patch',
      'permissions/policies',
      { ...receiver(), policyPermissions: [a, b].map(({ POLICY: id }) => ({ id, permissions: ['SIGN'] })) },
    ],
    updateCertificatePermissions: (a, b) => [
      'patch',
      'permissions/certificates',
      { ...receiver(), certificatePermissions: [a, b].map(({ CERTIFICATE: id }) => ({ id, permissions: ['READ'] })) },
    ],
  }

  const send = (call: Call, a: Ids, b: Ids): Promise<Reply> => {
    const [method, path, body] = call(a, b)
    return caller[method](`/api/v1/${path}`, body)
  }

  test.each(Object.entries(calls))('%s: the first', async (_, call) => {
    expect(refusalOf(await send(call, other(), one()))).toEqual([403, 'ACCESS_DENIED'])
  })
  test.each(Object.entries(calls))('%s: the second', async (_, call) => {
    expect(refusalOf(await send(call, one(), other()))).toEqual([403, 'ACCESS_DENIED'])
  })
  test.each(Object.entries(calls))('%s: with both at hand it goes on', async (_, call) => {
    expect((await send(call, one(), one())).status).not.toBe(403)
  })

  test('a policy is made in no foreign realm, and an end entity neither', async () => {
    const { id: certificateProviderId } = await makeProvider(api.em())
    const policy = { name: randomUUID(), certificateProviderId, certificateProviderConfiguration: '{}' }
    expect((await caller.post('/api/v1/policies', { ...policy, realmId: foreign.REALM })).status).toBe(403)
    expect((await caller.post('/api/v1/end-entities', { realmId: foreign.REALM, commonName: 'a' })).status).toBe(403)
  })

  test('resources of two realms do not meet, even for whom both are open', async () => {
    const body = { ...request, policyId: own.POLICY, endEntityId: foreign.END_ENTITY }
    const reply = await (await admin()).post('/api/v1/cert-requests', body)
    expect(refusalOf(reply)).toEqual([422, 'REALM_MISMATCH'])
  })

  test('a foreign item of a batch is refused, item by item', async () => {
    const body = { ...request, policyId: own.POLICY, endEntityIds: [own.END_ENTITY, foreign.END_ENTITY] }
    const made = await caller.post('/api/v1/cert-requests/multiple', body)
    expect(made.body.errors).toMatchObject([{ id: foreign.END_ENTITY, apiError: 'ACCESS_DENIED' }])
    expect(made.body.certRequests).toMatchObject([{ endEntityId: own.END_ENTITY }])
    for (const path of ['/api/v1/certificates/cert-requests', '/api/v2/certificates/cert-requests'])
      expect((await caller.post(path, [foreign.CERT_REQUEST])).body.apiError).toBe('ACCESS_DENIED')
  })

  test('what a certificate is known by opens it no more than its id', async () => {
    const url = (fingerprint: string) => `/api/v1/certificates/by-fingerprint?fingerprint=${fingerprint}`
    expect((await caller.get(url(own.fingerprint))).status).toBe(200)
    expect((await caller.get(url(foreign.fingerprint))).status).toBe(404)
  })

  test('a filter shows nothing foreign', async () => {
    for (const filter of [{ policyId: foreign.POLICY }, { endEntityId: foreign.END_ENTITY }]) {
      const { body } = await caller.post('/api/v1/certificates/search', filter)
      expect([body.totalElements, body.content]).toEqual([0, []])
    }
    const { status } = await caller.post('/api/v1/certificates/search', { realmId: foreign.REALM })
    expect(status).toBe(403)
  })
})

describe('a certificate is named as signer by whom its key is open to', () => {
  const configuration = (signerCertificateId: string) => ({
    cmpConfiguration: { enabled: true, signatureAlgorithm: 'SHA256_WITH_ECDSA', signerCertificateId },
  })
  const makeSigner = async (members: Partial<Certificate> = {}) => {
    const em = api.em()
    const { id } = em.create(PrivateKey, { sealed: Buffer.from('sealed') })
    await em.flush()
    const policy = await em.findOneOrFail(Policy, own.POLICY)
    const endEntity = await em.findOneOrFail(EndEntity, own.END_ENTITY)
    return makeCertificate(em, policy, { endEntity, privateKeyId: id, ...members })
  }
  const shaper = () =>
    api.user({ REALM: { [own.REALM]: ['POLICIES_CREATE', 'FULL_READ'] }, POLICY: { [own.POLICY]: ['UPDATE'] } })
  const createWith = async (maker: ApiCaller, signerId: string): Promise<Reply> =>
    maker.post('/api/v1/policies', {
      realmId: own.REALM,
      name: randomUUID(),
      certificateProviderId: (await makeProvider(api.em())).id,
      certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
      ...configuration(signerId),
    })

  test('reading it is not enough, neither in a new policy nor in a changed one', async () => {
    const [maker, signer] = [await shaper(), await makeSigner()]
    expect((await maker.get(`/api/v1/certificates/${signer.id}`)).status).toBe(200)
    expect(refusalOf(await createWith(maker, signer.id))).toEqual([403, 'ACCESS_DENIED'])
    const changed = await maker.patch(`/api/v1/policies/${own.POLICY}`, configuration(signer.id))
    expect(refusalOf(changed)).toEqual([403, 'ACCESS_DENIED'])
  })

  test('its creator may, and who may download its key', async () => {
    const [maker, signer] = [await shaper(), await makeSigner()]
    await giveGrants(api.em(), maker.id, { CERTIFICATE: { [signer.id]: ['DOWNLOAD_PRIVATE_KEY'] } })
    expect((await createWith(maker, signer.id)).status).toBe(201)
    const mine = await makeSigner()
    await api.em().nativeUpdate(Certificate, { id: mine.id }, { createdBy: maker.id })
    expect((await createWith(maker, mine.id)).status).toBe(201)
  })

  test('that of an administrator by no other', async () => {
    const [maker, user] = [await shaper(), await api.user()]
    const realm = await api.em().findOneOrFail(Realm, own.REALM)
    const endEntity = await makeEndEntity(api.em(), realm)
    await api.em().nativeUpdate(EndEntity, { id: endEntity.id }, { userId: user.id })
    const signer = await makeSigner({ endEntityId: endEntity.id })
    await giveGrants(api.em(), maker.id, { CERTIFICATE: { [signer.id]: ['DOWNLOAD_PRIVATE_KEY'] } })
    expect((await createWith(maker, signer.id)).status).toBe(201)
    await giveGrants(api.em(), user.id, { GLOBAL: ['ADMIN'] })
    expect(refusalOf(await createWith(maker, signer.id))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('who repeats the signer that a policy has needs no right to its key', async () => {
    const [maker, signer] = [await shaper(), await makeSigner()]
    await giveGrants(api.em(), maker.id, { CERTIFICATE: { [signer.id]: ['DOWNLOAD_PRIVATE_KEY'] } })
    const { body } = await createWith(maker, signer.id)
    const another = await api.user({ POLICY: { [body.id]: ['UPDATE'] } })
    const url = `/api/v1/policies/${body.id}`
    expect((await another.patch(url, configuration(signer.id))).status).toBe(200)
    expect((await another.patch(url, configuration((await makeSigner()).id))).status).toBe(403)
  })
})

describe('a certificate provider', () => {
  test('shows its secrets to nobody, in no answer', async () => {
    const em = api.em()
    const word = `hidden-${randomUUID()}`
    const { id, name } = await makeProvider(em)
    const sealedSecrets = Buffer.from(word)
    await em.nativeUpdate(CertificateProvider, { id }, { secretNames: ['challengePassword'], sealedSecrets })
    const boss = await admin()
    const path = '/api/v1/certificate-providers'
    const replies = [
      await boss.get(`${path}/${id}`),
      await boss.post(`${path}/search`, { simpleSearchTerm: name }),
      await boss.post(`${path}/minimal/search`, { simpleSearchTerm: name }),
      await boss.patch(`${path}/${id}`, { name: `${name} again` }),
    ]
    for (const { status, body } of replies) {
      const text = JSON.stringify(body)
      expect([status, text.includes(id)]).toEqual([200, true])
      expect(text).not.toContain(word)
      expect(text).not.toContain(sealedSecrets.toString('base64'))
      expect(text).not.toMatch(/sealedSecrets|"challengePassword\\?"/)
    }
  })

  test('shows its templates to whoever shapes policies, and to nobody else', async () => {
    const { id } = await makeProvider(api.em())
    const reader = await api.user({ GLOBAL: ['REALMS_FULL_READ', 'REALMS_CREATE'] })
    for (const part of ['ca-template-signers', 'all-ca-template-signers', 'directory-ca-templates'])
      expect((await reader.get(`/api/v1/certificate-providers-templates/${id}/${part}`)).status).toBe(403)
  })

  test.each(['ISSUING_CA', 'SINGLE_CA', 'ROOT_CA', 'OCSP_SIGNER'])('makes no %s for a policy', async name => {
    const reply = await caller.post('/api/v1/policies', {
      realmId: own.REALM,
      name: randomUUID(),
      certificateProviderId: (await makeProvider(api.em())).id,
      certificateProviderConfiguration: JSON.stringify({ templateSignerName: name }),
    })
    expect(reply.status).toBe(422)
  })

  test('has no template whose certificates could sign others', async () => {
    const { id } = await makeProvider(api.em())
    const configuration = JSON.stringify({ templates: [{ name: 'SUB', keyUsages: ['keyCertSign'] }] })
    const reply = await (await admin()).patch(`/api/v1/certificate-providers/${id}`, { configuration })
    expect(refusalOf(reply)).toEqual([422, 'INVALID_PROVIDER_CONFIGURATION'])
  })
})

describe('nobody raises the own rights', () => {
  test.each<[string, string, Scope, string[]]>([
    ['realms', 'realmPermissions', 'REALM', ['UPDATE', 'DELETE']],
    ['policies', 'policyPermissions', 'POLICY', ['SIGN']],
    ['end-entities', 'endEntityPermissions', 'END_ENTITY', ['READ']],
    ['cert-requests', 'certRequestPermissions', 'CERT_REQUEST', ['APPROVE']],
    ['certificates', 'certificatePermissions', 'CERTIFICATE', ['DOWNLOAD_PRIVATE_KEY']],
  ])('by UPDATE on the realm, in %s', async (...[part, member, scope, permissions]) => {
    const user = await api.user({ REALM: { [own.REALM]: ['UPDATE'] } })
    const body = { principalId: user.id, principalType: 'USER', [member]: [{ id: own[scope], permissions }] }
    expect((await user.patch(`/api/v1/permissions/${part}`, body)).status).toBe(403)
    const held = await api.em().find(PermissionGrant, { principalId: user.id })
    expect(held.map(grant => grant.permissions)).toEqual([['UPDATE']])
  })

  test('to ADMIN', async () => {
    const body = { principalId: caller.id, principalType: 'USER', permissions: ['ADMIN'] }
    expect((await caller.patch('/api/v1/permissions/global', body)).status).toBe(403)
    expect(await api.em().count(PermissionGrant, { principalId: caller.id, scope: 'GLOBAL' })).toBe(0)
  })
})

const answer = dto('AdvisoryAnswer', {})
const undeclared = operation('POST /things/:id/undeclared', {
  summary: 'Asks a right that it does not declare',
  on: Realm,
  needs: 'READ_REALM',
  returns: [200, answer],
  handle: async ({ caller: asking, target }) => {
    await asking.must('UPDATE_REALM', target.place)
    return {}
  },
})

describe('an operation is closed unless it says who may call it', () => {
  const declare = (members: object) => () =>
    operation('GET /things/:id', { summary: 'Read', returns: [200, answer], handle: () => ({}), ...members } as never)

  test('without a right it is none', () => expect(declare({})).toThrow('does not say what it needs'))

  test('with a right on nothing it is none', () => {
    expect(declare({ needs: 'READ_REALM' })).toThrow('needs READ_REALM on a target that it does not have')
    const on = { realm: from.path(Realm) }
    expect(declare({ on, needs: { policy: 'READ_POLICY' } })).toThrow('needs READ_POLICY on a policy')
    expect(declare({ on, needs: { realm: 'READ_REALM' } })).not.toThrow()
    expect(declare({ needs: 'CREATE_REALM' })).not.toThrow()
  })

  test('a right that it does not declare is never asked', async () => {
    const reply = await caller.post(`/api/v1/things/${own.REALM}/undeclared`)
    expect(refusalOf(reply)).toEqual([500, 'INTERNAL_ERROR'])
  })
})

test('no token chooses the algorithm that it is checked with', async () => {
  const { issuer } = api.issuer
  const check = authenticateWith({ issuer, audiences: [], algorithms: ['RS256'] })
  const claims = { sub: 'somebody' }
  const tokens = [
    await api.issuer.token({ claims }),
    api.issuer.unsignedToken({ claims }),
    await api.issuer.confusedToken({ claims }),
  ]
  for (const token of tokens)
    await expect(check(`Bearer ${token}`)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
})
