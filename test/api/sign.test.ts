// Signatures by the CA of a policy: for machines, with openssl as the stranger, and never over what a CA says by itself.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildTbs, generateSerialNumber } from '../../pki/certificate/certificate.ts'
import { certificatesOnly } from '../../pki/cms/degenerate.ts'
import { Seal } from '../../storage/seal.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { leafInput, makeRoot } from '../pki/hierarchy.ts'
import { encodedBy, oddHeaders } from '../pki/encodings.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { blocksOf, refusalOf } from '../support/issuing.ts'
import { adminOf, newProvider as newLocalProvider, rollOver, soon } from '../support/rollover.ts'
import { decrypt, gatewayOf, makeScepScene, replyAttributes, signScep } from '../support/scep.ts'
import type { ApiCaller } from '../support/api.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let bench: Workbench
const policies = new Map<string, Scene>()

const newProvider = async (configuration: object): Promise<string> => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const name = `CA ${randomBytes(4).toString('hex')}`
  const members = { name, certificateProviderType: 'LOCAL', configuration: JSON.stringify(configuration) }
  const { status, body } = await admin.post('/api/v1/certificate-providers', members)
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}
const mustBe = (scene: Scene | undefined): Scene => {
  if (!scene) throw new Error('There is no such scene.')
  return scene
}
const sceneOf = (kind: string): Scene => mustBe(policies.get(kind))

beforeAll(async () => {
  // API and worker open keys each for itself.
  const keys = new Map([['test', randomBytes(32)]])
  service = await startService({ services: { seal: new Seal(keys) }, deps: { seal: new Seal(keys) } })
  bench = new Workbench()
  policies.set('EC', await makeScene(service))
  const configurations = { RSA: { keyAlgorithm: 'RSA' }, EDDSA: { keyAlgorithm: 'EDDSA' } }
  for (const [kind, configuration] of Object.entries(configurations))
    policies.set(kind, await makeScene(service, { certificateProviderId: await newProvider(configuration) }))
})
afterAll(async () => {
  await bench.clear()
  await service.stop()
})

const sign = (caller: ApiCaller, asked: { policyId: string; digestAlgorithm?: string | undefined }, data: Buffer) =>
  caller.post('/api/v1/sign/sign-with-ca', { ...asked, dataBase64: data.toString('base64') })

test.each([
  ['EC', undefined, 'sha256', 'SHA256_WITH_ECDSA'],
  ['EC', 'SHA-512', 'sha512', 'SHA512_WITH_ECDSA'],
  ['RSA', undefined, 'sha256', 'SHA256_WITH_RSA'],
  ['RSA', 'SHA-384', 'sha384', 'SHA384_WITH_RSA'],
])('a CA with %s signs with the digest %s, as openssl says', async (...[kind, digestAlgorithm, digest, name]) => {
  const { policyId } = sceneOf(kind)
  const data = randomBytes(1_048_576)
  const { status, body } = await sign(await gatewayOf(service, policyId), { policyId, digestAlgorithm }, data)
  expect([status, body.signatureAlgorithm]).toEqual([200, name])
  expect(blocksOf(body.caChainPem)[0]).toBe(body.signerCertificatePem)
  const ca = await bench.file(body.signerCertificatePem)
  const key = await bench.file((await openssl('x509', '-in', ca, '-noout', '-pubkey')).output)
  const signature = await bench.file(Buffer.from(body.signatureBase64, 'base64'))
  const file = await bench.file(data)
  const { text } = await openssl('dgst', `-${digest}`, '-verify', key, '-signature', signature, file)
  expect(text).toContain('Verified OK')
})

test('a CA with EdDSA signs without a digest, and refuses one', async () => {
  const { policyId } = sceneOf('EDDSA')
  const gateway = await gatewayOf(service, policyId)
  const data = Buffer.from('hello')
  const { body } = await sign(gateway, { policyId }, data)
  expect(body.signatureAlgorithm).toBe('ED25519')
  const ca = await bench.file(body.signerCertificatePem)
  const key = await bench.file((await openssl('x509', '-in', ca, '-noout', '-pubkey')).output)
  const files = [await bench.file(Buffer.from(body.signatureBase64, 'base64')), await bench.file(data)]
  const args = ['-verify', '-pubin', '-inkey', key, '-rawin', '-sigfile', files[0] ?? '', '-in', files[1] ?? '']
  expect((await openssl('pkeyutl', ...args)).text).toContain('Signature Verified Successfully')
  const refused = await sign(gateway, { policyId, digestAlgorithm: 'SHA-256' }, data)
  expect(refusalOf(refused)).toEqual([422, 'SIGNING_REFUSED'])
})

const tbsCertificate = async (): Promise<Buffer> => {
  const root = await makeRoot({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  return buildTbs({ ...leafInput(root, root.keys.publicKeySpki), serialNumber: generateSerialNumber() })
}

describe('what a CA says by itself is refused:', () => {
  test.each([
    ['a certificate', tbsCertificate],
    ['a certificate and more', async () => Buffer.concat([await tbsCertificate(), Buffer.from('more')])],
    ...Object.entries(oddHeaders).map(
      ([odd, header]) =>
        [`a certificate with ${odd}`, async () => encodedBy(await tbsCertificate(), () => header)] as const,
    ),
    ['signed attributes', async () => replyAttributes()],
    ['a next CA that nobody planned', async () => certificatesOnly([await tbsCertificate()])],
  ])('%s', async (_, make) => {
    const { policyId } = sceneOf('RSA')
    const reply = await sign(await gatewayOf(service, policyId), { policyId }, await make())
    expect(refusalOf(reply)).toEqual([422, 'SIGNING_REFUSED'])
    const event = await service.em().findOne(AuditEvent, { objectId: policyId }, { orderBy: { id: 'desc' } })
    expect([event?.eventType, event?.eventDescription]).toEqual([
      'DATA_SIGNED',
      expect.stringMatching(/^Data with SHA-256 [0-9a-f]{64} not signed by the CA CN=.* of policy/),
    ])
  })
})

test('a next CA that is planned is told, and no other', async () => {
  const admin = await adminOf(service)
  const provider = await newLocalProvider(admin)
  const { policyId } = await makeScene(service, { certificateProviderId: provider.id })
  const gateway = await gatewayOf(service, policyId)
  await rollOver(admin, provider, { takeOverDate: soon(86_400_000) })
  const { body } = await admin.get(provider.url)
  const { issuerCaId, der } = await service.em().findOneOrFail(Ca, { id: body.nextIssuingCaId })
  const { der: root } = await service.em().findOneOrFail(Ca, { id: issuerCaId ?? '' })
  const planned = certificatesOnly([der, root])
  expect((await sign(gateway, { policyId }, planned)).status).toBe(200)
  for (const other of [certificatesOnly([root, der]), certificatesOnly([der]), Buffer.concat([planned, Buffer.of(0)])])
    expect(refusalOf(await sign(gateway, { policyId }, other))).toEqual([422, 'SIGNING_REFUSED'])
})

test('it is for API clients with SIGN on the policy', async () => {
  const { policyId } = sceneOf('EC')
  const data = Buffer.from('hello')
  expect((await sign(service.anonymous, { policyId }, data)).status).toBe(401)
  const others = [
    await service.user({ GLOBAL: ['ADMIN'] }),
    await service.user({ POLICY: { [policyId]: ['SIGN'] } }),
    await service.apiClient({ POLICY: { [policyId]: ['CERTS_CREATE'] } }),
    await gatewayOf(service, sceneOf('RSA').policyId),
  ]
  for (const caller of others) expect(refusalOf(await sign(caller, { policyId }, data))).toEqual([403, 'ACCESS_DENIED'])
  expect(refusalOf(await sign(await gatewayOf(service, policyId), { policyId: crypto.randomUUID() }, data))[1]).toBe(
    'POLICY_NOT_FOUND',
  )
})

test('an administrator is told that the operation is for API clients only', async () => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const { policyId } = sceneOf('EC')
  const query = `principalId=${admin.id}&operationId=signDataWithCA&id=${policyId}`
  const { body } = await admin.get(`/api/v1/permissions/explain?${query}`)
  expect([body.allowed, body.reason]).toEqual([false, expect.stringContaining('it is for API clients only.')])
})

test('data of more than 1 MiB, another digest and another media type are refused by their form', async () => {
  const { policyId } = sceneOf('EC')
  const gateway = await gatewayOf(service, policyId)
  expect(refusalOf(await sign(gateway, { policyId }, Buffer.alloc(1_048_577)))).toEqual([400, 'INVALID_REQUEST'])
  const digestAlgorithm = 'SHA-1'
  expect(refusalOf(await sign(gateway, { policyId, digestAlgorithm }, Buffer.alloc(1)))[1]).toBe('INVALID_REQUEST')
  const headers = { 'Content-Type': 'text/plain' }
  expect((await gateway.post('/api/v1/sign/sign-with-ca', undefined, { raw: 'x', headers })).status).toBe(415)
})

test('an expired CA, and one whose key this process cannot open, is no signer', async () => {
  const certificateProviderId = await newProvider({ keyAlgorithm: 'RSA' })
  const scene = await makeScepScene(service, { certificateProviderId, scepConfiguration: { signerMode: 'CA' } })
  const { gateway, policyId } = scene
  const { issuingCaId } = await service.em().findOneOrFail(CertificateProvider, certificateProviderId)
  const ca = await service.em().findOneOrFail(Ca, issuingCaId ?? '')
  const uses = async () => {
    const answers = [
      await sign(gateway, { policyId }, Buffer.from('hello')),
      await signScep(gateway, { policyId }, replyAttributes()),
      await decrypt(gateway, policyId, Buffer.from('0')),
      await scene.configuration(),
    ]
    return answers.map(refusalOf)
  }
  const none = Array.from({ length: 4 }, () => [422, 'SIGNER_NOT_AVAILABLE'])
  await service.em().nativeUpdate(Ca, { id: ca.id }, { validNotAfter: new Date(0) })
  expect(await uses()).toEqual(none)
  await service.em().nativeUpdate(Ca, { id: ca.id }, { validNotAfter: ca.validNotAfter })
  const alien = new Seal(new Map([['elsewhere', randomBytes(32)]]))
  const use = { purpose: 'CA', owner: 'x', publicKeyHash: 'x' } as const
  const sealed = alien.seal(Buffer.from('key'), use)
  await service.em().nativeUpdate(PrivateKey, { id: ca.privateKeyId ?? '' }, { sealed })
  expect(await uses()).toEqual(none)
})

test.each(['', ' ', '\n'])('nothing to sign is no data: %j', async dataBase64 => {
  const { policyId, owner } = sceneOf('EC')
  const reply = await owner.post('/api/v1/sign/sign-with-ca', { policyId, dataBase64 })
  expect([reply.status, reply.body.apiError]).toEqual([400, 'INVALID_REQUEST'])
})
