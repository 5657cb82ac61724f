// The challenge password of a PKCS#10 request: checked with the rest, then neither stored nor shown (contract 5.4).
import { createPublicKey, randomUUID, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { migrate, openStorage } from '../../storage/orm.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { ecKey, pkcs10, refusalOf } from '../support/issuing.ts'
import { Workbench } from '../pki/openssl.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { requiresManualApproval: true, requesterMayApprove: true })
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const path = '/api/v1/cert-requests'
const password = 'hush-hush-4711'
const withPassword = async (challengePassword: string | null = password) => {
  const keyGenParamsDto = { cryptoAlgorithm: 'EC' }
  const body = { subject: { commonName: `host-${randomUUID().slice(0, 8)}` }, keyGenParamsDto, challengePassword }
  const answer = await service.anonymous.post('/api/v1/pkcs10', body)
  const made = answer.status === 200 ? answer : await scene.owner.post('/api/v1/pkcs10', body)
  return { der: made.body.pkcs10ReqBase64 as string, key: made.body.pemPrivateKey as string, ...body.subject }
}
const asking = (pkcs10ReqBase64: string) => ({ keyPairMode: 'PKCS10', keyGenParamsDto: null, pkcs10ReqBase64 })
const request = async (made: { der: string; commonName: string }) => {
  const endEntityId = await scene.newEndEntity(made.commonName)
  return { endEntityId, id: await scene.newRequest({ endEntityId, ...asking(made.der) }) }
}
const holds = (text: string): boolean =>
  text.includes(password) || text.includes(Buffer.from(password).toString('base64').slice(0, 12))
const expectHidden = (body: unknown) => {
  const text = JSON.stringify(body)
  expect(holds(text)).toBe(false)
  for (const [, found = ''] of text.matchAll(/"pkcs10ReqBase64":"([^"]+)"/g))
    expect(Buffer.from(found, 'base64').includes(password)).toBe(false)
}

test('it is in no answer and in no row, and neither is the signature over it', async () => {
  const made = await withPassword()
  expect(Buffer.from(made.der, 'base64').includes(password)).toBe(true)
  const { id, endEntityId } = await request(made)
  const { realmId } = scene
  const answers = [
    await scene.owner.get(`${path}/${id}`),
    await scene.owner.post(`${path}/search`, { realmId }),
    await scene.owner.post(`${path}/end-entities/${endEntityId}/by-pkcs10`, { pkcs10ReqBase64: made.der }),
  ]
  for (const { status, body } of answers) {
    expect(status).toBe(200)
    expect(JSON.stringify(body)).toContain(id)
    expectHidden(body)
  }
  const rows = await service
    .em()
    .execute<{ row: string }[]>('select r::text as row from cert_request r where id = ?', [id])
  expect(rows).toHaveLength(1)
  for (const { row } of rows) {
    expect(row).toContain(Buffer.from(made.commonName).toString('hex'))
    expect(row).not.toContain(Buffer.from(password).toString('hex'))
    expect(row).not.toContain(Buffer.from(made.der, 'base64').subarray(-48).toString('hex'))
  }
})

test('the request is found by its PKCS#10, approved and issued with the key that it brought', async () => {
  const made = await withPassword()
  const { id, endEntityId } = await request(made)
  const found = await scene.owner.post(`${path}/end-entities/${endEntityId}/by-pkcs10`, { pkcs10ReqBase64: made.der })
  expect([found.status, found.body.id]).toEqual([200, id])
  expect((await scene.owner.patch(`${path}/${id}/approve`)).status).toBe(200)
  const { status, body } = await scene.owner.post(`/api/v1/certificates/cert-requests/${id}`)
  expect(status).toBe(201)
  const { publicKey } = new X509Certificate(body.certificatePem.pemCertificate)
  expect(publicKey.equals(createPublicKey(made.key))).toBe(true)
})

test('in peace, a request without a password is kept and answered octet by octet', async () => {
  const der = await pkcs10(bench, ecKey())
  const id = await scene.newRequest(asking(der))
  expect((await scene.owner.get(`${path}/${id}`)).body.pkcs10ReqBase64).toBe(der)
})

test('what we answer proves nothing: who sends it back without the key is refused', async () => {
  const { id, endEntityId } = await request(await withPassword())
  const { pkcs10ReqBase64 } = (await scene.owner.get(`${path}/${id}`)).body as { pkcs10ReqBase64: string }
  const again = await scene.owner.post(path, {
    policyId: scene.policyId,
    endEntityId,
    validFor: 'SIX_MONTHS',
    ...asking(pkcs10ReqBase64),
  })
  expect(refusalOf(again)).toEqual([422, 'INVALID_PKCS10'])
})

test('a wrong signature is refused before the password is taken out', async () => {
  const made = await withPassword()
  const der = Buffer.from(made.der, 'base64')
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
  const body = { policyId: scene.policyId, endEntityId: scene.endEntityId, validFor: 'SIX_MONTHS' }
  const reply = await scene.owner.post(path, { ...body, ...asking(der.toString('base64')) })
  expect(refusalOf(reply)).toEqual([422, 'INVALID_PKCS10'])
})

test('the migration takes it out of what an older version stored, and leaves the rest alone', async () => {
  const [made, plain] = [await withPassword(), await pkcs10(bench, ecKey())]
  const [{ id }, other] = [await request(made), await scene.newRequest(asking(plain))]
  const redacted = (await service.em().findOneOrFail(CertRequest, id)).pkcs10
  await service.em().nativeUpdate(CertRequest, { id }, { pkcs10: Buffer.from(made.der, 'base64') })
  const owner = await openStorage({ url: service.databaseUrl })
  await owner.em.execute(`delete from mikro_orm_migrations where name like '%challenge_passwords'`)
  await migrate(owner)
  await owner.close()
  expect((await service.em().findOneOrFail(CertRequest, id)).pkcs10).toEqual(redacted)
  expect((await service.em().findOneOrFail(CertRequest, other)).pkcs10).toEqual(Buffer.from(plain, 'base64'))
})
