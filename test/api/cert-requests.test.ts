// Creating and reading certificate requests.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { Workbench } from '../pki/openssl.ts'
import { giveGrants } from '../support/api.ts'
import { ecKey, factsOf, issueFor, pkcs10, refusalOf, rsaKey, setSetting, spkiOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const path = '/api/v1/cert-requests'
const EC = { cryptoAlgorithm: 'EC' }
const requestBody = ({ policyId, endEntityId }: Scene, members: object = {}) => ({
  policyId,
  endEntityId,
  validFor: 'SIX_MONTHS',
  keyPairMode: 'SERVER_GEN',
  keyGenParamsDto: EC,
  ...members,
})
const withoutKey = { keyGenParamsDto: null }
const bare = (publicKeyBase64: string) => ({ ...withoutKey, keyPairMode: 'PUBLIC_KEY', publicKeyBase64 })
const signed = (pkcs10ReqBase64: string) => ({ ...withoutKey, keyPairMode: 'PKCS10', pkcs10ReqBase64 })

test.each([
  ['post', path],
  ['get', `${path}/${randomUUID()}`],
] as const)('%s %s asks for a token', async (method, url) => {
  expect((await service.anonymous[method](url)).status).toBe(401)
})

describe('createCertRequest', () => {
  test('makes an approved request, gives its creator READ, UPDATE and DELETE, and records it', async () => {
    const { status, body } = await scene.owner.post(path, requestBody(scene))
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      realmId: scene.realmId,
      policyId: scene.policyId,
      endEntityId: scene.endEntityId,
      policyName: expect.stringMatching(/^Policy /),
      endEntityCommonName: expect.stringMatching(/^host-/),
      endEntityAlias: null,
      validFor: 'SIX_MONTHS',
      keyPairMode: 'SERVER_GEN',
      keyGenParamsDto: {
        cryptoAlgorithm: 'EC',
        keySize: null,
        ecNamedCurve: null,
        edDSANamedCurve: null,
        mlDsaParameterSet: null,
      },
      pkcs10ReqBase64: null,
      publicKeyBase64: null,
      certRequestStatus: 'APPROVED',
      certificateId: null,
      orderId: null,
      requiresManualApproval: false,
      dualControl: false,
      userResponses: [],
      emailVerifiedDate: null,
      reference: null,
      archiveInfo: { archived: false, archivedDate: null, archivedBy: null, archivedByType: null },
      metadata: expect.objectContaining({ createdBy: scene.owner.id, createdByType: 'USER', version: 1 }),
    })
    expect((await scene.owner.get(`${path}/${body.id}`)).body).toEqual(body)
    expect(await factsOf(service, body.id)).toEqual(['CERT_REQUEST_CREATED'])
    const grants = await service.em().find(PermissionGrant, { resourceId: body.id })
    expect(grants.map(({ principalId, scope, permissions }) => [principalId, scope, permissions.toSorted()])).toEqual([
      [scene.owner.id, 'CERT_REQUEST', ['DELETE', 'READ', 'UPDATE']],
    ])
  })

  test('keeps a PKCS#10 request and a public key as they came', async () => {
    const key = ecKey()
    const request = await pkcs10(bench, key)
    const armoured = `-----BEGIN CERTIFICATE REQUEST-----\n${request}\n-----END CERTIFICATE REQUEST-----\n`
    const byPkcs10 = await scene.owner.post(path, requestBody(scene, signed(armoured)))
    expect(byPkcs10).toMatchObject({ status: 201, body: { pkcs10ReqBase64: request, keyGenParamsDto: null } })
    const byKey = await scene.owner.post(path, requestBody(scene, bare(spkiOf(key))))
    expect(byKey).toMatchObject({ status: 201, body: { publicKeyBase64: spkiOf(key), pkcs10ReqBase64: null } })
  })

  test('copies the way of approval from the policy, whatever becomes of the policy', async () => {
    const careful = await makeScene(service, { requiresManualApproval: true, dualControl: true })
    const { body } = await careful.owner.post(path, requestBody(careful))
    expect(body).toMatchObject({ certRequestStatus: 'PENDING_APPROVAL', dualControl: true })
    const change = { requiresManualApproval: false, dualControl: false }
    expect((await careful.owner.patch(`/api/v1/policies/${careful.policyId}`, change)).status).toBe(200)
    expect((await careful.owner.get(`${path}/${body.id}`)).body).toEqual(body)
  })

  test.each<[string, object, number, string]>([
    ['no policy', { policyId: null }, 400, 'INVALID_REQUEST'],
    ['an id that is none', { endEntityId: 'host' }, 400, 'INVALID_IDENTIFIER'],
    ['an unknown mode', { keyPairMode: 'TELEPATHY' }, 400, 'INVALID_REQUEST'],
    ['an unknown period', { validFor: 'FOREVER' }, 400, 'INVALID_REQUEST'],
    ['what is not Base64', { publicKeyBase64: '***' }, 400, 'INVALID_REQUEST'],
    ['an unknown policy', { policyId: randomUUID() }, 404, 'POLICY_NOT_FOUND'],
    ['an unknown end entity', { endEntityId: randomUUID() }, 404, 'END_ENTITY_NOT_FOUND'],
  ])('refuses %s', async (...[, members, status, code]) => {
    expect(refusalOf(await scene.owner.post(path, requestBody(scene, members)))).toEqual([status, code])
  })

  test('takes JSON only', async () => {
    const reply = await scene.owner.post(path, undefined, { raw: 'a=b', headers: { 'Content-Type': 'text/plain' } })
    expect(refusalOf(reply)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test.each<[string, (scene: Scene) => object, number]>([
    ['CERTS_CREATE and the end entity', s => ({ POLICY: [s.policyId, 'CERTS_CREATE'], END_ENTITY: 'READ' }), 201],
    ['CERTS_CREATE alone', s => ({ POLICY: [s.policyId, 'CERTS_CREATE'] }), 403],
    ['the end entity and another right', s => ({ POLICY: [s.policyId, 'CERTREQS_READ'], END_ENTITY: 'READ' }), 403],
  ])('with %s: %#', async (...[, given, status]) => {
    const { POLICY, END_ENTITY } = given(scene) as { POLICY: [string, string]; END_ENTITY?: string }
    const caller = await service.user({
      POLICY: { [POLICY[0]]: [POLICY[1]] },
      ...(END_ENTITY && { END_ENTITY: { [scene.endEntityId]: [END_ENTITY] } }),
    })
    expect((await caller.post(path, requestBody(scene))).status).toBe(status)
  })

  test('is refused to those with rights in another realm only', async () => {
    const { owner } = await makeScene(service)
    expect(refusalOf(await owner.post(path, requestBody(scene)))).toEqual([403, 'ACCESS_DENIED'])
  })
})

describe('the checks of a request', () => {
  let strict: Scene
  let foreign: string
  let body: Record<string, unknown>
  const organization = 'Example'
  const subject = '/CN=other.example.org'
  const archiveNew = async () => {
    const id = await strict.newEndEntity()
    await service.em().nativeUpdate(EndEntity, { id }, { archived: true })
    return id
  }

  beforeAll(async () => {
    strict = await makeScene(service, {
      allowedKeyPairModes: ['PKCS10'],
      allowedValidForValues: ['ONE_YEAR'],
      cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA'], allowedRsaKeySizes: [2048] },
      endEntityRules: [{ property: 'ORGANIZATION', requirement: 'REQUIRED' }],
    })
    foreign = await scene.newEndEntity()
    await service.em().nativeUpdate(EndEntity, { id: foreign }, { archived: true })
    await giveGrants(service.em(), strict.owner.id, { END_ENTITY: { [foreign]: ['READ'] } })
    body = { ...requestBody(strict), endEntityId: foreign, validFor: 'ONE_DAY', publicKeyBase64: 'AAAA' }
    const key = rsaKey()
    const named = { commonName: 'web.example.org', organization, email: 'web@example.org' }
    const own = signed(await pkcs10(bench, key, { subject: '/CN=WEB.example.org' }))
    certified = await issueFor(strict, named, { ...own, validFor: 'ONE_YEAR' })
    const change = { requiresEmailVerification: true, enforceActiveCertUniqueness: true }
    await strict.owner.patch(`/api/v1/policies/${strict.policyId}`, change)
  })
  let certified: { endEntityId: string }

  // Each step mends what the one before was refused for; everything after it is still wrong.
  test.each<[string, () => Promise<object>, string]>([
    ['one realm', async () => ({}), 'REALM_MISMATCH'],
    ['nothing archived', async () => ({ endEntityId: await archiveNew() }), 'ENTITY_ARCHIVED'],
    [
      'the mode',
      async () => ({ endEntityId: await strict.newEndEntity('*.no host name') }),
      'KEY_PAIR_MODE_NOT_ALLOWED',
    ],
    ['its one key', async () => ({ keyPairMode: 'PKCS10', pkcs10ReqBase64: 'AAAA' }), 'VALIDATION_FAILED'],
    ['the period', async () => ({ keyGenParamsDto: null, publicKeyBase64: null }), 'VALID_FOR_NOT_ALLOWED'],
    ['a readable key', async () => ({ validFor: 'ONE_YEAR' }), 'INVALID_PKCS10'],
    [
      'the kind of key',
      async () => ({ pkcs10ReqBase64: await pkcs10(bench, rsaKey(3072, 3), { subject }) }),
      'CRYPTO_RESTRICTION_VIOLATION',
    ],
    ['its strength', async () => ({ pkcs10ReqBase64: await pkcs10(bench, rsaKey(2048, 3), { subject }) }), 'WEAK_KEY'],
    [
      'the rules of the policy',
      async () => ({ pkcs10ReqBase64: await pkcs10(bench, rsaKey(), { subject }) }),
      'END_ENTITY_RULE_VIOLATION',
    ],
    [
      'wildcards',
      async () => ({ endEntityId: await strict.newEndEntity({ commonName: '*.no host name', organization }) }),
      'WILDCARD_NOT_ALLOWED',
    ],
    [
      'the names in the PKCS#10 request',
      async () => ({ endEntityId: await strict.newEndEntity({ commonName: 'no host name', organization }) }),
      'PKCS10_MISMATCH',
    ],
    [
      'the needs of the template',
      async () => ({ pkcs10ReqBase64: await pkcs10(bench, rsaKey(), { subject: '/CN=No Host Name' }) }),
      'END_ENTITY_RULE_VIOLATION',
    ],
    [
      'an e-mail address',
      async () => ({
        endEntityId: await strict.newEndEntity({ commonName: 'web.example.org', organization }),
        pkcs10ReqBase64: await pkcs10(bench, rsaKey(), { subject: '/CN=web.example.org' }),
      }),
      'EMAIL_MISSING',
    ],
    ['working mail', async () => ({ endEntityId: certified.endEntityId }), 'MAIL_NOT_CONFIGURED'],
    ['uniqueness', async () => (await mailWorks(), {}), 'ACTIVE_CERTIFICATE_EXISTS'],
  ])('in their order: %s', async (...[, mend, code]) => {
    Object.assign(body, await mend())
    expect(refusalOf(await strict.owner.post(path, body))).toEqual([422, code])
    expect(await service.em().count(CertRequest, { policyId: strict.policyId })).toBe(1)
  })

  const mailWorks = async () => {
    await setSetting(service, 'mail.enabled', 'true')
    await setSetting(service, 'mail.host', 'localhost')
    await setSetting(service, 'mail.from', 'ca@example.org')
  }

  test('and when nothing is wrong any more, it waits for the verification of the address', async () => {
    await service.em().nativeUpdate(Certificate, { policyId: strict.policyId }, { revocationDate: new Date() })
    const reply = await strict.owner.post(path, body)
    expect(reply).toMatchObject({ status: 201, body: { certRequestStatus: 'REQUIRES_EMAIL_VERIFICATION' } })
    for (const key of ['mail.enabled', 'mail.host', 'mail.from']) await setSetting(service, key, null)
  })

  const offTheCurve = () => {
    const spki = Buffer.from(spkiOf(ecKey()), 'base64')
    spki.writeUInt8(spki.readUInt8(spki.length - 1) ^ 1, spki.length - 1)
    return spki.toString('base64')
  }
  const forged = async () => {
    const der = Buffer.from(await pkcs10(bench, rsaKey()), 'base64')
    der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
    return der.toString('base64')
  }
  test.each<[string, () => Promise<object>, string]>([
    ['a key of another mode', async () => bare(await pkcs10(bench, ecKey())), 'INVALID_PUBLIC_KEY'],
    ['bytes for a key', async () => bare('AAAA'), 'INVALID_PUBLIC_KEY'],
    ['a PKCS#10 request with a wrong signature', async () => signed(await forged()), 'INVALID_PKCS10'],
    ['SERVER_GEN without parameters', async () => withoutKey, 'VALIDATION_FAILED'],
    [
      'PUBLIC_KEY with parameters',
      async () => ({ ...bare(spkiOf(ecKey())), keyGenParamsDto: EC }),
      'VALIDATION_FAILED',
    ],
    ['a short RSA key', async () => bare(spkiOf(rsaKey(1024))), 'CRYPTO_RESTRICTION_VIOLATION'],
    [
      'an RSA size that is none',
      async () => ({ keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 1000 } }),
      'CRYPTO_RESTRICTION_VIOLATION',
    ],
    ['a point that is not on its curve', async () => bare(offTheCurve()), 'WEAK_KEY'],
    [
      'a PKCS#10 request that names another host',
      async () => signed(await pkcs10(bench, ecKey(), { names: 'DNS:other.example.org' })),
      'PKCS10_MISMATCH',
    ],
    ['a period that the policy does not allow', async () => ({ validFor: 'TEN_YEARS' }), 'VALID_FOR_NOT_ALLOWED'],
  ])('%s is refused', async (...[, members, code]) => {
    expect(refusalOf(await scene.owner.post(path, requestBody(scene, await members())))).toEqual([422, code])
  })

  test('a period that outlives the CA is refused', async () => {
    const long = await makeScene(service, { allowedValidForValues: ['TEN_YEARS'] })
    const reply = await long.owner.post(path, requestBody(long, { validFor: 'TEN_YEARS' }))
    expect(refusalOf(reply)).toEqual([422, 'VALID_FOR_NOT_ALLOWED'])
  })

  test('a key that was once revoked as compromised is weak for ever', async () => {
    const key = bare(spkiOf(ecKey()))
    const { id } = await issueFor(scene, undefined, key)
    expect((await scene.owner.post(path, requestBody(scene, key))).status).toBe(201)
    const revocation = { revocationDate: new Date(), revocationReason: 'KEY_COMPROMISE' as const }
    await service.em().nativeUpdate(Certificate, { id }, revocation)
    expect(refusalOf(await scene.owner.post(path, requestBody(scene, key)))).toEqual([422, 'WEAK_KEY'])
  })

  test('an active certificate may be renewed within the window of the policy', async () => {
    const unique = await makeScene(service, { enforceActiveCertUniqueness: true })
    await unique.owner.post(`/api/v1/certificates/cert-requests/${await unique.newRequest()}`)
    expect(refusalOf(await unique.owner.post(path, requestBody(unique)))).toEqual([422, 'ACTIVE_CERTIFICATE_EXISTS'])
    await unique.owner.patch(`/api/v1/policies/${unique.policyId}`, { renewalWindowDays: 365 })
    expect((await unique.owner.post(path, requestBody(unique))).status).toBe(201)
  })

  test('the end entity of a user serves RA certificates only', async () => {
    const endEntityId = await scene.newEndEntity()
    await service.em().nativeUpdate(EndEntity, { id: endEntityId }, { userId: scene.owner.id })
    expect(refusalOf(await scene.owner.post(path, requestBody(scene, { endEntityId })))).toEqual([
      422,
      'VALIDATION_FAILED',
    ])
  })
})

describe('getCertRequest', () => {
  test.each<[string, (id: string) => object, number]>([
    ['a request permission', id => ({ CERT_REQUEST: { [id]: ['UPDATE'] } }), 200],
    ['CERTREQS_READ of the realm', () => ({ REALM: { [scene.realmId]: ['CERTREQS_READ'] } }), 200],
    ['CERTREQS_APPROVE of the policy', () => ({ POLICY: { [scene.policyId]: ['CERTREQS_APPROVE'] } }), 200],
    ['REALMS_FULL_READ', () => ({ GLOBAL: ['REALMS_FULL_READ'] }), 200],
    ['CERTS_CREATE of the policy', () => ({ POLICY: { [scene.policyId]: ['CERTS_CREATE'] } }), 403],
    ['CERTS_READ of the realm', () => ({ REALM: { [scene.realmId]: ['CERTS_READ'] } }), 403],
    ['nothing', () => ({}), 403],
  ])('with %s: %#', async (...[, grants, status]) => {
    const id = await scene.newRequest()
    expect((await (await service.user(grants(id))).get(`${path}/${id}`)).status).toBe(status)
  })

  test('an unknown one is 404, one of another realm 403', async () => {
    const { owner } = await makeScene(service)
    expect(refusalOf(await owner.get(`${path}/${randomUUID()}`))).toEqual([404, 'CERT_REQUEST_NOT_FOUND'])
    expect(refusalOf(await owner.get(`${path}/${await scene.newRequest()}`))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('an archived one stays readable', async () => {
    const id = await scene.newRequest()
    await service.em().nativeUpdate(CertRequest, { id }, { archived: true })
    expect((await scene.owner.get(`${path}/${id}`)).body.archiveInfo.archived).toBe(true)
  })
})

test('a request in an archived realm is refused', async () => {
  const old = await makeScene(service)
  await service.em().nativeUpdate(Realm, { id: old.realmId }, { archived: true })
  expect(refusalOf(await old.owner.post(path, requestBody(old)))).toEqual([422, 'ENTITY_ARCHIVED'])
})
