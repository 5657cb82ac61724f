// Issuing one certificate and waiting for it (contract 4.2).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { issueRun } from '../../workflows/starts.ts'
import { Workbench } from '../pki/openssl.ts'
import {
  ecKey,
  expectVerified,
  factsOf,
  issueNew,
  keyIn,
  pkcs10,
  refusalOf,
  requestRow,
  statusesOf,
  rsaKey,
  setSetting,
  spkiOf,
  until,
} from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let stopWorker: () => Promise<void>

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  stopWorker = await service.startWorker()
  scene = await makeScene(service)
})
afterAll(async () => {
  await stopWorker()
  await service.stop()
  await bench.clear()
})

const issueUrl = (id: string) => `/api/v1/certificates/cert-requests/${id}`
const orderUrl = (id: string) => `/api/v2/certificates/cert-requests/${id}`
const url = (id: string) => `/api/v1/certificates/${id}`
const serverGen = (keyGenParamsDto: object) => ({ keyGenParamsDto })
const broughtKey = (members: object) => ({ keyGenParamsDto: null, ...members })

test('asks for a token', async () => {
  expect((await service.anonymous.post(issueUrl(randomUUID()))).status).toBe(401)
})

describe('createCertificate', () => {
  test('issues, stores and answers the certificate with its chain', async () => {
    const id = await scene.newRequest()
    const { status, body } = await scene.owner.post(issueUrl(id))
    expect(status).toBe(201)
    const { certificate } = body
    expect(body).toEqual({
      certificate: {
        id: expect.any(String),
        endEntityId: scene.endEntityId,
        policyId: scene.policyId,
        serialNumber: expect.stringMatching(/^[1-9a-f][0-9a-f]{20,39}$/),
        subjectDn: expect.stringMatching(/^CN=host-/),
        subjectCommonName: expect.stringMatching(/^host-/),
        issuerDn: 'CN=Built-in CA Issuing CA',
        issuerCommonName: 'Built-in CA Issuing CA',
        validNotBefore: expect.stringMatching(/\.000Z$/),
        validNotAfter: expect.stringMatching(/\.000Z$/),
        certStatus: 'ACTIVE',
        certPublicKeyAlgorithm: 'EC',
        fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
        certRequestId: id,
        metadata: expect.objectContaining({ createdBy: scene.owner.id, createdByType: 'USER', version: 1 }),
      },
      certificatePem: {
        id: certificate.id,
        fileName: `${certificate.subjectCommonName}_${certificate.serialNumber}.pem`,
        pemCertificate: expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/),
      },
      certificateChainPem: { id: certificate.id, fileName: expect.any(String), pemCertificate: expect.any(String) },
      certRequestStatus: 'ISSUED',
    })
    await expectVerified(bench, body.certificateChainPem.pemCertificate)
    expect(body.certificateChainPem.pemCertificate.startsWith(body.certificatePem.pemCertificate)).toBe(true)
    expect(await requestRow(service, id)).toMatchObject({ certRequestStatus: 'ISSUED', certificateId: certificate.id })
    expect(await factsOf(service, certificate.id)).toEqual(['CERTIFICATE_ISSUED'])
    const grants = await service.em().find(PermissionGrant, { resourceId: certificate.id })
    expect(grants).toMatchObject([{ principalId: scene.owner.id, scope: 'CERTIFICATE' }])
    expect(grants[0]?.permissions.toSorted()).toEqual(['READ', 'REVOKE'])
  })

  test.each<[object, string, object]>([
    [{ cryptoAlgorithm: 'RSA' }, 'RSA', { certPublicKeySize: 2048, namedCurve: null }],
    [{ cryptoAlgorithm: 'RSA', keySize: 3072 }, 'RSA', { certPublicKeySize: 3072 }],
    [{ cryptoAlgorithm: 'EC' }, 'EC', { namedCurve: 'SECP256R1' }],
    [{ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP384R1' }, 'EC', { namedCurve: 'SECP384R1' }],
    [{ cryptoAlgorithm: 'EDDSA' }, 'EDDSA', { namedCurve: 'ED25519' }],
    [{ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED448' }, 'EDDSA', { namedCurve: 'ED448' }],
  ])('makes the key %j and keeps it sealed', async (...[params, algorithm, facts]) => {
    const { id } = await issueNew(scene, serverGen(params))
    const { body } = await scene.owner.get(url(id))
    expect(body).toMatchObject({ certPublicKeyAlgorithm: algorithm, hasPrivateKey: true, ...facts })
    const { privateKeyId } = await service.em().findOneOrFail(Certificate, id)
    expect((await service.em().findOneOrFail(PrivateKey, privateKeyId ?? '')).sealed.length).toBeGreaterThan(32)
  })

  test.each([
    ['PKCS10', rsaKey()],
    ['PKCS10', ecKey()],
    ['PUBLIC_KEY', ecKey()],
  ])('certifies the key of a %s request (%#) and holds no private one', async (keyPairMode, key) => {
    const given =
      keyPairMode === 'PKCS10' ? { pkcs10ReqBase64: await pkcs10(bench, key) } : { publicKeyBase64: spkiOf(key) }
    const id = await scene.newRequest(broughtKey({ keyPairMode, ...given }))
    const { body } = await scene.owner.post(issueUrl(id))
    const pem = await keyIn(bench, body.certificatePem.pemCertificate)
    expect(pem.replace(/-----[^-]+-----|\s/g, '')).toBe(spkiOf(key))
    expect((await scene.owner.get(url(body.certificate.id))).body.hasPrivateKey).toBe(false)
  })

  test('is valid from a minute before to a second before the end of the period', async () => {
    const day = await makeScene(service, { allowedValidForValues: ['ONE_DAY'] })
    const { id } = await issueNew(day, { validFor: 'ONE_DAY' })
    const { body } = await day.owner.get(url(id))
    expect(Date.parse(body.validNotAfter) - Date.parse(body.validNotBefore)).toBe((86_400 + 60 - 1) * 1000)
  })

  test.each<[string, Record<string, unknown>, number, string]>([
    ['PENDING_APPROVAL', { certRequestStatus: 'PENDING_APPROVAL' }, 409, 'INVALID_STATE'],
    ['REQUIRES_EMAIL_VERIFICATION', { certRequestStatus: 'REQUIRES_EMAIL_VERIFICATION' }, 409, 'INVALID_STATE'],
    ['DECLINED', { certRequestStatus: 'DECLINED' }, 409, 'INVALID_STATE'],
    ['ISSUED', { certRequestStatus: 'ISSUED' }, 409, 'ALREADY_ISSUED'],
    ['archived', { archived: true }, 409, 'ENTITY_ARCHIVED'],
    ['ordered', { runId: `order-${randomUUID()}`, runSince: new Date() }, 409, 'ALREADY_ORDERED'],
  ])('a request that is %s is refused', async (...[, members, status, code]) => {
    const id = await scene.newRequest()
    await service.em().nativeUpdate(CertRequest, { id }, members)
    expect(refusalOf(await scene.owner.post(issueUrl(id)))).toEqual([status, code])
  })

  test('a second call is refused', async () => {
    const { certRequestId } = await issueNew(scene)
    expect(refusalOf(await scene.owner.post(issueUrl(certRequestId)))).toEqual([409, 'ALREADY_ISSUED'])
  })

  test.each<[string, string[], string[], number]>([
    ['CERTS_CREATE and READ on the request', ['CERTS_CREATE'], ['READ'], 201],
    ['CERTS_CREATE and CERTREQS_READ', ['CERTS_CREATE', 'CERTREQS_READ'], [], 201],
    ['CERTS_CREATE alone', ['CERTS_CREATE'], [], 403],
    ['all but CERTS_CREATE', ['READ', 'UPDATE', 'CERTREQS_READ', 'CERTREQS_APPROVE'], ['READ', 'UPDATE'], 403],
  ])('with %s: %#', async (...[, onPolicy, onRequest, status]) => {
    const id = await scene.newRequest()
    const grants = { POLICY: { [scene.policyId]: onPolicy }, CERT_REQUEST: { [id]: onRequest } }
    const caller = await service.user(onRequest.length > 0 ? grants : { POLICY: grants.POLICY })
    expect((await caller.post(issueUrl(id))).status).toBe(status)
  })

  test('an unknown request is 404, one of another realm 403', async () => {
    const { owner } = await makeScene(service)
    expect(refusalOf(await owner.post(issueUrl(randomUUID())))).toEqual([404, 'CERT_REQUEST_NOT_FOUND'])
    expect(refusalOf(await owner.post(issueUrl(await scene.newRequest())))).toEqual([403, 'ACCESS_DENIED'])
  })
})

describe('the checks of a request, again at issue', () => {
  test.each<[string, object, string]>([
    ['the mode', { allowedKeyPairModes: ['PKCS10'] }, 'KEY_PAIR_MODE_NOT_ALLOWED'],
    ['the period', { allowedValidForValues: ['ONE_DAY'] }, 'VALID_FOR_NOT_ALLOWED'],
    ['the keys', { cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA'] } }, 'CRYPTO_RESTRICTION_VIOLATION'],
    ['the rules', { endEntityRules: [{ property: 'EMAIL', requirement: 'REQUIRED' }] }, 'END_ENTITY_RULE_VIOLATION'],
    ['the strategy', { endEntityStrategy: 'EXTERNAL_ID' }, 'END_ENTITY_RULE_VIOLATION'],
    ['wildcards', { wildcardAllowed: false }, 'WILDCARD_NOT_ALLOWED'],
    [
      'the template',
      { certificateProviderConfiguration: '{"templateSignerName":"PERSON"}' },
      'END_ENTITY_RULE_VIOLATION',
    ],
  ])('refuse what the policy no longer allows (%s); the request stays approved', async (...[, change, code]) => {
    const own = await makeScene(service, { wildcardAllowed: true })
    const policy = `/api/v1/policies/${own.policyId}`
    const { body: before } = await own.owner.get(policy)
    const id = await own.newRequest({ endEntityId: await own.newEndEntity('*.example.org') })
    expect((await own.owner.patch(policy, change)).status).toBe(200)
    expect(refusalOf(await own.owner.post(issueUrl(id)))).toEqual([422, code])
    expect(await requestRow(service, id)).toMatchObject({ certRequestStatus: 'APPROVED', runId: null })
    const [member = ''] = Object.keys(change)
    await own.owner.patch(policy, { [member]: before[member] })
    expect((await own.owner.post(issueUrl(id))).status).toBe(201)
  })

  test('refuse an end entity that was archived', async () => {
    const endEntityId = await scene.newEndEntity()
    const id = await scene.newRequest({ endEntityId })
    await service.em().nativeUpdate(EndEntity, { id: endEntityId }, { archived: true })
    expect(refusalOf(await scene.owner.post(issueUrl(id)))).toEqual([409, 'ENTITY_ARCHIVED'])
  })

  test('refuse a key that was compromised meanwhile', async () => {
    const key = broughtKey({ keyPairMode: 'PUBLIC_KEY', publicKeyBase64: spkiOf(ecKey()) })
    const [first, id] = [await issueNew(scene, key), await scene.newRequest(key)]
    const revocation = { revocationDate: new Date(), revocationReason: 'KEY_COMPROMISE' as const }
    await service.em().nativeUpdate(Certificate, { id: first.id }, revocation)
    expect(refusalOf(await scene.owner.post(issueUrl(id)))).toEqual([422, 'WEAK_KEY'])
  })

  test('let one of several requests of an end entity through where certificates are unique', async () => {
    const unique = await makeScene(service, { enforceActiveCertUniqueness: true })
    const ids = [await unique.newRequest(), await unique.newRequest(), await unique.newRequest()]
    const replies = await Promise.all(ids.map(id => unique.owner.post(issueUrl(id))))
    expect(statusesOf(replies)).toEqual([201, 422, 422])
    const refused = replies.filter(({ status }) => status === 422)
    expect(refused.map(({ body }) => body.apiError)).toEqual(Array(2).fill('ACTIVE_CERTIFICATE_EXISTS'))
    expect(await service.em().count(Certificate, { policyId: unique.policyId })).toBe(1)
  })
})

describe('a run', () => {
  const claim = (id: string) =>
    service.em().nativeUpdate(CertRequest, { id }, { runId: `issue/${id}`, runSince: new Date() })

  test('that was to be started when its API ended is started by the next call', async () => {
    const id = await scene.newRequest()
    await claim(id)
    expect((await scene.owner.post(issueUrl(id))).status).toBe(201)
  })

  test('that failed long ago does not answer for the one that was to be started', async () => {
    const own = await makeScene(service)
    const allow = (validFor: string) =>
      own.owner.patch(`/api/v1/policies/${own.policyId}`, { allowedValidForValues: [validFor] })
    const id = await own.newRequest()
    await allow('ONE_DAY')
    expect(refusalOf(await own.owner.post(issueUrl(id)))).toEqual([422, 'VALID_FOR_NOT_ALLOWED'])
    await allow('SIX_MONTHS')
    await claim(id)
    expect((await own.owner.post(issueUrl(id))).status).toBe(201)
  })

  test('that is repeated finds the certificate and makes no second one', async () => {
    const { id: certificateId, certRequestId: id } = await issueNew(scene)
    const { realmId, policyId } = scene
    const again = issueRun(`issue/${id}`, [{ id, realmId, policyId, policyName: 'Policy' }])
    expect(await service.deps.temporal.run(again, 60)).toEqual([{ certRequestId: id, certificateId }])
    expect(await service.em().count(Certificate, { certRequestId: id })).toBe(1)
    expect(await factsOf(service, certificateId)).toEqual(['CERTIFICATE_ISSUED'])
  })
})

describe('while nobody issues', () => {
  beforeAll(() => stopWorker())
  afterAll(async () => {
    stopWorker = await service.startWorker()
  })

  const taken = (id: string) => until('the request is taken', async () => (await requestRow(service, id)).runId)

  test('calls join the run, an order is refused, and each call gets the one certificate', async () => {
    const id = await scene.newRequest()
    const first = scene.owner.post(issueUrl(id))
    await taken(id)
    const others = [scene.owner.post(issueUrl(id)), scene.owner.post(issueUrl(id))]
    expect(refusalOf(await scene.owner.post(orderUrl(id)))).toEqual([409, 'ALREADY_ORDERED'])
    const stop = await service.startWorker()
    const replies = await Promise.all([first, ...others])
    await stop()
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(new Set(replies.map(({ body }) => body.certificate.id)).size).toBe(1)
    expect(await service.em().count(Certificate, { certRequestId: id })).toBe(1)
    expect(refusalOf(await scene.owner.post(issueUrl(id)))).toEqual([409, 'ALREADY_ISSUED'])
  })

  test('a run that is about to end is followed by the next', async () => {
    const id = await scene.newRequest()
    await service.deps.temporal.start(issueRun(`issue/${id}`, []))
    const call = scene.owner.post(issueUrl(id))
    await taken(id)
    const stop = await service.startWorker()
    expect((await call).status).toBe(201)
    await stop()
  })

  test('a call ends as pending, issuing goes on, and the certificate is delivered once', async () => {
    await setSetting(service, 'issue.wait-seconds', '1')
    const id = await scene.newRequest()
    expect(refusalOf(await scene.owner.post(issueUrl(id)))).toEqual([422, 'ISSUE_PENDING'])
    expect(refusalOf(await scene.owner.post(issueUrl(id)))).toEqual([422, 'ISSUE_PENDING'])
    await setSetting(service, 'issue.wait-seconds', null)
    expect((await requestRow(service, id)).certRequestStatus).toBe('APPROVED')
    const stop = await service.startWorker()
    const certificateId = await until('it is issued', async () => (await requestRow(service, id)).certificateId)
    await stop()
    expect((await scene.owner.get(url(certificateId))).status).toBe(200)
    const replies = await Promise.all([scene.owner.post(issueUrl(id)), scene.owner.post(issueUrl(id))])
    const codes = replies.map(({ status, body }) => body.certificate?.id ?? [status, body.apiError])
    expect(codes).toContainEqual(certificateId)
    expect(codes).toContainEqual([409, 'ALREADY_ISSUED'])
  })
})

describe('the alias of an end entity', () => {
  const aliasOf = async (id: string) => (await service.em().findOneOrFail(EndEntity, id)).alias ?? null
  const subject = {
    commonName: 'Jane Doe',
    organization: 'Example',
    country: 'DE',
    email: 'jane@example.org',
    domains: ['b.example.org', 'a.example.org'],
    ips: ['192.0.2.1'],
    externalId: 'A-1',
  }
  const client = (endEntityStrategy: string) =>
    makeScene(service, { endEntityStrategy, certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}' })

  test.each([
    ['COMMON_NAME', 'Jane Doe'],
    ['SUBJECT_DN', 'CN=Jane Doe,O=Example,C=DE'],
    ['EMAIL', 'jane@example.org'],
    ['DOMAIN', 'b.example.org'],
    ['IP', '192.0.2.1'],
    ['EXTERNAL_ID', 'A-1'],
    ['UUID', null],
  ])('is set at the first issue by the strategy %s', async (strategy, alias) => {
    const own = await client(strategy)
    const id = await own.newEndEntity(subject)
    await own.newRequest({ endEntityId: id })
    expect(await aliasOf(id)).toBeNull()
    await issueNew(own, { endEntityId: id })
    expect(await aliasOf(id)).toBe(alias ?? id)
  })

  test('stays empty when another end entity of the realm has it', async () => {
    const own = await client('EMAIL')
    const [first, second] = [
      await own.newEndEntity({ email: 'jane@example.org' }),
      await own.newEndEntity({ email: 'JANE@example.org' }),
    ]
    await issueNew(own, { endEntityId: first })
    await issueNew(own, { endEntityId: second })
    expect([await aliasOf(first), await aliasOf(second)]).toEqual(['jane@example.org', null])
    const elsewhere = await client('EMAIL')
    const third = await elsewhere.newEndEntity({ email: 'jane@example.org' })
    await issueNew(elsewhere, { endEntityId: third })
    expect(await aliasOf(third)).toBe('jane@example.org')
  })

  test('stays empty when it is the common name of another end entity of the realm', async () => {
    const own = await client('COMMON_NAME')
    const [first] = [await own.newEndEntity('Jane Doe'), await own.newEndEntity('JANE doe')]
    await issueNew(own, { endEntityId: first })
    expect(await aliasOf(first)).toBeNull()
  })

  test('stays as it is when there is one', async () => {
    const id = await scene.newEndEntity()
    await service.em().nativeUpdate(EndEntity, { id }, { alias: 'by hand' })
    await issueNew(scene, { endEntityId: id })
    expect(await aliasOf(id)).toBe('by hand')
  })
})
