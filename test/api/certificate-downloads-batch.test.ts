// Downloading many certificates as one zip file.
import { randomUUID, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { zipOf } from '../../api/resources/certificates/artifacts.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Workbench } from '../pki/openssl.ts'
import type { Reply } from '../support/api.ts'
import { importPem, prepareImports } from '../support/importing.ts'
import { blocksOf, expectVerified, factsOf, issueFor, issueNew, refusalOf, unzip } from '../support/issuing.ts'
import { makeProvider } from '../support/records.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { statementCounter } from '../support/statements.ts'

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

const path = '/api/v1/certificates/batch-download'
const download = (ids: readonly string[], own = scene): Promise<Reply> => own.owner.get(`${path}?ids=${ids.join(',')}`)
const subjectsOf = (pem: string) => blocksOf(pem).map(block => new X509Certificate(block).subject)
const issueTwo = async () => [await issueFor(scene), await issueFor(scene)] as const
const repeated = (ids: readonly string[]) => ids.map(id => `ids=${id}`).join('&')
const unknownIds = (count: number) => Array.from({ length: count }, () => randomUUID())

describe('downloadCertificatesAsZip', () => {
  test('asks for a token', async () => {
    expect((await service.anonymous.get(`${path}?ids=${randomUUID()}`)).status).toBe(401)
  })

  test('answers one PEM with leaf and chain a certificate, and records each', async () => {
    const [one, two] = await issueTwo()
    const { status, body } = await download([one.id, two.id])
    expect([status, body.fileName]).toEqual([200, 'certificates.zip'])
    const files = unzip(body.zippedBytes)
    expect([...files.keys()]).toEqual([one, two].map(at => `${at.subjectDn.replace('CN=', '')}_${at.serialNumber}.pem`))
    for (const pem of files.values()) {
      expect(pem).not.toContain('PRIVATE KEY')
      await expectVerified(bench, pem)
    }
    for (const { id } of [one, two]) {
      expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED', 'CERTIFICATE_DOWNLOADED'])
      const event = await service.em().findOneOrFail(AuditEvent, { objectId: id, eventType: 'CERTIFICATE_DOWNLOADED' })
      expect(event).toMatchObject({ realmId: scene.realmId, certificateId: id, principalId: scene.owner.id })
    }
  })

  test('ids are a list in one parameter or several, and each counts once', async () => {
    const [{ id: one }, { id: two }] = await issueTwo()
    const queries = [
      `ids=${one},${two}`,
      `ids=${one}&ids=${two}`,
      `ids=${one},%20${two}&ids=${one.toUpperCase()},${two}`,
    ]
    for (const query of queries) {
      const { status, body } = await scene.owner.get(`${path}?${query}`)
      expect([status, unzip(body.zippedBytes).size]).toEqual([200, 2])
    }
    expect(await factsOf(service, one)).toEqual(['CERTIFICATE_ISSUED', ...queries.map(() => 'CERTIFICATE_DOWNLOADED')])
  })

  test('an archived certificate stays readable', async () => {
    const { id } = await issueNew(scene)
    await service.em().nativeUpdate(Certificate, { id }, { archived: true })
    expect((await download([id])).status).toBe(200)
  })

  test.each([0, 1, 2])(
    'an unknown or forbidden id at place %i fails the whole, and nothing is recorded',
    async place => {
      const [{ id: one }, { id: two }] = await issueTwo()
      const { id: foreign } = await issueNew(await makeScene(service))
      const among = (id: string) => [one, two].toSpliced(place, 0, id)
      expect(refusalOf(await download(among(randomUUID())))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
      expect(refusalOf(await download(among(foreign)))).toEqual([403, 'ACCESS_DENIED'])
      expect(refusalOf(await download(among('none')))).toEqual([400, 'INVALID_IDENTIFIER'])
      expect(await factsOf(service, one)).toEqual(['CERTIFICATE_ISSUED'])
    },
  )

  test('rights in another realm are none', async () => {
    const [{ id: one }, { id: two }] = await issueTwo()
    const outsider = await service.user({ REALM: { [randomUUID()]: ['FULL_READ'] } })
    const reader = await service.user({ CERTIFICATE: { [one]: ['READ'] } })
    expect((await outsider.get(`${path}?ids=${one}`)).status).toBe(403)
    expect((await reader.get(`${path}?ids=${one}`)).status).toBe(200)
    expect((await reader.get(`${path}?ids=${one},${two}`)).status).toBe(403)
  })

  test.each(['', '?ids=', '?ids=,'])('refuses "%s"', async query => {
    expect(refusalOf(await scene.owner.get(path + query))).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each([',', ',,', '&ids='])('refuses an empty item: "%s" behind an id', async more => {
    const { id } = await issueNew(scene)
    expect((await scene.owner.get(`${path}?ids=${id}${more}`)).status).toBe(400)
    expect((await scene.owner.get(`${path}?ids=${id}`)).status).toBe(200)
  })

  test('takes a thousand ids, in either form, and no more', async () => {
    const { id } = await issueNew(scene)
    const thousand = [...unknownIds(999), id]
    for (const query of [`ids=${thousand.join('%2C')}`, repeated(thousand)])
      expect(refusalOf(await scene.owner.get(`${path}?${query}`))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
    const more = [...thousand, randomUUID()]
    for (const query of [`ids=${more.join(',')}`, repeated(more)])
      expect(refusalOf(await scene.owner.get(`${path}?${query}`))).toEqual([400, 'REQUEST_TOO_LARGE'])
  })

  test('names files apart where name and serial number are alike but for case', async () => {
    const [one, two] = await issueTwo()
    const { id: three } = await issueFor(scene)
    const serialNumber = 'abcdef'
    const alike = [one.id, two.id, three].map((id, index) => ({
      id,
      subjectCommonName: ['web/1', 'WEB_1', 'web 1'][index],
    }))
    for (const { id, subjectCommonName = '' } of alike)
      await service.em().nativeUpdate(Certificate, { id }, { subjectCommonName, serialNumber })
    const names = [...unzip((await download(alike.map(({ id }) => id))).body.zippedBytes).keys()]
    expect(names).toEqual(['web_1_abcdef.pem', `WEB_1_abcdef_${two.id}.pem`, `web_1_abcdef_${three}.pem`])
  })

  test('of an incomplete chain the file holds what is known', async () => {
    const importing = await prepareImports(service, bench)
    const imported = (await importPem(importing.scene, (await importing.leaf()).pem)).body.importedCertificates[0]
    const own = await issueNew(importing.scene)
    const { status, body } = await download([imported.id, own.id], importing.scene)
    expect(status).toBe(200)
    const [short = '', whole = ''] = unzip(body.zippedBytes).values()
    expect(subjectsOf(short)).toEqual([expect.stringContaining(imported.subjectCommonName)])
    expect(subjectsOf(whole)).toHaveLength(3)
  })

  test('however many certificates a CA has issued, its chain is loaded once', async () => {
    const em = service.em()
    const ids = [...(await issueTwo()), await issueNew(scene)].map(({ id }) => id)
    const certificates = await em.find(Certificate, { id: { $in: ids } })
    const counter = await statementCounter(service.databaseUrl)
    const { result, statements } = await counter.during(() => zipOf(em, certificates))
    await counter.close()
    const files = unzip(result.zippedBytes.toString('base64'))
    expect([...files.values()].map(pem => blocksOf(pem).length)).toEqual([3, 3, 3])
    expect(statements).toHaveLength(1)
  })
})

describe('downloadCaChainForPolicy', () => {
  const chain = (policyId: string, caller = scene.owner) =>
    caller.get(`/api/v1/certificates/policies/${policyId}/download-ca-chain`)
  const refused = async (policyId = scene.policyId) => refusalOf(await chain(policyId))

  test('asks for a token', async () => {
    const { status } = await service.anonymous.get(`/api/v1/certificates/policies/${randomUUID()}/download-ca-chain`)
    expect(status).toBe(401)
  })

  test('answers the chain, issuing CA first', async () => {
    const { status, body } = await chain(scene.policyId)
    expect([status, Object.keys(body)]).toEqual([200, ['pemCertificate']])
    expect(subjectsOf(body.pemCertificate)).toEqual(['CN=Built-in CA Issuing CA', 'CN=Built-in CA Root CA'])
    const issued = await issueNew(scene)
    const leaf = await scene.owner.get(`/api/v1/certificates/${issued.id}/download`)
    await expectVerified(bench, leaf.body.pemCertificate + body.pemCertificate)
  })

  test('is for those who may read the policy', async () => {
    const reader = await service.user({ POLICY: { [scene.policyId]: ['SIGN'] } })
    expect((await chain(scene.policyId, reader)).status).toBe(200)
    const of = await service.user({ REALM: { [scene.realmId]: ['CERTS_READ'], [randomUUID()]: ['FULL_READ'] } })
    expect(refusalOf(await chain(scene.policyId, of))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('an unknown policy is 404, an archived one 409', async () => {
    expect(await refused(randomUUID())).toEqual([404, 'POLICY_NOT_FOUND'])
    expect(await refused('none')).toEqual([400, 'INVALID_IDENTIFIER'])
    const own = await makeScene(service)
    await service.em().nativeUpdate(Policy, { id: own.policyId }, { archived: true })
    expect(refusalOf(await chain(own.policyId, own.owner))).toEqual([409, 'ENTITY_ARCHIVED'])
  })

  test('a root that is not known makes it incomplete; without a CA it is the provider that fails', async () => {
    const em = service.em()
    const own = await makeScene(service)
    const { id: certificateProviderId } = await makeProvider(em)
    await em.nativeUpdate(Policy, { id: own.policyId }, { certificateProviderId })
    expect(refusalOf(await chain(own.policyId, own.owner))).toEqual([422, 'CERTIFICATE_PROVIDER_ERROR'])
    const { issuingCaId } = await service.builtInCa()
    await em.nativeUpdate(CertificateProvider, { id: certificateProviderId }, { issuingCaId: issuingCaId ?? null })
    const { issuerCaId } = await em.findOneOrFail(Ca, issuingCaId ?? '')
    await em.nativeUpdate(Ca, { id: issuingCaId ?? '' }, { issuerCaId: null })
    expect(refusalOf(await chain(own.policyId, own.owner))).toEqual([422, 'CHAIN_INCOMPLETE'])
    await em.nativeUpdate(Ca, { id: issuingCaId ?? '' }, { issuerCaId: issuerCaId ?? null })
    expect((await chain(own.policyId, own.owner)).status).toBe(200)
  })

  test('CAs that issued each other are an incomplete chain', async () => {
    const em = service.em()
    const { issuingCaId } = await service.builtInCa()
    const { issuerCaId: rootId } = await em.findOneOrFail(Ca, issuingCaId ?? '')
    const root = { id: rootId ?? '' }
    await em.nativeUpdate(Ca, root, { root: false, issuerCaId: issuingCaId ?? null })
    expect(await refused()).toEqual([422, 'CHAIN_INCOMPLETE'])
    await em.nativeUpdate(Ca, root, { root: true, issuerCaId: null })
    expect((await chain(scene.policyId)).status).toBe(200)
  })
})
