// What a SCEP gateway asks: decryption and signatures by the signers of policies, with openssl as the stranger.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { blocksOf, expectVerified, refusalOf } from '../support/issuing.ts'
import { decrypt, enveloped, makeScepScene, replyAttributes, signScep, type ScepScene } from '../support/scep.ts'
import { startService, type Service } from '../support/service.ts'

let service: Service
let bench: Workbench
let scenes: Readonly<Record<'RA' | 'CA', ScepScene>>

const rsaProvider = async (): Promise<string> => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const configuration = JSON.stringify({ keyAlgorithm: 'RSA', keySize: 2048 })
  const body = { name: 'RSA CA', certificateProviderType: 'LOCAL', configuration }
  const { status, body: made } = await admin.post('/api/v1/certificate-providers', body)
  expect(status).toBe(201)
  return made.id
}

beforeAll(async () => {
  service = await startService()
  bench = new Workbench()
  const ca = { scepConfiguration: { signerMode: 'CA' }, certificateProviderId: await rsaProvider() }
  scenes = { RA: await makeScepScene(service), CA: await makeScepScene(service, ca) }
})
afterAll(async () => {
  await bench.clear()
  await service.stop()
})

const usageOf = async (pem: string): Promise<string> =>
  (await openssl('x509', '-in', await bench.file(pem), '-noout', '-text')).text

const expectSigned = async (pem: string, digest: string, { data, signature }: { data: Buffer; signature: string }) => {
  const publicKey = (await openssl('x509', '-in', await bench.file(pem), '-noout', '-pubkey')).output
  const [key, file, signed] = [
    await bench.file(publicKey),
    await bench.file(data),
    await bench.file(Buffer.from(signature, 'base64')),
  ]
  const { text } = await openssl('dgst', `-${digest}`, '-verify', key, '-signature', signed, file)
  expect(text).toContain('Verified OK')
}

const eventsOf = (policyId: string, eventType: 'DATA_SIGNED' | 'DATA_DECRYPTED') =>
  service.em().find(AuditEvent, { objectId: policyId, eventType }, { orderBy: { id: 'asc' } })

describe.each(['RA', 'CA'] as const)('in mode %s', mode => {
  test('the configuration tells mode, signer and chain', async () => {
    const { configuration, policyId } = scenes[mode]
    const { status, body } = await configuration()
    expect([status, body]).toMatchObject([200, { policyId, enabled: true, signerMode: mode }])
    const [issuing = ''] = blocksOf(body.caChainPem)
    if (mode === 'CA') expect(issuing).toBe(body.signerCertificatePem)
    else await expectVerified(bench, body.signerCertificatePem + body.caChainPem)
    if (mode === 'CA') return
    const text = await usageOf(body.signerCertificatePem)
    expect(text).toContain('Digital Signature, Key Encipherment')
    expect(text).toContain('Public-Key: (3072 bit)')
  })

  test.each([
    ['-aes128', [], 'AES-128-CBC'],
    ['-aes256', [], 'AES-256-CBC'],
    ['-des3', [], 'DES-EDE3-CBC'],
    ['-des-cbc', [], 'DES-CBC'],
    ['-aes192', ['-keyopt', 'rsa_padding_mode:oaep'], 'AES-192-CBC'],
    ['-aes128', ['-keyopt', 'rsa_padding_mode:oaep', '-keyopt', 'rsa_oaep_md:sha256'], 'AES-128-CBC'],
    ['-aes128', ['-keyid'], 'AES-128-CBC'],
  ] as const)('what openssl encrypts with %s %j is decrypted', async (cipher, more, name) => {
    const { configuration, gateway, policyId } = scenes[mode]
    const { signerCertificatePem } = (await configuration()).body
    const file = await bench.file(signerCertificatePem)
    const content = Buffer.from('a PKCS#10 request')
    const data = await bench.file(content)
    const to = more[0] === '-keyid' ? ['-keyid', '-recip', file] : ['-recip', file, ...more]
    const legacy = cipher === '-des-cbc' ? ['-provider', 'legacy', '-provider', 'default'] : []
    const by = [cipher, ...legacy, ...to]
    const { output } = await openssl('cms', '-encrypt', '-binary', '-in', data, '-outform', 'DER', ...by)
    const { status, body } = await decrypt(gateway, policyId, output)
    const decryptedDataBase64 = content.toString('base64')
    expect([status, body]).toEqual([200, { decryptedDataBase64, contentEncryptionAlgorithm: name }])
  })

  test.each([
    [undefined, 'sha256', 'SHA256_WITH_RSA'],
    ['SHA-1', 'sha1', 'SHA1_WITH_RSA'],
    ['SHA-384', 'sha384', 'SHA384_WITH_RSA'],
    ['SHA-512', 'sha512', 'SHA512_WITH_RSA'],
  ])('attributes with the digest %s are signed, as openssl says', async (digestAlgorithm, digest, name) => {
    const { configuration, gateway, policyId } = scenes[mode]
    const data = replyAttributes({ digest })
    const { status, body } = await signScep(gateway, { policyId, digestAlgorithm }, data)
    expect([status, body.signatureAlgorithm]).toEqual([200, name])
    const { signerCertificatePem, caChainPem } = (await configuration()).body
    expect([body.signerCertificatePem, body.caChainPem]).toEqual([signerCertificatePem, caChainPem])
    await expectSigned(signerCertificatePem, digest, { data, signature: body.signatureBase64 })
  })
})

test('each use is an audit event with the SHA-256 of the data', async () => {
  const { configuration, gateway, policyId } = scenes.RA
  const { envelope } = await enveloped(bench, (await configuration()).body.signerCertificatePem)
  await decrypt(gateway, policyId, envelope)
  const digest = (await openssl('dgst', '-sha256', await bench.file(envelope))).text.split('= ')[1]?.trim()
  const decrypted = (await eventsOf(policyId, 'DATA_DECRYPTED')).at(-1)
  expect(decrypted).toMatchObject({ principalId: gateway.id, principalType: 'API_CLIENT' })
  expect(decrypted?.eventDescription).toContain(`Data with SHA-256 ${digest} decrypted by the SCEP signer of policy`)
  await signScep(gateway, { policyId }, Buffer.from('not this'))
  const refused = (await eventsOf(policyId, 'DATA_SIGNED')).at(-1)
  expect(refused?.eventDescription).toMatch(/^Data with SHA-256 [0-9a-f]{64} not signed by the SCEP signer/)
})

const calls: readonly (readonly [string, (scene: ScepScene, caller: ScepScene['gateway']) => Promise<unknown>])[] = [
  ['decryptData', ({ policyId }, caller) => decrypt(caller, policyId, Buffer.from('0'))],
  ['signDataScep', ({ policyId }, caller) => signScep(caller, { policyId }, replyAttributes())],
  ['configuration', ({ policyId }, caller) => caller.get(`/api/v1/scep/policies/${policyId}/configuration`)],
]

describe.each(calls)('%s', (_, call) => {
  test('needs a token, and SIGN on this policy', async () => {
    const { anonymous } = service
    expect(await call(scenes.RA, anonymous as ScepScene['gateway'])).toMatchObject({ status: 401 })
    expect(await call(scenes.RA, scenes.CA.gateway)).toMatchObject({ status: 403, body: { apiError: 'ACCESS_DENIED' } })
    const reader = await service.user({ REALM: { [scenes.RA.realmId]: ['FULL_READ'] } })
    expect(await call(scenes.RA, reader as never)).toMatchObject({ status: 403 })
  })

  test('an unknown policy is 404', async () => {
    const unknown = { ...scenes.RA, policyId: crypto.randomUUID() }
    expect(await call(unknown, scenes.RA.gateway)).toMatchObject({
      status: 404,
      body: { apiError: 'POLICY_NOT_FOUND' },
    })
  })

  test.each([null, { enabled: false }])('with the configuration %j it is SCEP_NOT_ENABLED', async scepConfiguration => {
    const scene = await makeScepScene(service, { scepConfiguration })
    const answer = await call(scene, scene.gateway)
    expect(answer).toMatchObject({ status: 422, body: { apiError: 'SCEP_NOT_ENABLED' } })
  })

  test('a media type other than JSON is refused', async () => {
    const headers = { 'Content-Type': 'text/plain' }
    const { status } = await scenes.RA.gateway.post('/api/v1/scep/decrypt', undefined, { raw: 'x', headers })
    expect(status).toBe(415)
  })
})

const failed = { apiError: 'DECRYPTION_FAILED', errorMessage: 'The data cannot be decrypted' }

test('every envelope that cannot be decrypted is answered alike', async () => {
  const { configuration, gateway, policyId } = scenes.RA
  const { signerCertificatePem } = (await configuration()).body
  const { signerCertificatePem: alien } = (await scenes.CA.configuration()).body
  const { envelope } = await enveloped(bench, signerCertificatePem)
  const changed = (place: number): Buffer => {
    const copy = Buffer.from(envelope)
    copy[place] = (copy[place] ?? 0) ^ 0x55
    return copy
  }
  const des = await enveloped(bench, signerCertificatePem, { options: ['-aes128', '-aes128'] })
  const bodies = [
    (await enveloped(bench, alien)).envelope,
    Buffer.from('nothing'),
    Buffer.alloc(0),
    Buffer.concat([envelope, Buffer.from('more')]),
    envelope.subarray(0, -1),
    // The encrypted key, the last block of the content, the version.
    changed(envelope.indexOf(Buffer.from('300d06092a864886f70d0101010500', 'hex')) + 60),
    changed(envelope.length - 20),
    changed(6),
    replyAttributes(),
  ]
  expect((await decrypt(gateway, policyId, des.envelope)).status).toBe(200)
  for (const [place, body] of bodies.entries()) {
    const reply = await decrypt(gateway, policyId, body)
    expect([place, reply.status, reply.body]).toEqual([place, 422, failed])
  }
})

test('an envelope for another policy is not opened, also where the gateway may use both', async () => {
  const { configuration, policyId } = scenes.RA
  const other = await makeScepScene(service)
  const both = await service.apiClient({ POLICY: { [policyId]: ['SIGN'], [other.policyId]: ['SIGN'] } })
  await other.configuration()
  const { envelope } = await enveloped(bench, (await configuration()).body.signerCertificatePem)
  expect(refusalOf(await decrypt(both, other.policyId, envelope))).toEqual([422, 'DECRYPTION_FAILED'])
  expect((await decrypt(both, policyId, envelope)).status).toBe(200)
})

test.each([
  ['a certificate to be', async () => (await tbsOf(scenes.RA)).subarray()],
  ['nothing', async () => Buffer.alloc(0)],
  ['attributes and more', async () => Buffer.concat([replyAttributes(), Buffer.from('0')])],
  ['another message type', async () => replyAttributes({ messageType: '19' })],
  ['another content', async () => replyAttributes({ contentType: '1.2.840.113549.1.9.16.1.4' })],
  ['a digest of another length', async () => replyAttributes({ digest: 'sha512' })],
] as const)('%s is not signed for SCEP', async (_, make) => {
  const reply = await signScep(scenes.RA.gateway, scenes.RA, await make())
  expect(refusalOf(reply)).toEqual([422, 'SIGNING_REFUSED'])
})

const tbsOf = async ({ configuration }: ScepScene): Promise<Buffer> => {
  const { signerCertificatePem } = (await configuration()).body
  const file = await bench.file(signerCertificatePem)
  const { output } = await openssl('x509', '-in', file, '-outform', 'DER')
  const parsed = await openssl('asn1parse', '-inform', 'DER', '-in', await bench.file(output))
  const [, header = '4', length = '0'] = /\n\s*4:d=1\s+hl=(\d)\s+l=\s*(\d+)/.exec(parsed.text) ?? []
  return output.subarray(4, 4 + Number(header) + Number(length))
}

test('data that is too long or no Base64 is refused by its form', async () => {
  const { gateway, policyId } = scenes.RA
  const long = (octets: number) => Buffer.alloc(octets).toString('base64')
  const bodies = [
    ['/api/v1/scep/decrypt', long(140_000)],
    ['/api/v1/scep/sign', long(20_000)],
    ['/api/v1/scep/decrypt', '***'],
  ] as const
  for (const [path, dataBase64] of bodies)
    expect(refusalOf(await gateway.post(path, { policyId, dataBase64 }))).toEqual([400, 'INVALID_REQUEST'])
})
