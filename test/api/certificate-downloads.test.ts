// Downloading certificate, chain, private key and PKCS#12.
import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { openssl, tryOpenssl, Workbench } from '../pki/openssl.ts'
import {
  blocksOf,
  ecKey,
  expectVerified,
  factsOf,
  issueFor,
  issueNew,
  keyIn,
  refusalOf,
  spkiOf,
} from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const url = (id: string, what: string) => `/api/v1/certificates/${id}/${what}`
const [leaf, chain, key, p12] = ['download', 'download-chain?casFirst=false', 'download-private-key', 'pkcs12'] as const
const all = [leaf, chain, key, p12]
const secret = [key, p12]
const ofBroughtKey = () => ({ keyGenParamsDto: null, keyPairMode: 'PUBLIC_KEY', publicKeyBase64: spkiOf(ecKey()) })
/** Forgets which CA is above the issuer, and answers how to remember. */
const loseRoot = async (certificateId: string) => {
  const em = service.em()
  const { issuerCaId } = await em.findOneOrFail(Certificate, certificateId)
  const id = issuerCaId ?? ''
  const { issuerCaId: rootId } = await em.findOneOrFail(Ca, id)
  await em.nativeUpdate(Ca, { id }, { issuerCaId: null })
  return () => em.nativeUpdate(Ca, { id }, { issuerCaId: rootId ?? null })
}
/** What each download but those of the certificate itself is recorded as. */
const recordedAs = new Map<string, AuditEvent['eventType']>([
  [key, 'PRIVATE_KEY_DOWNLOADED'],
  [p12, 'PKCS12_DOWNLOADED'],
])

describe.each(all)('%s', what => {
  test('asks for a token', async () => {
    expect((await service.anonymous.get(url(randomUUID(), what))).status).toBe(401)
  })

  test('an unknown certificate is 404, one of another realm 403', async () => {
    const { owner } = await makeScene(service)
    expect(refusalOf(await owner.get(url(randomUUID(), what)))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
    expect(refusalOf(await owner.get(url('none', what)))).toEqual([400, 'INVALID_IDENTIFIER'])
    const { id } = await issueNew(scene)
    expect(refusalOf(await owner.get(url(id, what)))).toEqual([403, 'ACCESS_DENIED'])
    expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED'])
  })

  test('is recorded with the name of who did it', async () => {
    const { id, subjectDn } = await issueNew(scene)
    expect((await scene.owner.get(url(id, what))).status).toBe(200)
    const eventType = recordedAs.get(what) ?? 'CERTIFICATE_DOWNLOADED'
    expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED', eventType])
    const event = await service.em().findOneOrFail(AuditEvent, { objectId: id, eventType })
    expect(event).toMatchObject({ realmId: scene.realmId, certificateId: id, principalId: scene.owner.id })
    expect(event.eventDescription).toContain(subjectDn)
    expect(event.eventDescription).toMatch(/ downloaded by \S/)
  })

  test('an archived certificate stays readable', async () => {
    const { id } = await issueNew(scene)
    await service.em().nativeUpdate(Certificate, { id }, { archived: true })
    expect((await scene.owner.get(url(id, what))).status).toBe(200)
  })
})

test.each<[string, (id: string) => object, number, number]>([
  ['READ on the certificate', id => ({ CERTIFICATE: { [id]: ['READ'] } }), 200, 403],
  ['any permission on its policy', () => ({ POLICY: { [scene.policyId]: ['READ', 'UPDATE', 'DELETE'] } }), 200, 403],
  ['CERTS_READ of the realm', () => ({ REALM: { [scene.realmId]: ['CERTS_READ', 'FULL_READ'] } }), 200, 403],
  ['DOWNLOAD_PRIVATE_KEY', id => ({ CERTIFICATE: { [id]: ['DOWNLOAD_PRIVATE_KEY'] } }), 200, 200],
  ['ADMIN', () => ({ GLOBAL: ['ADMIN'] }), 200, 200],
  ['REALMS_FULL_READ', () => ({ GLOBAL: ['REALMS_FULL_READ'] }), 200, 403],
  ['rights on requests', () => ({ REALM: { [scene.realmId]: ['CERTREQS_READ', 'READ'] } }), 403, 403],
])('with %s: %#', async (...[, grants, reading, keys]) => {
  const { id } = await issueNew(scene)
  const caller = await service.user(grants(id))
  for (const what of all) {
    const expected = secret.includes(what as never) ? keys : reading
    expect((await caller.get(url(id, what))).status).toBe(expected)
  }
})

test('the creator who may no longer read the certificate gets no key', async () => {
  const { id } = await issueNew(scene)
  await service.em().nativeUpdate(Certificate, { id }, { createdBy: (await service.user()).id })
  expect((await scene.owner.get(url(id, key))).status).toBe(403)
  const creator = await service.user()
  await service.em().nativeUpdate(Certificate, { id }, { createdBy: creator.id })
  expect((await creator.get(url(id, key))).status).toBe(403)
})

describe('downloadCertificate', () => {
  test('answers the certificate as PEM', async () => {
    const issued = await issueFor(scene, 'web-01.example.org')
    const { status, body } = await scene.owner.get(url(issued.id, leaf))
    expect(status).toBe(200)
    expect(body).toEqual({
      id: issued.id,
      fileName: `web-01.example.org_${issued.serialNumber}.pem`,
      pemCertificate: expect.stringMatching(
        /^-----BEGIN CERTIFICATE-----\n([\w+/=]{1,64}\n)+-----END CERTIFICATE-----\n$/,
      ),
    })
    const certificate = new X509Certificate(body.pemCertificate)
    expect(certificate.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(issued.fingerprint)
  })

  test.each<[string, object, boolean, (certificateId: string) => string]>([
    ['the common name', { commonName: 'Größe & Maß/1' }, false, () => 'Gr__e___Ma__1'],
    ['a name beyond the basic plane', { commonName: '😀 👩‍💻' }, false, () => '_____'],
    ['the alias', { email: 'jane@example.org' }, false, () => 'jane_example.org'],
    ['its id, when another has the alias', { email: 'jane@example.org' }, true, certificateId => certificateId],
  ])('names the file after %s', async (...[, subject, taken, nameOf]) => {
    const own = await makeScene(service, {
      endEntityStrategy: 'email' in subject ? 'EMAIL' : 'COMMON_NAME',
      certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}',
    })
    if (taken) await issueFor(own, { ...subject })
    const issued = await issueFor(own, { ...subject })
    const { body } = await own.owner.get(url(issued.id, leaf))
    expect(body.fileName).toBe(`${nameOf(issued.id)}_${issued.serialNumber}.pem`)
  })
})

describe('downloadCertificateChain', () => {
  test('starts with the leaf or with the CAs', async () => {
    const { id } = await issueNew(scene)
    const get = async (casFirst: string) =>
      (await scene.owner.get(url(id, `download-chain?casFirst=${casFirst}`))).body.pemCertificate as string
    const [down, up] = [await get('false'), await get('true')]
    expect(blocksOf(down)).toHaveLength(3)
    expect(blocksOf(up)).toEqual(blocksOf(down).toReversed())
    await expectVerified(bench, down)
    const subjects = blocksOf(down).map(pem => new X509Certificate(pem).subject)
    expect(subjects.slice(1)).toEqual(['CN=Built-in CA Issuing CA', 'CN=Built-in CA Root CA'])
  })

  test.each(['', '?casFirst=', '?casFirst=yes', '?casFirst=true&casFirst=true'])('refuses "%s"', async query => {
    const { id } = await issueNew(scene)
    const reply = await scene.owner.get(url(id, `download-chain${query}`))
    expect(refusalOf(reply)).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('downloadCertificatePrivateKey', () => {
  test.each([
    { cryptoAlgorithm: 'RSA' },
    { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP521R1' },
    { cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED448' },
  ])('answers the PKCS#8 key of the certificate: %j', async keyGenParamsDto => {
    const issued = await issueFor(scene, 'keys.example.org', { keyGenParamsDto })
    const { status, body } = await scene.owner.get(url(issued.id, key))
    expect(status).toBe(200)
    expect(body).toEqual({
      id: issued.id,
      fileName: `keys.example.org_${issued.serialNumber}.key.pem`,
      pemPrivateKey: expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/),
    })
    const { body: own } = await scene.owner.get(url(issued.id, leaf))
    const opened = await openssl('pkey', '-in', await bench.file(body.pemPrivateKey), '-pubout')
    expect(opened.output.toString()).toBe(await keyIn(bench, own.pemCertificate))
  })
})

describe('retrieveCertificateP12', () => {
  test('answers key, leaf and chain under a password of this answer', async () => {
    const issued = await issueFor(scene, 'store.example.org')
    const { status, body } = await scene.owner.get(url(issued.id, p12))
    expect(status).toBe(200)
    expect(body).toEqual({
      id: issued.id,
      fileName: `store.example.org_${issued.serialNumber}.p12`,
      keystore: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/),
      password: expect.stringMatching(/^[A-Za-z0-9]{20}$/),
    })
    const file = await bench.file(Buffer.from(body.keystore, 'base64'))
    const open = (...args: string[]) => openssl('pkcs12', '-in', file, '-passin', `pass:${body.password}`, ...args)
    const { text } = await open('-info', '-noout')
    expect(text).toContain('PBES2, PBKDF2, AES-256-CBC, Iteration 100000, PRF hmacWithSHA256')
    expect(text).toMatch(/MAC: sha256/)
    const certificates = blocksOf((await open('-nokeys')).output.toString())
    expect(certificates).toHaveLength(3)
    await expectVerified(bench, certificates.join(''))
    const [keyPem = ''] = blocksOf((await open('-nocerts', '-noenc')).output.toString())
    const { body: own } = await scene.owner.get(url(issued.id, key))
    expect(createPrivateKey(keyPem).equals(createPrivateKey(own.pemPrivateKey))).toBe(true)
  })

  test('every answer has a password of its own, and no other opens it', async () => {
    const { id } = await issueNew(scene)
    const [one, two] = [(await scene.owner.get(url(id, p12))).body, (await scene.owner.get(url(id, p12))).body]
    expect(one.password).not.toBe(two.password)
    const file = await bench.file(Buffer.from(one.keystore, 'base64'))
    const verdict = await tryOpenssl('pkcs12', '-in', file, '-noout', '-passin', `pass:${two.password}`)
    expect(verdict.code).not.toBe(0)
    const events = await service.em().find(AuditEvent, { objectId: id })
    for (const { eventDescription } of events) expect(eventDescription).not.toContain(one.password)
  })
})

test.each(secret)('%s of a certificate whose key came from outside is not there', async what => {
  const { id } = await issueNew(scene, ofBroughtKey())
  expect(refusalOf(await scene.owner.get(url(id, what)))).toEqual([422, 'PRIVATE_KEY_NOT_AVAILABLE'])
  expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED'])
})

test.each([chain, p12])('%s of a certificate whose root is not known is incomplete', async what => {
  const { id } = await issueNew(scene)
  const findAgain = await loseRoot(id)
  expect(refusalOf(await scene.owner.get(url(id, what)))).toEqual([422, 'CHAIN_INCOMPLETE'])
  expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED'])
  await findAgain()
  expect((await scene.owner.get(url(id, what))).status).toBe(200)
})
