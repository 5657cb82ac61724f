// The CMP signers of policies (contract 10.5): made on first use under the policy of the system, renewed, never used once they
// may not be; what they sign, and what is recorded of it.
import { createPublicKey, hash, randomBytes, verify } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { makePolicySigner } from '../../authority/making-signers.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import { Seal } from '../../storage/seal.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { Setting } from '../../storage/rows/setting.ts'
import type { Reply } from '../support/api.ts'
import { pbm, protectedPart } from '../support/cmp-messages.ts'
import { makeCmpScene, type CmpScene } from '../support/cmp.ts'
import { blocksOf, factsOf, issueNew, refusalOf, until } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'
import { certificateOf, losses, signersOf } from '../support/signers.ts'

const dayMs = 86_400_000
let days = 0
const clock = () => new Date(Date.now() + days * dayMs)
const wait = (longer: number): void => void (days = longer)

let service: Service
let scene: CmpScene

beforeAll(async () => {
  // API and worker open keys each for itself.
  const keys = new Map([['test', randomBytes(32)]])
  service = await startService({ services: { clock, seal: new Seal(keys) }, deps: { clock, seal: new Seal(keys) } })
})
beforeEach(async () => {
  days = 0
  scene = await makeCmpScene(service)
})
afterAll(() => service.stop())

const partFor = (name: keyof typeof signatureAlgorithms = 'SHA256_WITH_ECDSA'): Buffer =>
  protectedPart({ protectionAlg: signatureAlgorithms[name].identifier })
const part = partFor()
const signers = () => signersOf(service, scene.policyId)
const signerPem = async (): Promise<string> => {
  const { status, body } = await scene.configuration()
  if (status !== 200) throw new Error(`There is no signer: ${status} ${JSON.stringify(body)}`)
  return body.signerCertificatePem
}
const revoke = async (id: string, reason = 'SUPERSEDED'): Promise<void> => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const { status } = await admin.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`)
  expect(status).toBe(200)
}
const change = async (cmpConfiguration: object): Promise<Reply> =>
  scene.owner.patch(`/api/v1/policies/${scene.policyId}`, { cmpConfiguration })
const both = async (): Promise<unknown[]> => [refusalOf(await scene.configuration()), refusalOf(await scene.sign(part))]
const twice = (code: string) => [
  [422, code],
  [422, code],
]
const systemPolicy = async (): Promise<Policy> => {
  const { value } = await service.em().findOneOrFail(Setting, { settingsKey: 'system.cmp-signer-policy-id' })
  return service.em().findOneOrFail(Policy, value ?? '')
}

test('the configuration tells all of it, and the signer with its chain', async () => {
  expect((await change({ certConfirmationRequired: false })).status).toBe(200)
  const { status, body } = await scene.configuration()
  expect([status, body]).toEqual([
    200,
    {
      policyId: scene.policyId,
      enabled: true,
      signatureAlgorithm: 'SHA256_WITH_ECDSA',
      signerCertificateId: null,
      macProtectionAllowed: true,
      signatureProtectionAllowed: true,
      certConfirmationRequired: false,
      signerCertificatePem: expect.any(String),
      caChainPem: expect.any(String),
    },
  ])
  const [signer, issuer] = [body.signerCertificatePem, blocksOf(body.caChainPem)[0] ?? ''].map(parseCertificatePem)
  expect(signer?.issuerNameDer).toEqual(issuer?.subjectNameDer)
  expect([signer?.keyUsages, signer?.extendedKeyUsages]).toEqual([['digitalSignature'], ['cmcRA']])
})

test('the signer is a certificate of the policy of the system, and an auditor finds its making', async () => {
  const { policyId, realmId } = scene
  const home = await systemPolicy()
  const { id, certRequestId, endEntityId, ...made } = await certificateOf(service, await signerPem())
  expect(made).toMatchObject({ policyId: home.id, realmId: home.realmId, privateKeyId: null })
  const { name } = await service.em().findOneOrFail(Policy, policyId)
  const owner = await service.em().findOneOrFail(EndEntity, endEntityId)
  const expected = { realmId: home.realmId, commonName: `CMP signer ${name}`, organizationalUnit: policyId }
  expect(owner).toMatchObject(expected)
  expect(await factsOf(service, policyId)).toContain('SIGNER_RENEWED')
  expect(await factsOf(service, certRequestId)).toEqual(['CERT_REQUEST_CREATED'])
  expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED'])
  const told = await service.em().find(AuditEvent, { certificateId: id })
  expect(new Set(told.map(each => [each.principalType, each.realmId].join(' ')))).toEqual(
    new Set([`SYSTEM ${home.realmId}`, `SYSTEM ${realmId}`]),
  )
})

test('the key of the signer cannot be downloaded, by ADMIN neither', async () => {
  const { id } = await certificateOf(service, await signerPem())
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  for (const what of ['download-private-key', 'pkcs12'])
    expect(refusalOf(await admin.get(`/api/v1/certificates/${id}/${what}`))).toEqual([422, 'PRIVATE_KEY_NOT_AVAILABLE'])
})

test('first uses at the same time, and runs that overtake each other, make one signer and leave no key behind', async () => {
  const keys = () => service.em().count(PrivateKey)
  const before = await keys()
  const wanted = { policyId: scene.policyId, kind: 'CMP' } as const
  const make = () => makePolicySigner(service.services.orm.em.fork(), service.services, wanted)
  const replies = await Promise.all([make(), make(), ...Array.from({ length: 5 }, () => scene.configuration())])
  const pems = replies.flatMap(reply => reply?.body.signerCertificatePem ?? [])
  expect([new Set(pems).size, pems.length, (await signers()).length]).toEqual([1, 5, 1])
  expect((await keys()) - before).toBe(1)
})

test('30 days before its end the next one is made beside, and another algorithm has one made at once', async () => {
  const first = await signerPem()
  days = 334
  expect(await signerPem()).toBe(first)
  expect(await signers()).toHaveLength(1)
  days = 336
  expect(await signerPem()).toBe(first)
  await until('the next signer is there', async () => (await signers()).length === 2)
  const second = await signerPem()
  expect(second).not.toBe(first)
  expect((await change({ signatureAlgorithm: 'SHA384_WITH_ECDSA' })).status).toBe(200)
  const third = parseCertificatePem(await signerPem())
  expect(third.keyAlgorithm?.name).toBe('P-384')
  expect(refusalOf(await scene.sign(part))).toEqual([422, 'SIGNING_REFUSED'])
  expect((await scene.sign(partFor('SHA384_WITH_ECDSA'))).status).toBe(200)
})

test.each(['SUPERSEDED', 'CERTIFICATE_HOLD'])('a made one that is revoked (%s) is replaced at once', async reason => {
  const first = await signerPem()
  await revoke((await certificateOf(service, first)).id, reason)
  const { status, body } = await scene.sign(part)
  expect(status).toBe(200)
  expect(body.signerCertificatePem).not.toBe(first)
})

test('a signature is that of the signer over the data, and recorded with its digest', async () => {
  const { status, body } = await scene.sign(part)
  expect([status, body.signatureAlgorithm]).toEqual([200, 'SHA256_WITH_ECDSA'])
  const key = createPublicKey(body.signerCertificatePem)
  expect(verify('sha256', part, key, Buffer.from(body.signatureBase64, 'base64'))).toBe(true)
  const told = await service.em().find(AuditEvent, { objectId: scene.policyId, eventType: 'DATA_SIGNED' })
  expect(told.map(({ eventDescription }) => eventDescription)).toEqual([
    expect.stringContaining(`Data with SHA-256 ${hash('sha256', part, 'hex')} signed by the CMP signer`),
  ])
})

test.each<[string, Buffer]>([
  ['a text', Buffer.from('hello')],
  ['a part without protectionAlg', protectedPart()],
  ['a part that a password protects', protectedPart({ protectionAlg: pbm() })],
  ['a part of another signature', partFor('SHA512_WITH_ECDSA')],
])('%s is not signed, which is recorded', async (_, data) => {
  expect(refusalOf(await scene.sign(data))).toEqual([422, 'SIGNING_REFUSED'])
  const told = await service.em().find(AuditEvent, { objectId: scene.policyId, eventType: 'DATA_SIGNED' })
  expect(told.map(({ eventDescription }) => eventDescription)).toEqual([
    expect.stringContaining(`Data with SHA-256 ${hash('sha256', data, 'hex')} not signed by the CMP signer`),
  ])
})

describe('a signer that the policy names', () => {
  let id: string
  beforeEach(async () => {
    ;({ id } = await issueNew(scene))
    expect((await change({ signerCertificateId: id })).status).toBe(200)
  })

  test('signs, and none is made', async () => {
    const { status, body } = await scene.sign(part)
    expect([status, (await certificateOf(service, body.signerCertificatePem)).id]).toEqual([200, id])
    expect((await scene.configuration()).body.signerCertificateId).toBe(id)
    expect(await signers()).toHaveLength(0)
  })

  test.each(losses)('is neither told nor used when it %s', async (_, make) => {
    await make({ id, em: service.em, revoke, wait })
    expect(await both()).toEqual(twice('SIGNER_NOT_AVAILABLE'))
  })

  test.each(['SHA256_WITH_RSA', 'ED25519'])('cannot stay with %s, which its key does not sign', async algorithm => {
    const reply = await change({ signerCertificateId: id, signatureAlgorithm: algorithm })
    expect(refusalOf(reply)).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
  })
})

test('an Ed25519 key is not named for Ed448', async () => {
  const { id: signerCertificateId } = await issueNew(scene, { keyGenParamsDto: { cryptoAlgorithm: 'EDDSA' } })
  expect((await change({ signerCertificateId, signatureAlgorithm: 'ED25519' })).status).toBe(200)
  const reply = await change({ signerCertificateId, signatureAlgorithm: 'ED448' })
  expect(refusalOf(reply)).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
})

test('a policy that does not take part has no signer, and one that allows no signatures signs nothing', async () => {
  expect((await change({ enabled: false })).status).toBe(200)
  expect(await both()).toEqual(twice('CMP_NOT_ENABLED'))
  expect((await change({ signatureProtectionAllowed: false })).status).toBe(200)
  expect((await scene.configuration()).body).toMatchObject({ signatureProtectionAllowed: false })
  expect(refusalOf(await scene.sign(part))).toEqual([422, 'CMP_NOT_ENABLED'])
})

test('an archived policy has none either', async () => {
  await service.em().nativeUpdate(Policy, { id: scene.policyId }, { archived: true })
  expect(refusalOf(await scene.configuration())).toEqual([409, 'ENTITY_ARCHIVED'])
  expect(refusalOf(await scene.sign(part))).toEqual([422, 'ENTITY_ARCHIVED'])
})

test('without a policy of the system to make it under, the signer is not available', async () => {
  const { id } = await systemPolicy()
  await service.em().nativeUpdate(Policy, { id }, { archived: true })
  expect(await both()).toEqual(twice('SIGNER_NOT_AVAILABLE'))
  await service.em().nativeUpdate(Policy, { id }, { archived: false })
  expect((await scene.sign(part)).status).toBe(200)
})

test('who asks needs a token, SIGN to have it signed, and to read the policy for the configuration', async () => {
  const path = `/api/v1/cmp/policies/${scene.policyId}/configuration`
  const body = { policyId: scene.policyId, dataBase64: part.toString('base64') }
  expect((await service.anonymous.get(path)).status).toBe(401)
  expect((await service.anonymous.post('/api/v1/cmp/sign', body)).status).toBe(401)
  const elsewhere = await makeCmpScene(service)
  expect(refusalOf(await elsewhere.owner.get(path))).toEqual([403, 'ACCESS_DENIED'])
  expect(refusalOf(await elsewhere.server.post('/api/v1/cmp/sign', body))).toEqual([403, 'ACCESS_DENIED'])
  const reader = await service.user({ POLICY: { [scene.policyId]: ['READ'] } })
  expect((await reader.get(path)).status).toBe(200)
  expect(refusalOf(await reader.post('/api/v1/cmp/sign', body))).toEqual([403, 'ACCESS_DENIED'])
  const unknown = { ...body, policyId: elsewhere.endEntityId }
  expect(refusalOf(await scene.server.post('/api/v1/cmp/sign', unknown))).toEqual([404, 'POLICY_NOT_FOUND'])
  const form = { raw: 'a=b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
  expect((await scene.server.post('/api/v1/cmp/sign', undefined, form)).status).toBe(415)
})
