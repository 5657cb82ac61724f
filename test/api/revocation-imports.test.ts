// Imports that bear the name of our CA and a serial number of ours: what we have issued and our lists do not change by them.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { getKeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { keyIdentifier } from '../../pki/keys/public-key.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Workbench } from '../pki/openssl.ts'
import { newForeignKey, signForeign } from '../support/foreign-certificates.ts'
import { importPem, newHost, verdictOn, verifyPem } from '../support/importing.ts'
import { issueFor, refusalOf, spkiOf, type Issued } from '../support/issuing.ts'
import { crlWhere, type ReadCrl } from '../support/revoking.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let caId: string

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { certificateImportAllowed: true })
  caId = (await service.builtInCa()).issuingCaId ?? ''
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const row = (id: string) => service.em().findOneOrFail(Certificate, id)
const pemOf = async ({ id }: Pick<Issued, 'id'>): Promise<string> =>
  (await scene.owner.get(`/api/v1/certificates/${id}/download`)).body.pemCertificate
const revoke = (id: string, reason = 'SUPERSEDED') =>
  scene.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`)
const mark = (id: string) =>
  scene.owner.patch('/api/v1/certificates/mark-as-revoked', {
    certificateIds: [id],
    revocationReason: 'CESSATION_OF_OPERATION',
  })

/** A certificate by a key that is not our CA's, with its name and the serial number of one of ours. */
const forge = async (ours: Issued, claimed: 'our key identifier' | 'one of its own'): Promise<string> => {
  const { issuerNameDer, aki, serialNumber } = parseCertificate((await row(ours.id)).der)
  const key = newForeignKey()
  const own = keyIdentifier(Buffer.from(spkiOf(key), 'base64'))
  const issuer = {
    nameDer: issuerNameDer,
    keyIdentifier: claimed === 'our key identifier' && aki ? aki : own,
    algorithm: getKeyAlgorithm({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' } as const),
    validity: { notBefore: new Date('2025-01-01T00:00:00Z'), notAfter: new Date('2045-01-01T00:00:00Z') },
  }
  return signForeign(key, newHost(), { issuer, serialNumber })
}

const lookUp = async ({ id }: Pick<Issued, 'id'>): Promise<string> => {
  const { issuerNameDer, serialNumber } = parseCertificate((await row(id)).der)
  const wanted = { issuerDnBin: issuerNameDer.toString('base64'), serialNumber }
  return (await scene.owner.post('/api/v1/certificates/by-issuer-dn-bin-and-serial-number', wanted)).body.id
}

/** The list that tells a certificate of ours, which is revoked for it. */
const nextList = async (told?: Issued): Promise<ReadCrl> => {
  const leaf = told ?? (await issueFor(scene))
  expect((await revoke(leaf.id)).status).toBe(200)
  const holds = ({ entries }: ReadCrl) => entries.has(leaf.serialNumber)
  return crlWhere(service, bench, { caId, what: 'it is listed', holds })
}

test('a forgery with the key identifier of our CA is not imported', async () => {
  const ours = await issueFor(scene)
  expect(await verdictOn(scene, await forge(ours, 'our key identifier'))).toBe('INVALID_CERTIFICATE')
  expect(await service.em().count(Certificate, { serialNumber: ours.serialNumber })).toBe(1)
})

test('a forgery with a key identifier of its own never stands on our list, and changes nothing of ours', async () => {
  const ours = await issueFor(scene)
  const { body } = await importPem(scene, await forge(ours, 'one of its own'))
  const forgery = await row(body.importedCertificates[0].id)
  expect(forgery).toMatchObject({ serialNumber: ours.serialNumber, imported: true, issuerCaId: null })
  expect(forgery.issuerDn).toBe((await row(ours.id)).issuerDn)
  expect(await lookUp(ours)).toBe(ours.id)

  expect(refusalOf(await revoke(forgery.id))).toEqual([422, 'NOT_SUPPORTED_BY_PROVIDER'])
  expect((await mark(forgery.id)).status).toBe(204)
  expect(await row(forgery.id)).toMatchObject({ revocationReason: 'CESSATION_OF_OPERATION', crlPending: false })
  expect((await nextList()).entries.has(ours.serialNumber)).toBe(false)
  expect((await row(ours.id)).revocationDate).toBeNull()
  expect(refusalOf(await scene.owner.get(`/api/v1/certificates/${forgery.id}/crl`))).toEqual([422, 'NO_CRL_AVAILABLE'])

  const { entries } = await nextList(ours)
  expect(entries.get(ours.serialNumber)).toBe('Superseded')
  expect(await lookUp(ours)).toBe(ours.id)
  expect((await row(forgery.id)).revocationCrlNumber).toBeNull()
})

test('a certificate of ours that is imported again stays ours', async () => {
  const ours = await issueFor(scene)
  const pem = await pemOf(ours)
  const elsewhere = await makeScene(service, { certificateImportAllowed: true })
  expect((await verifyPem(scene, pem)).body.results[0]).toMatchObject({ alreadyKnown: true, importable: false })
  const { status, body } = await importPem(scene, pem)
  expect(status).toBe(201)
  expect(body).toEqual({ total: 1, importedCertificates: [], alreadyKnownCertificateIds: [ours.id], errors: [] })
  expect(await verdictOn(elsewhere, pem)).toBe('ALREADY_EXISTS')
  expect(await row(ours.id)).toMatchObject({ imported: false, issuerCaId: caId, realmId: scene.realmId })
  expect(await service.em().count(Certificate, { serialNumber: ours.serialNumber })).toBe(1)
  expect(await lookUp(ours)).toBe(ours.id)
  expect((await nextList(ours)).entries.get(ours.serialNumber)).toBe('Superseded')
})
