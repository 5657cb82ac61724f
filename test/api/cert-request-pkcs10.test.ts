// Finding a certificate request by its PKCS#10, and examining a PKCS#10 against policy and end entity.
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { Workbench } from '../pki/openssl.ts'
import { giveGrants, type ApiCaller } from '../support/api.ts'
import { ecKey, issueFor, pkcs10, refusalOf, rsaKey, setSetting } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let other: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  other = await makeScene(service)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const path = '/api/v1/cert-requests'
const signed = (pkcs10ReqBase64: string) => ({ keyPairMode: 'PKCS10', keyGenParamsDto: null, pkcs10ReqBase64 })
const change = (id: string, members: object) => service.em().nativeUpdate(CertRequest, { id }, members)
const plain = { raw: 'a', headers: { 'Content-Type': 'text/plain' } }

const forged = (request: string): string => {
  const der = Buffer.from(request, 'base64')
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
  return der.toString('base64')
}

describe('getCertRequestByPkcs10AndEndEntity', () => {
  let endEntityId: string
  let request: string
  let older: string
  let newest: string
  const find = (
    pkcs10ReqBase64: string = request,
    { caller = scene.owner, of = endEntityId }: { caller?: ApiCaller; of?: string } = {},
  ) => caller.post(`${path}/end-entities/${of}/by-pkcs10`, { pkcs10ReqBase64 })

  beforeAll(async () => {
    endEntityId = await scene.newEndEntity()
    request = await pkcs10(bench, ecKey())
    newest = await scene.newRequest({ endEntityId, ...signed(request) })
    older = await scene.newRequest({ endEntityId, ...signed(request) })
    await change(older, { createdDate: new Date('2030-01-01T00:00:00Z') })
    await change(newest, { createdDate: new Date('2030-01-02T00:00:00Z') })
    await scene.newRequest(signed(request))
  })

  test('asks for a token', async () => {
    expect((await find(request, { caller: service.anonymous })).status).toBe(401)
  })

  test('finds the newest request with the same octets, however they are armoured', async () => {
    const lines = request.match(/.{1,64}/g)?.join('\n')
    const armoured = `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`
    for (const input of [request, armoured]) {
      const { status, body } = await find(input)
      expect([status, body]).toEqual([200, (await scene.owner.get(`${path}/${newest}`)).body])
    }
  })

  test.each<[string, () => Promise<string>, number, string]>([
    ['another PKCS#10 request', () => pkcs10(bench, ecKey()), 404, 'CERT_REQUEST_NOT_FOUND'],
    ['one with another signature', async () => forged(request), 404, 'CERT_REQUEST_NOT_FOUND'],
    ['what is no PKCS#10 request', async () => 'AAAA', 400, 'INVALID_PKCS10'],
    ['what is not Base64', async () => '***', 400, 'INVALID_REQUEST'],
  ])('refuses %s', async (...[, input, status, code]) => {
    expect(refusalOf(await find(await input()))).toEqual([status, code])
  })

  test('an unknown end entity is 404, and one without such a request too; whoever holds nothing there is refused', async () => {
    expect(refusalOf(await find(request, { of: randomUUID() }))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    const of = await scene.newEndEntity()
    expect(refusalOf(await find(request, { of }))).toEqual([404, 'CERT_REQUEST_NOT_FOUND'])
    expect(refusalOf(await find(request, { of, caller: other.owner }))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('takes JSON only', async () => {
    const reply = await scene.owner.post(`${path}/end-entities/${endEntityId}/by-pkcs10`, undefined, plain)
    expect(refusalOf(reply)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test.each<[string, () => object, number]>([
    ['a right on the newest request', () => ({ CERT_REQUEST: { [newest]: ['READ'] } }), 200],
    ['CERTREQS_READ of the realm', () => ({ REALM: { [scene.realmId]: ['CERTREQS_READ'] } }), 200],
    ['a right on the older request alone', () => ({ CERT_REQUEST: { [older]: ['READ'] } }), 403],
    ['a right on the end entity alone', () => ({ END_ENTITY: { [endEntityId]: ['READ'] } }), 403],
    ['rights in another realm', () => ({ REALM: { [other.realmId]: ['FULL_READ'] } }), 403],
  ])('with %s: %#', async (...[, grants, status]) => {
    expect((await find(request, { caller: await service.user(grants()) })).status).toBe(status)
  })

  test('an archived request gives way to an older one that is not; archived ones alone are 409', async () => {
    await change(newest, { archived: true })
    expect((await find()).body.id).toBe(older)
    await change(older, { archived: true })
    expect(refusalOf(await find())).toEqual([409, 'ENTITY_ARCHIVED'])
    expect(refusalOf(await find(request, { caller: other.owner }))).toEqual([403, 'ACCESS_DENIED'])
  })
})

describe('examinePkcs10Request', () => {
  const examine = (members: object, { caller = scene.owner, of = scene }: { caller?: ApiCaller; of?: Scene } = {}) =>
    caller.put(`${path}/examine-pkcs10-request`, { policyId: of.policyId, endEntityId: of.endEntityId, ...members })
  const codesIn = ({ body }: { body: { policyViolations: { apiError: string }[] } }): string[] =>
    body.policyViolations.map(({ apiError }) => apiError)

  test('tells what is in a good request, and makes nothing', async () => {
    const before = await service.em().count(CertRequest, {})
    const endEntityId = await scene.newEndEntity({
      commonName: 'web.example.org',
      organization: 'Acme',
      country: 'DE',
      email: 'ops@example.org',
      domains: ['web.example.org', 'www.example.org'],
      ips: ['192.0.2.1'],
    })
    const names = 'DNS:WWW.example.org,IP:192.0.2.1,email:ops@example.org,URI:urn:x'
    const request = await pkcs10(bench, ecKey(), { subject: '/C=DE/O=ACME/L=Ulm/CN=Web.example.org', names })
    const { status, body } = await examine({ endEntityId, pkcs10ReqBase64: request })
    expect([status, body]).toEqual([
      200,
      {
        valid: true,
        signatureValid: true,
        subjectDn: 'CN=Web.example.org,L=Ulm,O=ACME,C=DE',
        subject: {
          commonName: 'Web.example.org',
          organization: 'ACME',
          organizationalUnit: null,
          country: 'DE',
          externalId: null,
          email: 'ops@example.org',
          domains: ['WWW.example.org'],
          ips: ['192.0.2.1'],
          genericDtoList: [],
        },
        cryptoAlgorithm: 'EC',
        keySize: null,
        namedCurve: 'SECP256R1',
        mismatches: [],
        policyViolations: [],
      },
    ])
    expect(await service.em().count(CertRequest, {})).toBe(before)
  })

  test('tells each name that is not one of the end entity, and what was expected', async () => {
    const subject = '/O=Acme/OU=Ops/C=FR/CN=evil.example.org/emailAddress=a@example.org'
    const names = 'DNS:evil.example.org,IP:192.0.2.9,email:b@example.org'
    const endEntityId = await scene.newEndEntity({ commonName: 'web.example.org', organization: 'Example' })
    const request = await pkcs10(bench, rsaKey(), { subject, names })
    const { body } = await examine({ endEntityId, pkcs10ReqBase64: request })
    expect(body).toMatchObject({ valid: false, cryptoAlgorithm: 'RSA', keySize: 2048, policyViolations: [] })
    const row = (property: string, expected: string | null, actual: string) => ({
      property,
      expected,
      actual,
      message: `${actual} is not a name of the end entity`,
    })
    expect(body.mismatches).toEqual([
      row('COMMON_NAME', 'web.example.org', 'evil.example.org'),
      row('ORGANIZATION', 'Example', 'Acme'),
      row('ORGANIZATIONAL_UNIT', null, 'Ops'),
      row('COUNTRY', null, 'FR'),
      row('EMAIL', null, 'a@example.org'),
      row('EMAIL', null, 'b@example.org'),
      row('DOMAIN', 'web.example.org', 'evil.example.org'),
      row('IP', null, '192.0.2.9'),
    ])
  })

  test('tells every breach of the policy at once, in the order of the checks', async () => {
    const strict = await makeScene(service, {
      allowedKeyPairModes: ['SERVER_GEN'],
      cryptoRestrictions: { allowedCryptoAlgorithms: ['EC'] },
      endEntityRules: [{ property: 'ORGANIZATION', requirement: 'REQUIRED' }],
      requiresEmailVerification: true,
    })
    const endEntityId = await strict.newEndEntity('*.no host name')
    const request = await pkcs10(bench, rsaKey(2048, 3), { subject: '/CN=x' })
    const reply = await examine({ endEntityId, pkcs10ReqBase64: forged(request) }, { caller: strict.owner, of: strict })
    expect(reply).toMatchObject({ status: 200, body: { valid: false, signatureValid: false } })
    expect(codesIn(reply)).toEqual([
      'KEY_PAIR_MODE_NOT_ALLOWED',
      'INVALID_PKCS10',
      'CRYPTO_RESTRICTION_VIOLATION',
      'WEAK_KEY',
      'END_ENTITY_RULE_VIOLATION',
      'WILDCARD_NOT_ALLOWED',
      'END_ENTITY_RULE_VIOLATION',
      'EMAIL_MISSING',
    ])
    expect(reply.body.policyViolations[1].message).toContain('signature')
    expect(reply.body.mismatches).toHaveLength(1)
  })

  test('judges the period of nobody: not what the policy allows, not how long the CA lives', async () => {
    const long = await makeScene(service, { allowedValidForValues: ['TEN_YEARS'] })
    const reply = await examine({ pkcs10ReqBase64: await pkcs10(bench, ecKey()) }, { caller: long.owner, of: long })
    expect(reply.body).toMatchObject({ valid: true, policyViolations: [] })
  })

  test('knows the active certificate of the end entity, the revoked key and missing mail', async () => {
    const unique = await makeScene(service, { enforceActiveCertUniqueness: true, requiresManualApproval: false })
    const request = await pkcs10(bench, ecKey())
    const endEntityId = await unique.newEndEntity({ commonName: 'web.example.org', email: 'web@example.org' })
    const { id } = await issueFor(unique, undefined, signed(request))
    await issueFor(unique, undefined, { endEntityId })
    const verified = { requiresEmailVerification: true }
    expect((await unique.owner.patch(`/api/v1/policies/${unique.policyId}`, verified)).status).toBe(200)
    const ask = () => examine({ endEntityId, pkcs10ReqBase64: request }, { caller: unique.owner, of: unique })
    expect(codesIn(await ask())).toEqual(['MAIL_NOT_CONFIGURED', 'ACTIVE_CERTIFICATE_EXISTS'])
    const mail = { 'mail.enabled': 'true', 'mail.host': 'localhost', 'mail.from': 'ca@example.org' }
    for (const [key, value] of Object.entries(mail)) await setSetting(service, key, value)
    const revocation = { revocationDate: new Date(), revocationReason: 'KEY_COMPROMISE' as const }
    await service.em().nativeUpdate(Certificate, { id }, revocation)
    expect(codesIn(await ask())).toEqual(['WEAK_KEY', 'ACTIVE_CERTIFICATE_EXISTS'])
    for (const key of Object.keys(mail)) await setSetting(service, key, null)
  })

  test('a key on a curve that the service does not use is told and refused', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
    const reply = await examine({ pkcs10ReqBase64: await pkcs10(bench, privateKey) })
    expect(reply.body).toMatchObject({ valid: false, cryptoAlgorithm: 'EC', namedCurve: '1.3.132.0.10' })
    expect(codesIn(reply)).toContain('CRYPTO_RESTRICTION_VIOLATION')
  })

  test('a key of an algorithm that the service does not know is told as nothing, and its proof does not count', async () => {
    const { privateKey } = generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 })
    const reply = await examine({ pkcs10ReqBase64: await pkcs10(bench, privateKey, { subject: '/CN=x' }) })
    expect(reply).toMatchObject({
      status: 200,
      body: { valid: false, signatureValid: false, cryptoAlgorithm: null, keySize: null, namedCurve: null },
    })
    expect(codesIn(reply)).toEqual(['CRYPTO_RESTRICTION_VIOLATION'])
    expect(reply.body.mismatches).toHaveLength(1)
  })

  describe('refuses', () => {
    let pkcs10ReqBase64: string
    beforeAll(async () => {
      pkcs10ReqBase64 = await pkcs10(bench, ecKey())
    })
    test('to answer without a token', async () => {
      expect((await examine({ pkcs10ReqBase64 }, { caller: service.anonymous })).status).toBe(401)
    })

    test.each<[string, object, number, string]>([
      ['what is no PKCS#10 request', { pkcs10ReqBase64: 'AAAA' }, 422, 'INVALID_PKCS10'],
      ['nothing', { pkcs10ReqBase64: null }, 400, 'INVALID_REQUEST'],
      ['an id that is none', { policyId: 'web' }, 400, 'INVALID_IDENTIFIER'],
      ['an unknown policy', { policyId: randomUUID() }, 404, 'POLICY_NOT_FOUND'],
      ['an unknown end entity', { endEntityId: randomUUID() }, 404, 'END_ENTITY_NOT_FOUND'],
    ])('%s', async (...[, members, status, code]) => {
      expect(refusalOf(await examine({ pkcs10ReqBase64, ...members }))).toEqual([status, code])
    })

    test('what is not JSON', async () => {
      const reply = await scene.owner.put(`${path}/examine-pkcs10-request`, undefined, plain)
      expect(refusalOf(reply)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
    })

    test('a policy and an end entity of two realms, before it looks at the request', async () => {
      await giveGrants(service.em(), scene.owner.id, { END_ENTITY: { [other.endEntityId]: ['READ'] } })
      const reply = await examine({ endEntityId: other.endEntityId, pkcs10ReqBase64: 'AAAA' })
      expect(refusalOf(reply)).toEqual([422, 'REALM_MISMATCH'])
    })

    test.each<[string, (of: Scene) => Promise<unknown>]>([
      ['end entity', of => service.em().nativeUpdate(EndEntity, { id: of.endEntityId }, { archived: true })],
      ['realm', of => service.em().nativeUpdate(Realm, { id: of.realmId }, { archived: true })],
    ])('an archived %s', async (_, archive) => {
      const of = await makeScene(service)
      await archive(of)
      const reply = await examine({ pkcs10ReqBase64: 'AAAA' }, { caller: of.owner, of })
      expect(refusalOf(reply)).toEqual([422, 'ENTITY_ARCHIVED'])
    })
  })

  test.each<[string, () => object, number]>([
    ['CERTS_CREATE and the end entity', () => ({ POLICY: 'CERTS_CREATE', END_ENTITY: 'READ' }), 200],
    ['CERTS_CREATE without the end entity', () => ({ POLICY: 'CERTS_CREATE' }), 403],
    ['the end entity without CERTS_CREATE', () => ({ POLICY: 'CERTREQS_APPROVE', END_ENTITY: 'READ' }), 403],
    ['rights in another realm only', () => ({}), 403],
  ])('with %s: %#', async (...[, given, status]) => {
    const { POLICY, END_ENTITY } = given() as { POLICY?: string; END_ENTITY?: string }
    const caller = await service.user({
      REALM: { [other.realmId]: ['FULL_READ'] },
      ...(POLICY && { POLICY: { [scene.policyId]: [POLICY] } }),
      ...(END_ENTITY && { END_ENTITY: { [scene.endEntityId]: [END_ENTITY] } }),
    })
    expect((await examine({ pkcs10ReqBase64: await pkcs10(bench, ecKey()) }, { caller })).status).toBe(status)
  })
})
