// Reading one certificate.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { certificateReaders } from '../support/certificate-readers.ts'
import { issueFor, issueNew, refusalOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
})
afterAll(() => service.stop())

const url = (id: string) => `/api/v1/certificates/${id}`

test('asks for a token', async () => {
  expect((await service.anonymous.get(url(randomUUID()))).status).toBe(401)
})

test('tells everything about the certificate', async () => {
  const issued = await issueFor(scene, { commonName: 'Web 1', domains: ['web.example.org'], ips: ['2001:DB8::1'] })
  const { status, body } = await scene.owner.get(url(issued.id))
  expect(status).toBe(200)
  expect(body).toEqual({
    ...issued,
    realmId: scene.realmId,
    policyName: expect.stringMatching(/^Policy /),
    endEntityCommonName: 'Web 1',
    endEntityAlias: 'Web 1',
    certPublicKeySize: null,
    namedCurve: 'SECP256R1',
    signatureAlgorithm: 'SHA256_WITH_ECDSA',
    subjectAlternativeNames: [
      { type: 'DNS', value: 'web.example.org' },
      { type: 'IP', value: '2001:db8::1' },
    ],
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['serverAuth'],
    issuerCaId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    revocationReason: null,
    revocationDate: null,
    imported: false,
    selfSigned: false,
    hasPrivateKey: true,
    revocationRequestedDate: null,
    revocationCrlNumber: null,
    crlDistributionPoints: [expect.stringMatching(/^http:\/\/localhost\/pki\/crl\/[0-9a-f-]{36}\.crl$/)],
    ocspUrls: [expect.stringMatching(/^http:\/\/localhost\/pki\/ocsp\/[0-9a-f-]{36}$/)],
    archiveInfo: { archived: false, archivedDate: null, archivedBy: null, archivedByType: null },
  })
})

test('the state is computed', async () => {
  const { id } = await issueNew(scene)
  const past = new Date(Date.now() - 1000)
  await service.em().nativeUpdate(Certificate, { id }, { validNotAfter: past })
  expect((await scene.owner.get(url(id))).body.certStatus).toBe('EXPIRED')
  await service.em().nativeUpdate(Certificate, { id }, { revocationDate: past, revocationReason: 'SUPERSEDED' })
  expect((await scene.owner.get(url(id))).body).toMatchObject({
    certStatus: 'REVOKED',
    revocationReason: 'SUPERSEDED',
    revocationDate: past.toISOString(),
  })
})

test.each(certificateReaders)('with %s: %#', async (...[, grants, status]) => {
  const { id } = await issueNew(scene)
  expect((await (await service.user(grants(id, scene))).get(url(id))).status).toBe(status)
})

test('an unknown one is 404, one of another realm 403', async () => {
  const { owner } = await makeScene(service)
  expect(refusalOf(await owner.get(url(randomUUID())))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
  expect(refusalOf(await owner.get(url((await issueNew(scene)).id)))).toEqual([403, 'ACCESS_DENIED'])
})

test('a template that the policy names with blanks around it is the same at creation and at issue', async () => {
  const padded = await makeScene(service, { certificateProviderConfiguration: '{"templateSignerName":" SERVER "}' })
  const { extendedKeyUsages } = (await padded.owner.get(url((await issueNew(padded)).id))).body
  expect(extendedKeyUsages).toEqual(['serverAuth'])
})
