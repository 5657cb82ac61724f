// Finding a certificate by fingerprint, and by issuer and serial number.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getKeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { oid, printableString, sequence, setOf } from '../../pki/asn1/der.ts'
import { keyIdentifier } from '../../pki/keys/public-key.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { nameDer } from '../pki/hierarchy.ts'
import { importPem, newHost } from '../support/importing.ts'
import { issueNew, refusalOf, spkiOf, type Issued } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { signForeign, newForeignKey } from '../support/foreign-certificates.ts'

let service: Service
let scene: Scene
let issued: Issued

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { certificateImportAllowed: true })
  issued = await issueNew(scene)
})
afterAll(() => service.stop())

const byFingerprint = (fingerprint: string) =>
  `/api/v1/certificates/by-fingerprint?fingerprint=${encodeURIComponent(fingerprint)}`
const byIssuer = '/api/v1/certificates/by-issuer-dn-bin-and-serial-number'
const archive = ({ id }: { id: string }) => service.em().nativeUpdate(Certificate, { id }, { archived: true })
const inPairs = (hex: string): string => (hex.match(/../g) ?? []).join(':')
const notFound = [404, 'CERTIFICATE_NOT_FOUND']
const malformed = [400, 'INVALID_REQUEST']

/** Who issued a certificate and under which number, as a look-up asks for it. */
const askFor = async ({ id }: { id: string }) => {
  const { der } = await service.em().findOneOrFail(Certificate, id)
  const { issuerNameDer, serialNumber } = parseCertificate(der)
  return { issuerDnBin: issuerNameDer.toString('base64'), serialNumber }
}

test.each(['get', 'post'] as const)('%s asks for a token', async method => {
  const reply = await service.anonymous[method](method === 'get' ? byFingerprint('00') : byIssuer)
  expect(reply.status).toBe(401)
})

describe('getCertificateByFingerprint', () => {
  test('finds the certificate, whatever the case, colons and spaces', async () => {
    const { fingerprint } = issued
    const upper = inPairs(fingerprint).toUpperCase()
    for (const text of [fingerprint, upper, upper.replaceAll(':', ' '), ` ${fingerprint} `]) {
      const { status, body } = await scene.owner.get(byFingerprint(text))
      expect([status, body.id]).toEqual([200, issued.id])
    }
    const details = await scene.owner.get(`/api/v1/certificates/${issued.id}`)
    expect((await scene.owner.get(byFingerprint(fingerprint))).body).toEqual(details.body)
  })

  test.each(['', 'x', 'ab', 'g'.repeat(64), 'a'.repeat(63), 'a'.repeat(65)])('refuses "%s"', async text => {
    expect(refusalOf(await scene.owner.get(byFingerprint(text)))).toEqual(malformed)
  })

  test('refuses none and two', async () => {
    const { fingerprint } = issued
    expect(refusalOf(await scene.owner.get('/api/v1/certificates/by-fingerprint'))).toEqual(malformed)
    const twice = `${byFingerprint(fingerprint)}&fingerprint=${fingerprint}`
    expect(refusalOf(await scene.owner.get(twice))).toEqual(malformed)
  })

  test('an unknown one is 404, an archived one 409', async () => {
    expect(refusalOf(await scene.owner.get(byFingerprint(randomBytes(32).toString('hex'))))).toEqual(notFound)
    const gone = await issueNew(scene)
    await archive(gone)
    expect(refusalOf(await scene.owner.get(byFingerprint(gone.fingerprint)))).toEqual([409, 'ENTITY_ARCHIVED'])
  })
})

describe('getCertificateByIssuerDnBinAndSerialNumber', () => {
  test('finds the certificate, whatever the form of the serial number', async () => {
    const wanted = await askFor(issued)
    const even = wanted.serialNumber.padStart(wanted.serialNumber.length + (wanted.serialNumber.length % 2), '0')
    for (const serialNumber of [wanted.serialNumber, `0000${wanted.serialNumber}`, inPairs(even).toUpperCase()]) {
      const { status, body } = await scene.owner.post(byIssuer, { ...wanted, serialNumber })
      expect([status, body.id]).toEqual([200, issued.id])
    }
    const lines = wanted.issuerDnBin.replace(/.{16}/g, '$&\n')
    expect((await scene.owner.post(byIssuer, { ...wanted, issuerDnBin: lines })).body.id).toBe(issued.id)
  })

  test('another issuer, another serial number and an archived certificate are 404', async () => {
    const wanted = await askFor(issued)
    const other = nameDer({ commonName: 'Another' }).toString('base64')
    expect(refusalOf(await scene.owner.post(byIssuer, { ...wanted, issuerDnBin: other }))).toEqual(notFound)
    expect(refusalOf(await scene.owner.post(byIssuer, { ...wanted, serialNumber: '1f' }))).toEqual(notFound)
    const gone = await issueNew(scene)
    await archive(gone)
    expect(refusalOf(await scene.owner.post(byIssuer, await askFor(gone)))).toEqual(notFound)
  })

  test.each<[string, object]>([
    ['no Base64', { issuerDnBin: 'not base64' }],
    ['no DER', { issuerDnBin: Buffer.from('no DER').toString('base64') }],
    ['no Name', { issuerDnBin: Buffer.of(0x30, 3, 2, 1, 5).toString('base64') }],
    ['nothing', { issuerDnBin: '' }],
    ['no issuer', { issuerDnBin: undefined }],
    ['no hexadecimal digits', { serialNumber: '0x1f' }],
    ['too many digits', { serialNumber: 'f'.repeat(41) }],
    ['no digits', { serialNumber: ' : ' }],
    ['no serial number', { serialNumber: undefined }],
  ])('refuses %s', async (...[, members]) => {
    expect(refusalOf(await scene.owner.post(byIssuer, { ...(await askFor(issued)), ...members }))).toEqual(malformed)
  })

  test('another media type is refused', async () => {
    const { status } = await scene.owner.post(byIssuer, undefined, {
      raw: 'x',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(status).toBe(415)
  })
})

describe('an import that imitates issuer and serial number', () => {
  const key = newForeignKey()
  const issuerOf = (name: Buffer) => ({
    nameDer: name,
    keyIdentifier: keyIdentifier(Buffer.from(spkiOf(key), 'base64')),
    algorithm: getKeyAlgorithm({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' }),
    validity: { notBefore: new Date('2025-01-01T00:00:00Z'), notAfter: new Date('2045-01-01T00:00:00Z') },
  })
  const imitate = async (wanted: { issuerDnBin: string; serialNumber: string }): Promise<string> => {
    const issuer = issuerOf(Buffer.from(wanted.issuerDnBin, 'base64'))
    const pem = await signForeign(newForeignKey(), newHost(), { issuer, serialNumber: wanted.serialNumber })
    const { body } = await importPem(scene, pem)
    return body.importedCertificates[0].id
  }

  test('does not hide what a known CA has issued', async () => {
    const wanted = await askFor(issued)
    const imitation = await imitate(wanted)
    expect(await askFor({ id: imitation })).toEqual(wanted)
    expect((await scene.owner.post(byIssuer, wanted)).body.id).toBe(issued.id)
    const { issuerCaId } = await service.em().findOneOrFail(Certificate, issued.id)
    await service.em().nativeUpdate(Certificate, { id: imitation }, { issuerCaId: issuerCaId ?? null })
    expect((await scene.owner.post(byIssuer, wanted)).body.id).toBe(issued.id)
  })

  test('is found while it is alone, and two cannot be told apart', async () => {
    const wanted = { issuerDnBin: nameDer({ commonName: 'Nobody' }).toString('base64'), serialNumber: '1a2b' }
    const first = await imitate(wanted)
    expect((await scene.owner.post(byIssuer, wanted)).body.id).toBe(first)
    await imitate(wanted)
    expect(refusalOf(await scene.owner.post(byIssuer, wanted))).toEqual([400, 'AMBIGUOUS_RESULT'])
    await archive({ id: first })
    expect((await scene.owner.post(byIssuer, wanted)).status).toBe(200)
  })

  test('the octets of the name decide, not its text', async () => {
    const utf8 = nameDer({ commonName: 'Octets' }).toString('base64')
    const printable = sequence(setOf(sequence(oid('2.5.4.3'), printableString('Octets')))).toString('base64')
    const serialNumber = '77'
    const ids = [
      await imitate({ issuerDnBin: utf8, serialNumber }),
      await imitate({ issuerDnBin: printable, serialNumber }),
    ]
    const found = [utf8, printable].map(issuerDnBin => scene.owner.post(byIssuer, { issuerDnBin, serialNumber }))
    expect((await Promise.all(found)).map(({ body }) => body.id)).toEqual(ids)
  })
})

test.each<[string, () => object, number]>([
  ['READ on the certificate', () => ({ CERTIFICATE: { [issued.id]: ['READ'] } }), 200],
  ['any permission on its policy', () => ({ POLICY: { [scene.policyId]: ['UPDATE'] } }), 200],
  ['CERTS_READ of the realm', () => ({ REALM: { [scene.realmId]: ['CERTS_READ'] } }), 200],
  ['rights in another realm', () => ({ REALM: { [randomUUID()]: ['FULL_READ'] } }), 404],
  ['rights on requests', () => ({ REALM: { [scene.realmId]: ['CERTREQS_READ'] } }), 403],
])('with %s both look-ups answer alike', async (...[, grants, expected]) => {
  const caller = await service.user(grants())
  const replies = [
    await caller.get(byFingerprint(issued.fingerprint)),
    await caller.post(byIssuer, await askFor(issued)),
  ]
  expect(replies.map(({ status }) => status)).toEqual([expected, expected])
})
