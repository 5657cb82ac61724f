// The signers that the service makes: once, renewed with an overlap, never used once they may not be, and nobody's to take.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { makePolicySigner } from '../../authority/making-signers.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { connectTemporal } from '../../api/kernel/temporal.ts'
import { createDataConverter } from '../../worker/payload-codec.ts'
import { openStorage } from '../../storage/orm.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { PolicySigner } from '../../storage/rows/policy-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { startApi, type Api, type Reply } from '../support/api.ts'
import { serviceUrlOf } from '../support/database.ts'
import { factsOf, issueNew, refusalOf, setSetting, until } from '../support/issuing.ts'
import { decrypt, enveloped, makeScepScene, replyAttributes, signScep, type ScepScene } from '../support/scep.ts'
import { makeScene, startService, testPayloadKeys, type Service } from '../support/service.ts'
import { certificateOf, losses, signersOf } from '../support/signers.ts'
import { ownNamespace, stack } from '../support/stack.ts'

const dayMs = 86_400_000
let days = 0
const clock = () => new Date(Date.now() + days * dayMs)
const wait = (longer: number): void => void (days = longer)

let service: Service
let other: Api
let bench: Workbench
let scene: ScepScene

/** Another API process on the same database. */
const startOther = async (): Promise<Api> => {
  const address = stack.temporalAddress()
  const { taskQueue } = service
  const dataConverter = createDataConverter(testPayloadKeys)
  return startApi({
    databaseName: `certwright_unused_${process.env['JEST_WORKER_ID']}`,
    deps: {
      orm: await openStorage({ url: serviceUrlOf(service.databaseUrl), connections: 5 }),
      temporal: connectTemporal({ address, namespace: ownNamespace, taskQueue, dataConverter }),
      authenticate: service.deps.authenticate,
      seal: service.deps.seal,
      settings: service.deps.settings,
      clock,
    },
  })
}

beforeAll(async () => {
  service = await startService({ services: { clock }, deps: { clock } })
  other = await startOther()
  bench = new Workbench()
})
beforeEach(async () => {
  days = 0
  scene = await makeScepScene(service)
})
afterEach(() => {
  days = 0
})
afterAll(async () => {
  await bench.clear()
  await other.stop()
  await service.stop()
})

const signers = ({ policyId } = scene) => signersOf(service, policyId)
const signerPem = async ({ configuration } = scene): Promise<string> => {
  const { status, body } = await configuration()
  if (status !== 200) throw new Error(`There is no signer: ${status} ${JSON.stringify(body)}`)
  return body.signerCertificatePem
}
const fingerprintOf = (pem: string): string => parseCertificatePem(pem).fingerprint
const revoke = async (certificateId: string, revocationReason = 'SUPERSEDED'): Promise<Reply> =>
  scene.owner.post(`/api/v1/certificates/revoke?id=${certificateId}&revocationReason=${revocationReason}`)
const refused = async (): Promise<unknown[]> => {
  const { gateway, policyId } = scene
  const answers = [
    await scene.configuration(),
    await signScep(gateway, { policyId }, replyAttributes()),
    await decrypt(gateway, policyId, Buffer.from('0')),
  ]
  return answers.map(refusalOf)
}
const notAvailable = Array.from({ length: 3 }, () => [422, 'SIGNER_NOT_AVAILABLE'])

test('first uses at the same time, at two processes, make one signer', async () => {
  const { gateway, policyId } = scene
  const token = await service.issuer.clientToken(gateway.clientId)
  const path = `/api/v1/scep/policies/${policyId}/configuration`
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, at) => (at % 2 ? service : other).as(token).get(path)),
  )
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(replies.map(({ body }) => body.signerCertificatePem)).size).toBe(1)
  expect(await signers()).toHaveLength(1)
  expect(await service.em().count(Certificate, { policyId })).toBe(1)
})

test('runs that overtake each other make one signer, and leave no key behind', async () => {
  const { policyId } = scene
  const keys = () => service.em().count(PrivateKey)
  const before = await keys()
  const make = () => makePolicySigner(service.services.orm.em.fork(), service.services, { policyId, kind: 'SCEP' })
  await Promise.all([make(), make(), make()])
  expect(await signers()).toHaveLength(1)
  expect((await keys()) - before).toBe(1)
})

test('an auditor finds the signer: its request, its certificate, who owns it, and that it was made', async () => {
  const { policyId, realmId, owner } = scene
  const { id, certRequestId, endEntityId } = await certificateOf(service, await signerPem())
  const { name } = await service.em().findOneOrFail(Policy, policyId)
  expect(await service.em().findOneOrFail(EndEntity, endEntityId)).toMatchObject({
    realmId,
    commonName: `SCEP signer ${name}`,
  })
  expect(await factsOf(service, policyId)).toContain('SIGNER_RENEWED')
  expect(await factsOf(service, certRequestId)).toEqual(['CERT_REQUEST_CREATED'])
  expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED'])
  const { body } = await owner.get(`/api/v1/certificates/${id}`)
  expect(body).toMatchObject({ policyId, hasPrivateKey: false, certStatus: 'ACTIVE', certPublicKeySize: 3072 })
  const request = await owner.get(`/api/v1/cert-requests/${certRequestId}`)
  expect(request.body).toMatchObject({ certRequestStatus: 'ISSUED', certificateId: id })
  const told = await service.em().find(AuditEvent, { certificateId: id })
  expect(told.map(({ principalType }) => principalType)).toEqual(['SYSTEM', 'SYSTEM', 'SYSTEM'])
})

test('the key of the signer cannot be downloaded, by ADMIN neither', async () => {
  const { id } = await certificateOf(service, await signerPem())
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const reply = await admin.get(`/api/v1/certificates/${id}/download-private-key`)
  expect(refusalOf(reply)).toEqual([422, 'PRIVATE_KEY_NOT_AVAILABLE'])
})

test('30 days before its end the next one is made, and what was encrypted to the former opens for 30 days more', async () => {
  const { gateway, policyId } = scene
  const first = await signerPem()
  const { content, envelope } = await enveloped(bench, first)
  days = 334
  expect(await signerPem()).toBe(first)
  expect(await signers()).toHaveLength(1)
  days = 336
  // The valid one goes on serving while the next is made.
  expect(await signerPem()).toBe(first)
  await until('the next signer is there', async () => (await signers()).length === 2)
  const second = await signerPem()
  expect(second).not.toBe(first)
  const signed = await signScep(gateway, { policyId }, replyAttributes())
  expect(signed.body.signerCertificatePem).toBe(second)
  const decrypted = { decryptedDataBase64: content.toString('base64') }
  for (const later of [336, 365.5]) {
    days = later
    expect((await decrypt(gateway, policyId, envelope)).body).toMatchObject(decrypted)
  }
  days = 366.1
  expect(refusalOf(await decrypt(gateway, policyId, envelope))).toEqual([422, 'DECRYPTION_FAILED'])
  expect(await signerPem()).toBe(second)
  const owners = new Set(
    [await certificateOf(service, first), await certificateOf(service, second)].map(one => one.endEntityId),
  )
  expect(owners.size).toBe(1)
})

test('one that nobody used until after its end is replaced by the first use', async () => {
  const first = await signerPem()
  days = 400
  const second = await signerPem()
  expect(fingerprintOf(second)).not.toBe(fingerprintOf(first))
  expect(parseCertificatePem(second).validNotBefore.getTime()).toBeGreaterThan(Date.now() + 399 * dayMs)
})

test.each(['SUPERSEDED', 'CERTIFICATE_HOLD'])(
  'a signer that is revoked (%s) is replaced at once, and opens nothing any more',
  async reason => {
    const { gateway, policyId } = scene
    const first = await signerPem()
    const { envelope } = await enveloped(bench, first)
    const { id, serialNumber } = await certificateOf(service, first)
    expect((await decrypt(gateway, policyId, envelope)).status).toBe(200)
    expect((await revoke(id, reason)).status).toBe(200)
    expect(refusalOf(await decrypt(gateway, policyId, envelope))).toEqual([422, 'DECRYPTION_FAILED'])
    expect(await signerPem()).not.toBe(first)
    await until('the list tells it', async () => !(await service.em().findOneOrFail(Certificate, id)).crlPending)
    const { body } = await scene.owner.get(`/api/v1/certificates/${id}/crl`)
    const list = await bench.file(Buffer.from(body.crl, 'base64'))
    const { text } = await openssl('crl', '-inform', 'DER', '-in', list, '-noout', '-text')
    expect(text.toLowerCase().replaceAll(/serial number: 0*/g, 'serial number: ')).toContain(
      `serial number: ${serialNumber}`,
    )
  },
)

test('an archived signer is replaced as well', async () => {
  const first = await signerPem()
  await service.em().nativeUpdate(Certificate, { fingerprint: fingerprintOf(first) }, { archived: true })
  expect(await signerPem()).not.toBe(first)
})

test('under another CA the policy gets a signer of that CA', async () => {
  const { gateway, policyId, owner } = scene
  const first = await signerPem()
  const { envelope } = await enveloped(bench, first)
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const name = `CA of ${policyId}`
  const provider = { name, certificateProviderType: 'LOCAL', configuration: '{}' }
  const { id } = (await admin.post('/api/v1/certificate-providers', provider)).body
  expect((await owner.patch(`/api/v1/policies/${policyId}`, { certificateProviderId: id })).status).toBe(200)
  const { body } = await scene.configuration()
  const [issued, issuing] = [parseCertificatePem(body.signerCertificatePem), parseCertificatePem(body.caChainPem)]
  expect([issued.issuerDn, issuing.subjectDn]).toEqual([`CN=${name} Issuing CA`, `CN=${name} Issuing CA`])
  expect((await decrypt(gateway, policyId, envelope)).status).toBe(200)
})

test('a making that breaks off leaves nothing half done, and is made up for', async () => {
  const { policyId } = scene
  const { seal } = service.services
  const broken = Object.assign(Object.create(seal) as typeof seal, {
    seal: () => {
      throw new Error('killed between signing and storing')
    },
    unseal: seal.unseal.bind(seal),
  })
  const count = async () => [
    await service.em().count(PolicySigner),
    await service.em().count(PrivateKey),
    await service.em().count(Certificate),
    await service.em().count(EndEntity),
    await service.em().count(AuditEvent),
  ]
  const before = await count()
  const services = { ...service.services, seal: broken }
  const wanted = { policyId, kind: 'SCEP' } as const
  await expect(makePolicySigner(service.services.orm.em.fork(), services, wanted)).rejects.toThrow('killed')
  expect(await count()).toEqual(before)
  await signerPem()
  expect(await signers()).toHaveLength(1)
})

describe('a signer that the policy names', () => {
  let id: string

  beforeEach(async () => {
    const rsa = { keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 2048 } }
    ;({ id } = await issueNew(scene, rsa))
    const { status } = await scene.owner.patch(`/api/v1/policies/${scene.policyId}`, {
      scepConfiguration: { signerCertificateId: id },
    })
    expect(status).toBe(200)
  })

  test('signs and decrypts, and none is made', async () => {
    const { gateway, policyId } = scene
    const pem = await signerPem()
    expect((await certificateOf(service, pem)).id).toBe(id)
    const { content, envelope } = await enveloped(bench, pem)
    const { body } = await decrypt(gateway, policyId, envelope)
    expect(body.decryptedDataBase64).toBe(content.toString('base64'))
    expect((await signScep(gateway, { policyId }, replyAttributes())).body.signerCertificatePem).toBe(pem)
    expect(await signers()).toHaveLength(0)
  })

  test.each(losses)('serves no more when it %s', async (_, make) => {
    await make({ id, em: service.em, revoke, wait })
    expect(await refused()).toEqual(notAvailable)
  })

  test('serves no more when it was in use and is revoked then, at once', async () => {
    await signerPem()
    await revoke(id)
    expect(await refused()).toEqual(notAvailable)
  })
})

test.each([
  ['lacks keyEncipherment', 'CLIENT', { cryptoAlgorithm: 'RSA', keySize: 2048 }],
  ['has no RSA key', 'SERVER', { cryptoAlgorithm: 'EC' }],
])('a certificate that %s cannot be named as signer', async (_, templateSignerName, keyGenParamsDto) => {
  const plain = await makeScene(service, { certificateProviderConfiguration: JSON.stringify({ templateSignerName }) })
  const { id: signerCertificateId } = await issueNew(plain, { keyGenParamsDto })
  const reply = await plain.owner.patch(`/api/v1/policies/${plain.policyId}`, {
    scepConfiguration: { signerCertificateId },
  })
  expect(refusalOf(reply)).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
})

test('where nobody makes it in time, the call says so, and the next one finds it', async () => {
  const idle = await startService({ withoutWorker: true })
  try {
    await setSetting(idle, 'issue.wait-seconds', '1')
    const waiting = await makeScepScene(idle)
    expect(refusalOf(await waiting.configuration())).toEqual([422, 'SIGNER_NOT_AVAILABLE'])
    await setSetting(idle, 'issue.wait-seconds', null)
    const stopWorker = await idle.startWorker()
    expect((await waiting.configuration()).status).toBe(200)
    await stopWorker()
  } finally {
    await idle.stop()
  }
})
