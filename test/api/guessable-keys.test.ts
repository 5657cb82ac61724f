// What can be guessed tells nothing to those who hold nothing there (contract 1.6): whether it exists or not, one answer.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { encodePem } from '../../pki/pem.ts'
import { Workbench } from '../pki/openssl.ts'
import type { ApiCaller, Reply } from '../support/api.ts'
import { newForeignKey, signForeign } from '../support/foreign-certificates.ts'
import { ecKey, issueNew, pkcs10 } from '../support/issuing.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
/** What there is, and what there is not, by what it is asked for. */
const known: Record<string, unknown> = {}
const unknown: Record<string, unknown> = {}

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  const { der } = await service.em().findOneOrFail(Certificate, (await issueNew(scene)).id)
  const { fingerprint, serialNumber, issuerNameDer } = parseCertificate(der)
  const issuerDnBin = Buffer.from(issuerNameDer).toString('base64')
  const request = await pkcs10(bench, ecKey(), { subject: '/CN=pkcs10.example.org' })
  const endEntityId = await scene.newEndEntity('pkcs10.example.org')
  await scene.newRequest({ endEntityId, keyPairMode: 'PKCS10', keyGenParamsDto: null, pkcs10ReqBase64: request })
  await scene.newEndEntity({ externalId: 'A-4711' })
  Object.assign(known, {
    externalId: 'A-4711',
    fingerprint,
    serial: { issuerDnBin, serialNumber },
    bytes: encodePem('CERTIFICATE', der),
    request,
    endEntityId,
  })
  Object.assign(unknown, {
    externalId: 'A-4712',
    fingerprint: '0'.repeat(64),
    serial: { issuerDnBin, serialNumber: 'abcdef' },
    bytes: await signForeign(newForeignKey(), 'web-02'),
    request: await pkcs10(bench, ecKey(), { subject: '/CN=pkcs10.example.org' }),
    endEntityId,
  })
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

type Ask = (caller: ApiCaller, of: Record<string, unknown>) => Promise<Reply>

const asks: Record<string, Ask> = {
  'an external id': (caller, { externalId }) =>
    caller.get(`/api/v1/end-entities/realms/${scene.realmId}/externals/${externalId as string}`),
  'the octets of a certificate': (caller, { bytes: certBytes }) =>
    caller.post('/api/v1/end-entities/find-by-cert-bytes', { certBytes }),
  'a fingerprint': (caller, { fingerprint }) =>
    caller.get(`/api/v1/certificates/by-fingerprint?fingerprint=${fingerprint as string}`),
  'an issuer and a serial number': (caller, { serial }) =>
    caller.post('/api/v1/certificates/by-issuer-dn-bin-and-serial-number', serial),
  'a PKCS#10 request': (caller, { request: pkcs10ReqBase64, endEntityId }) =>
    caller.post(`/api/v1/cert-requests/end-entities/${endEntityId as string}/by-pkcs10`, { pkcs10ReqBase64 }),
  'a name under a policy': (caller, { externalId }) =>
    caller.post(`/api/v1/end-entities/policies/${scene.policyId}/by-end-entity-dataset`, {
      commonName: externalId === known['externalId'] ? 'pkcs10.example.org' : 'nobody.example.org',
    }),
}

test.each(Object.entries(asks))('%s is no oracle', async (_, ask) => {
  const { owner: outsider } = await makeScene(service)
  const [there, notThere] = [await ask(outsider, known), await ask(outsider, unknown)]
  expect([there.status, there.body]).toEqual([notThere.status, notThere.body])
  expect([403, 404]).toContain(there.status)
})

test.each(Object.entries(asks))(
  '%s leads whoever may read there to what it names, and to nothing else',
  async (_, ask) => {
    const reader = await service.user({ REALM: { [scene.realmId]: ['FULL_READ'] } })
    expect((await ask(reader, known)).status).toBe(200)
    expect((await ask(reader, unknown)).status).toBe(404)
  },
)

test.each(Object.entries(asks))(
  '%s is refused to whoever holds something else in the realm, by name',
  async (_, ask) => {
    const neighbour = await service.user({ REALM: { [scene.realmId]: ['DELETE'] } })
    const { status, body } = await ask(neighbour, known)
    expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
    expect(body.errorMessage).toMatch(
      /^The right READ_[A-Z_]+ is missing: it takes .*FULL_READ or [A-Z_]+ on the realm/,
    )
  },
)
