// Importing certificates (contract 10.4).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { encodePem } from '../../pki/pem.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Workbench } from '../pki/openssl.ts'
import {
  importPem,
  garbage,
  importPath,
  newHost,
  prepareImports,
  verifyPem,
  verdictOn,
  importBody,
  type ImportSetup,
} from '../support/importing.ts'
import { factsOf, refusalOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { signForeign, newForeignKey } from '../support/foreign-certificates.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let importing: ImportSetup
const leaf: ImportSetup['leaf'] = (...options) => importing.leaf(...options)
const sceneWith: ImportSetup['sceneWith'] = members => importing.sceneWith(members)

beforeAll(async () => {
  service = await startService()
  importing = await prepareImports(service, bench)
  scene = importing.scene
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

describe('importCertificates', () => {
  test('makes the record of a foreign certificate, its request and end entity, gives their grants and records them', async () => {
    const names = 'DNS:WWW.foreign.example,IP:2001:db8:0:0::1,email:Ops@Foreign.Example'
    const { pem } = await leaf({ names })
    const { status, body } = await importPem(scene, pem)
    expect(status).toBe(201)
    expect(body).toMatchObject({ total: 1, alreadyKnownCertificateIds: [], errors: [] })
    const [made] = body.importedCertificates
    expect(made).toMatchObject({ policyId: scene.policyId, certStatus: 'ACTIVE', certPublicKeyAlgorithm: 'EC' })
    expect(made.metadata).toMatchObject({ createdBy: scene.owner.id, createdByType: 'USER', version: 1 })
    const details = await scene.owner.get(`/api/v1/certificates/${made.id}`)
    expect(details.body).toMatchObject(made)
    expect(details.body).toMatchObject({ imported: true, hasPrivateKey: false, selfSigned: false, issuerCaId: null })
    const request = await scene.owner.get(`/api/v1/cert-requests/${made.certRequestId}`)
    const publicKeyBase64 = parseCertificatePem(pem).publicKeySpki.toString('base64')
    expect(request.body).toMatchObject({ certRequestStatus: 'ISSUED', keyPairMode: 'PUBLIC_KEY', publicKeyBase64 })
    expect(request.body).toMatchObject({ validFor: null, certificateId: made.id, endEntityId: made.endEntityId })
    const owner = await scene.owner.get(`/api/v1/end-entities/${made.endEntityId}`)
    expect(owner.body).toMatchObject({ country: 'DE', organization: 'Foreign', email: 'Ops@foreign.example' })
    expect(owner.body).toMatchObject({ domains: ['www.foreign.example'], ips: ['2001:db8::1'], alias: null })
    expect(await factsOf(service, made.id)).toEqual(['CERTIFICATE_IMPORTED'])
    expect(await factsOf(service, made.certRequestId)).toEqual(['CERT_REQUEST_CREATED'])
    expect(await factsOf(service, made.endEntityId)).toEqual(['ENTITY_CREATED'])
    const ids = [made.id, made.certRequestId, made.endEntityId]
    const grants = await service.em().find(PermissionGrant, { principalId: scene.owner.id, resourceId: { $in: ids } })
    const held = Object.fromEntries(grants.map(({ scope, permissions }) => [scope, permissions.toSorted()]))
    const own = ['DELETE', 'READ', 'UPDATE']
    expect(held).toEqual({ CERTIFICATE: ['READ', 'REVOKE'], CERT_REQUEST: own, END_ENTITY: own })
  })

  test('what was imported is found and downloaded, and has no more to be approved, issued or kept secret', async () => {
    const { pem } = await leaf()
    const [made] = (await importPem(scene, pem)).body.importedCertificates
    const found = await scene.owner.post('/api/v1/certificates/search', { simpleSearchTerm: made.fingerprint })
    expect(found.body.content.map(({ id }: { id: string }) => id)).toEqual([made.id])
    const file = await scene.owner.get(`/api/v1/certificates/${made.id}/download`)
    expect(file.body.pemCertificate).toBe(pem)
    const request = `/api/v1/cert-requests/${made.certRequestId}`
    const approver = await service.user({ GLOBAL: ['ADMIN'] })
    expect(refusalOf(await approver.patch(`${request}/approve`))).toEqual([409, 'INVALID_STATE'])
    const issue = await scene.owner.post(`/api/v1/certificates/cert-requests/${made.certRequestId}`)
    expect(refusalOf(issue)).toEqual([409, 'ALREADY_ISSUED'])
    const key = await scene.owner.get(`/api/v1/certificates/${made.id}/download-private-key`)
    expect(refusalOf(key)).toEqual([422, 'PRIVATE_KEY_NOT_AVAILABLE'])
  })

  test.each<[string, string[], object]>([
    ['RSA', ['rsa:2048'], { certPublicKeyAlgorithm: 'RSA', certPublicKeySize: 2048, namedCurve: null }],
    ['RSA that nobody here makes', ['rsa:1024'], { certPublicKeyAlgorithm: 'RSA', certPublicKeySize: 1024 }],
    ['Ed25519', ['ed25519'], { certPublicKeyAlgorithm: 'EDDSA', namedCurve: 'ED25519' }],
    [
      'a curve that nobody here makes',
      ['ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'],
      { namedCurve: '1.3.132.0.10' },
    ],
  ])('takes keys of %s, whatever the restrictions of the policy', async (_, key, facts) => {
    const strict = await sceneWith({ cryptoRestrictions: { allowedCryptoAlgorithms: ['EC'] } })
    const [made] = (await importPem(strict, (await leaf({ key })).pem)).body.importedCertificates
    expect((await strict.owner.get(`/api/v1/certificates/${made.id}`)).body).toMatchObject(facts)
  })

  test('an import past its end is expired', async () => {
    const validity = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2021-01-01T00:00:00Z') }
    const { body } = await importPem(scene, await signForeign(newForeignKey(), newHost(), { validity }))
    expect(body.importedCertificates).toMatchObject([{ certStatus: 'EXPIRED' }])
  })

  test('keeps no private key and says nothing of it', async () => {
    const { pem } = await leaf()
    const secret = encodePem('PRIVATE KEY', newForeignKey().export({ type: 'pkcs8', format: 'der' }))
    const disguised = secret.replaceAll('PRIVATE KEY', 'CERTIFICATE')
    const { body } = await importPem(scene, secret + pem + disguised)
    expect(body.errors).toEqual(
      [0, 2].map(index => ({
        id: null,
        index,
        apiError: 'INVALID_CERTIFICATE',
        errorMessage: 'The block is no readable certificate.',
      })),
    )
    expect(body.importedCertificates).toHaveLength(1)
    expect(refusalOf(await importPem(scene, secret))).toEqual([422, 'INVALID_CERTIFICATE'])
  })

  test('a certificate that comes twice is once imported and then known', async () => {
    const { pem } = await leaf()
    const first = (await importPem(scene, pem + pem)).body
    const [{ id }] = first.importedCertificates
    expect(first).toMatchObject({ total: 2, alreadyKnownCertificateIds: [id], errors: [] })
    const again = (await importPem(scene, pem)).body
    expect(again).toEqual({ total: 1, importedCertificates: [], alreadyKnownCertificateIds: [id], errors: [] })
    expect(await verdictOn(await sceneWith({}), pem)).toBe('ALREADY_EXISTS')
  })

  test('certificates with one lookup key go to one end entity, that of the realm where there is one', async () => {
    const [one, other] = [await leaf({}, 'Twin.foreign.example'), await leaf({}, 'twin.FOREIGN.example')]
    const [first, second] = (await importPem(scene, one.pem + other.pem)).body.importedCertificates
    expect(second.endEntityId).toBe(first.endEntityId)
    const third = (await importPem(scene, (await leaf({}, 'TWIN.foreign.example')).pem)).body.importedCertificates[0]
    expect(third.endEntityId).toBe(first.endEntityId)
  })

  test('each certificate under strategy UUID makes an end entity of its own', async () => {
    const at = await sceneWith({ endEntityStrategy: 'UUID' })
    const name = newHost()
    const { body } = await importPem(at, (await leaf({}, name)).pem + (await leaf({}, name)).pem)
    const owners = body.importedCertificates.map(({ endEntityId }: { endEntityId: string }) => endEntityId)
    expect(new Set(owners).size).toBe(2)
  })

  test('all certificates go to the end entity that is named', async () => {
    const endEntityId = await scene.newEndEntity()
    const { body } = await importPem(scene, (await leaf()).pem + (await leaf()).pem, { endEntityId })
    expect(body.importedCertificates).toMatchObject([{ endEntityId }, { endEntityId }])
  })
})

describe('the whole', () => {
  const both = ['', '/verify'].map(end => [`${importPath}${end}`] as const)
  const sendTo =
    (url: string) =>
    (at: Scene, pem: string, members: object = {}) =>
      at.owner.post(url, importBody(at, pem, members))

  test.each(both)('%s asks for a token', async url => {
    expect((await service.anonymous.post(url, {})).status).toBe(401)
  })

  test.each(both)('%s takes JSON of the right shape only', async url => {
    const raw = { raw: 'a=b', headers: { 'Content-Type': 'text/plain' } }
    expect(refusalOf(await scene.owner.post(url, undefined, raw))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
    expect(refusalOf(await sendTo(url)(scene, ''))).toEqual([400, 'INVALID_REQUEST'])
    expect(refusalOf(await sendTo(url)(scene, garbage, { policyId: 'x' }))).toEqual([400, 'INVALID_IDENTIFIER'])
    const many = '-----BEGIN CERTIFICATE-----\n'.repeat(10_001)
    expect(refusalOf(await sendTo(url)(scene, many))).toEqual([400, 'REQUEST_TOO_LARGE'])
    expect(refusalOf(await sendTo(url)(scene, garbage, { policyId: randomUUID() }))).toEqual([404, 'POLICY_NOT_FOUND'])
    const unknown = { endEntityId: randomUUID() }
    expect(refusalOf(await sendTo(url)(scene, garbage, unknown))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
  })

  test.each(both)('%s refuses what holds no certificate at all', async url => {
    const rubbish = ['no PEM', 'x'.repeat(3_000_000), '-----BEGIN cert'.repeat(200_000), garbage, garbage + garbage]
    for (const pem of rubbish) expect(refusalOf(await sendTo(url)(scene, pem))).toEqual([422, 'INVALID_CERTIFICATE'])
  })

  test.each(both)('%s refuses policies, realms and end entities that take no imports', async url => {
    const { pem } = await leaf()
    expect(refusalOf(await sendTo(url)(await makeScene(service), pem))).toEqual([422, 'IMPORT_NOT_ALLOWED'])
    const other = await makeScene(service)
    const reader = await service.user({ GLOBAL: ['ADMIN'] })
    const foreign = importBody(scene, pem, { endEntityId: other.endEntityId })
    expect(refusalOf(await reader.post(url, foreign))).toEqual([422, 'REALM_MISMATCH'])
    const id = await scene.newEndEntity()
    await service.em().nativeUpdate(EndEntity, { id }, { archived: true })
    expect(refusalOf(await sendTo(url)(scene, pem, { endEntityId: id }))).toEqual([422, 'ENTITY_ARCHIVED'])
    for (const [table, key] of [
      ['policy', 'policyId'],
      ['realm', 'realmId'],
    ] as const) {
      const gone = await sceneWith({})
      await service.em().execute(`update ${table} set archived = true where id = ?`, [gone[key]])
      expect(refusalOf(await sendTo(url)(gone, pem))).toEqual([422, 'ENTITY_ARCHIVED'])
    }
  })

  test.each<[string, (s: Scene) => object, boolean, number]>([
    [
      'CERTS_CREATE and ENDENTITIES_CREATE',
      s => ({ POLICY: { [s.policyId]: ['CERTS_CREATE'] }, REALM: { [s.realmId]: ['ENDENTITIES_CREATE'] } }),
      false,
      201,
    ],
    ['CERTS_CREATE alone', s => ({ POLICY: { [s.policyId]: ['CERTS_CREATE'] } }), false, 403],
    ['ENDENTITIES_CREATE alone', s => ({ REALM: { [s.realmId]: ['ENDENTITIES_CREATE'] } }), false, 403],
    [
      'CERTS_CREATE and the named end entity',
      s => ({ POLICY: { [s.policyId]: ['CERTS_CREATE'] }, END_ENTITY: { [s.endEntityId]: ['READ'] } }),
      true,
      201,
    ],
    [
      'CERTS_CREATE without the named end entity',
      s => ({ POLICY: { [s.policyId]: ['CERTS_CREATE'] }, REALM: { [s.realmId]: ['ENDENTITIES_CREATE'] } }),
      true,
      403,
    ],
    ['the named end entity alone', s => ({ END_ENTITY: { [s.endEntityId]: ['READ'] } }), true, 403],
  ])('%s', async (...[, grants, named, status]) => {
    const caller = await service.user(grants(scene))
    const body = importBody(scene, (await leaf()).pem, named ? { endEntityId: scene.endEntityId } : {})
    expect((await caller.post(`${importPath}/verify`, body)).status).toBe(status === 201 ? 200 : status)
    expect((await caller.post(importPath, body)).status).toBe(status)
  })

  test('rights in another realm are none here', async () => {
    const other = await sceneWith({})
    expect((await other.owner.post(importPath, importBody(scene, (await leaf()).pem))).status).toBe(403)
  })
})

test('a verification tells everything and changes nothing', async () => {
  const tables = [Certificate, CertRequest, EndEntity, Ca] as const
  const counts = () => Promise.all(tables.map(table => service.em().count(table as typeof Certificate)))
  const name = newHost()
  const endEntityId = await scene.newEndEntity(name)
  const known = (await importPem(scene, (await leaf()).pem)).body.importedCertificates[0]
  const knownPem = (await scene.owner.get(`/api/v1/certificates/${known.id}/download`)).body.pemCertificate
  const [matched, fresh] = [await leaf({}, name), await leaf()]
  const before = await counts()
  const { status, body } = await verifyPem(scene, knownPem + matched.pem + fresh.pem + garbage + fresh.pem)
  expect({ status, total: body.total, importable: body.importable }).toEqual({ status: 200, total: 5, importable: 2 })
  const { subjectDn, issuerDn, serialNumber, fingerprint, validNotBefore } = parseCertificatePem(matched.pem)
  expect(body.results).toMatchObject([
    { index: 0, alreadyKnown: true, importable: false, apiError: null, fingerprint: known.fingerprint },
    { index: 1, importable: true, endEntityId, subjectDn, issuerDn, serialNumber, fingerprint, selfSigned: false },
    { index: 2, importable: true, endEntityId: null, issuerKnown: false },
    { index: 3, importable: false, apiError: 'INVALID_CERTIFICATE', subjectDn: null, fingerprint: null },
    { index: 4, importable: false, alreadyKnown: true, apiError: null },
  ])
  expect(body.results[1].validNotBefore).toBe(validNotBefore.toISOString())
  expect(await counts()).toEqual(before)
})
