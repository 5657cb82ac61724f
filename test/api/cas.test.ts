// CA records through the interface: imported, searched, trusted, handed out (contract 6.3, 10.4).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { getKeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { decodePem } from '../../pki/pem.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { getTemplate } from '../pki/hierarchy.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import type { ApiCaller } from '../support/api.ts'
import {
  makeForeignCertificate,
  signForeign,
  newForeignKey,
  type ForeignCertificate,
} from '../support/foreign-certificates.ts'
import { garbage, importPem } from '../support/importing.ts'
import { factsOf, issueFor, refusalOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let admin: ApiCaller
let anybody: ApiCaller

beforeAll(async () => {
  service = await startService()
  admin = await service.user({ GLOBAL: ['ADMIN'] })
  anybody = await service.user({})
  scene = await makeScene(service)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

let count = 0
const newRoot = (subject = `/O=Elsewhere/CN=Root ${++count} ${randomUUID()}`) =>
  makeForeignCertificate(bench, { subject, isCa: true })
const newIssuing = (issuer: ForeignCertificate) =>
  makeForeignCertificate(bench, { subject: `/CN=Issuing ${++count} ${randomUUID()}`, isCa: true, issuer })

const importCas = (pemCertificates: string, members: object = {}, by = admin) =>
  by.post('/api/v1/cas/import', { pemCertificates, ...members })
const verifyCas = (pemCertificates: string, members: object = {}) =>
  admin.post('/api/v1/cas/import/verify', { pemCertificates, ...members })
const imported = async (pem: string, members: object = {}) => {
  const { status, body } = await importCas(pem, members)
  expect([status, body.errors]).toEqual([201, []])
  return body.importedCas
}
const derOf = (pem: string): Buffer => decodePem(pem)[0]?.der ?? Buffer.alloc(0)

describe('an import', () => {
  test('keeps roots and issuing CAs in any order, linked and trusted, and openssl finds the same certificates', async () => {
    const root = await newRoot()
    const issuing = await newIssuing(root)
    const [second, first] = await imported(issuing.pem + root.pem)
    expect(first).toMatchObject({ root: true, trusted: true, issuerCaId: null, certificateProviderId: null })
    expect(second).toMatchObject({ root: false, trusted: true, issuerCaId: first.id, publicKeyAlgorithm: 'EC' })
    const { body } = await anybody.get(`/api/v1/cas/${second.id}/download`)
    expect(Object.keys(body).toSorted()).toEqual(['filename', 'id', 'pemCertificate'])
    const verdict = await openssl('verify', '-CAfile', root.certificateFile, await bench.file(body.pemCertificate))
    expect(verdict.text).toContain(': OK')
    expect(await factsOf(service, first.id)).toEqual(['ENTITY_CREATED'])
    const [event] = await service.em().find(AuditEvent, { objectId: first.id })
    expect(event?.eventDescription).toMatch(/^Trusted CA record CN=Root .* of an import created by /)
  })

  test('links a CA that was there before to its issuer', async () => {
    const root = await newRoot()
    const issuing = await newIssuing(root)
    const [orphan] = await imported(issuing.pem)
    expect(orphan.issuerCaId).toBeNull()
    const [parent] = await imported(root.pem, { trusted: false })
    expect(parent.trusted).toBe(false)
    expect((await anybody.get(`/api/v1/cas/${orphan.id}`)).body).toMatchObject({ issuerCaId: parent.id })
  })

  test('does not link by name alone', async () => {
    const subject = `/CN=Twin ${randomUUID()}`
    const [real, twin] = [await newRoot(subject), await newRoot(subject)]
    const [orphan] = await imported((await newIssuing(real)).pem)
    await imported(twin.pem)
    expect((await anybody.get(`/api/v1/cas/${orphan.id}`)).body.issuerCaId).toBeNull()
  })

  test('tries few of many CAs of one name, the one with the right key identifier first', async () => {
    const subject = `/CN=Many ${randomUUID()}`
    const twins = await Promise.all(Array.from({ length: 8 }, () => newRoot(subject)))
    const real = await newRoot(subject)
    const below = (members: object = {}) =>
      makeForeignCertificate(bench, { subject: `/CN=Below ${randomUUID()}`, isCa: true, issuer: real, ...members })
    const unnamed = await below({ extension: 'authorityKeyIdentifier=none' })
    const orphans = await imported((await below()).pem + unnamed.pem)
    const cas = await imported([...twins, real].map(({ pem }) => pem).join(''))
    const issuerOf = async ({ id }: Ca) => (await anybody.get(`/api/v1/cas/${id}`)).body.issuerCaId
    expect(await Promise.all(orphans.map(issuerOf))).toEqual([cas.at(-1).id, null])
  })

  test('judges each block alone: what is known, no CA, no certificate, and what is there twice', async () => {
    const known = await newRoot()
    const [before] = await imported(known.pem, { trusted: false })
    const fresh = await newRoot()
    const leaf = await makeForeignCertificate(bench, { subject: '/CN=leaf', issuer: fresh })
    const text = [known.pem, leaf.pem, garbage, fresh.pem, fresh.pem].join('')
    const expected = [
      [null, true, true],
      ['NOT_A_CA', false, false],
      ['INVALID_CERTIFICATE', false, false],
      [null, false, true],
      [null, true, true],
    ]
    const { body: told } = await verifyCas(text)
    expect([told.total, told.importable]).toEqual([5, 1])
    expect(
      told.results.map((one: Record<string, unknown>) => [one['apiError'], one['alreadyKnown'], one['ca']]),
    ).toEqual(expected)
    const { status, body } = await importCas(text)
    expect(status).toBe(201)
    expect(body.importedCas).toHaveLength(1)
    expect(body.alreadyKnownCas.map(({ id, trusted }: Ca) => [id, trusted])).toEqual([[before.id, false]])
    expect(body.errors).toEqual([
      { id: null, index: 1, apiError: 'NOT_A_CA', errorMessage: expect.any(String) },
      { id: null, index: 2, apiError: 'INVALID_CERTIFICATE', errorMessage: expect.any(String) },
    ])
  })

  test('takes expired CAs, and says so beforehand', async () => {
    const key = newForeignKey()
    const template = { ...getTemplate('CLIENT'), isCa: true }
    const validity = { notBefore: new Date('2001-01-01T00:00:00Z'), notAfter: new Date('2011-01-01T00:00:00Z') }
    const pem = await signForeign(key, `Old ${randomUUID()}`, { template, validity })
    const [row] = (await verifyCas(pem)).body.results
    expect([row.expired, row.importable]).toEqual([true, true])
    const [ca] = await imported(pem)
    expect(ca.validNotAfter).toBe('2011-01-01T00:00:00.000Z')
    expect((await admin.post('/api/v1/cas/get-trusted', { caIds: [ca.id] })).body.trustedCas).toEqual([])
  })

  test('refuses what passes itself off as a CA that is trusted', async () => {
    const real = await newRoot()
    await imported(real.pem)
    const { subjectNameDer, ski } = parseCertificate(derOf(real.pem))
    const template = { ...getTemplate('CLIENT'), isCa: true }
    const key = newForeignKey()
    const algorithm = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' } as const
    const validity = { notBefore: new Date('2025-01-01T00:00:00Z'), notAfter: new Date('2045-01-01T00:00:00Z') }
    const issuer = {
      nameDer: subjectNameDer,
      keyIdentifier: ski ?? Buffer.alloc(0),
      algorithm: getKeyAlgorithm(algorithm),
      validity,
    }
    const forged = await signForeign(key, `Forged ${randomUUID()}`, { template, issuer })
    const { body } = await importCas(forged)
    expect([body.importedCas, body.errors[0].apiError]).toEqual([[], 'INVALID_CERTIFICATE'])
  })

  test('without any certificate is refused whole, and so are too many blocks', async () => {
    const { pem } = await newRoot()
    for (const call of [importCas, verifyCas]) {
      expect(refusalOf(await call(garbage))).toEqual([400, 'INVALID_CERTIFICATE'])
      expect(refusalOf(await call('no PEM at all'))).toEqual([400, 'INVALID_CERTIFICATE'])
      expect(refusalOf(await call(pem.repeat(1001)))).toEqual([400, 'REQUEST_TOO_LARGE'])
    }
  })

  test('names the record as the file, of one certificate; else by name and serial number', async () => {
    const [one] = await imported((await newRoot()).pem, { fileName: 'partner root.pem' })
    expect(one.filename).toBe('partner_root.pem')
    const [climbing] = await imported((await newRoot()).pem, { fileName: '../../etc/passwd' })
    expect(climbing.filename).toBe('.._.._etc_passwd')
    expect((await anybody.get(`/api/v1/cas/${climbing.id}/download`)).body.filename).toBe('.._.._etc_passwd')
    const [folder] = await imported((await newRoot()).pem, { fileName: '..' })
    expect(folder.filename).toMatch(/^Root_.*\.pem$/)
    const many = await imported((await newRoot()).pem + (await newRoot()).pem, { fileName: 'all.pem' })
    for (const { filename, serialNumber } of many)
      expect(filename).toMatch(new RegExp(`^Root_.*_${serialNumber}\\.pem$`))
  })

  test('that comes twice at the same time makes each record once', async () => {
    const { pem } = await newRoot()
    const replies = await Promise.all([importCas(pem), importCas(pem), importCas(pem)])
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(replies.flatMap(({ body }) => body.importedCas)).toHaveLength(1)
    expect(replies.flatMap(({ body }) => body.alreadyKnownCas)).toHaveLength(2)
  })

  test('of one that came with an imported chain before knows it', async () => {
    const root = await newRoot()
    const leaf = await makeForeignCertificate(bench, { subject: '/CN=chained.example', issuer: root })
    const at = await makeScene(service, { certificateImportAllowed: true })
    expect((await importPem(at, leaf.pem + root.pem)).status).toBe(201)
    const { body } = await importCas(root.pem)
    expect(body.alreadyKnownCas).toMatchObject([{ trusted: false }])
  })
})

describe('a search', () => {
  const search = async (body: object, query = ''): Promise<Ca[]> =>
    (await anybody.post(`/api/v1/cas/search${query}`, body)).body.content
  const idsOf = (cas: readonly { id: string }[]): string[] => cas.map(({ id }) => id).toSorted()
  let root: Ca
  let issuing: Ca
  beforeAll(async () => {
    const foreign = await newRoot()
    ;[root, issuing] = await imported(foreign.pem + (await newIssuing(foreign)).pem)
  })

  test('finds by subject, serial number, fingerprint and file name; by issuer where asked', async () => {
    for (const simpleSearchTerm of [root.subjectDn.toUpperCase(), root.serialNumber, root.fingerprint, root.filename])
      expect(idsOf(await search({ simpleSearchTerm }))).toEqual([root.id])
    const byIssuer = { simpleSearchTerm: issuing.issuerDn, issuerSearch: true }
    expect(idsOf(await search(byIssuer))).toEqual(idsOf([root, issuing]))
  })

  test('narrows by ids, dates and archive', async () => {
    const caIds = [root.id, issuing.id, randomUUID()]
    expect(idsOf(await search({ caIds }))).toEqual(idsOf([root, issuing]))
    expect(await search({ caIds, archived: true })).toEqual([])
    const { validNotAfter: end } = (await anybody.get(`/api/v1/cas/${root.id}`)).body
    expect(idsOf(await search({ caIds, validNotAfterStart: end, validNotAfterEnd: end }))).toContain(root.id)
    expect(await search({ caIds, validNotBeforeStart: '2999-01-01T00:00:00Z' })).toEqual([])
    expect(await search({ caIds, validNotAfterEnd: '2001-01-01T00:00:00Z' })).toEqual([])
  })

  test('is paged and sorted, and shows no certificate and no key', async () => {
    const found = await search({ caIds: [root.id, issuing.id] }, '?size=1&sort=root,desc')
    expect(found.map(({ id }) => id)).toEqual([root.id])
    expect(Object.keys(found[0] ?? {})).not.toEqual(expect.arrayContaining(['pemCertificate']))
    expect(refusalOf(await anybody.post('/api/v1/cas/search?sort=der,asc', {}))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('takes JSON alone', async () => {
    const { status } = await anybody.post('/api/v1/cas/search', 'text', { headers: { 'Content-Type': 'text/plain' } })
    expect(status).toBe(415)
  })
})

describe('trusted CAs', () => {
  const trusted = async (body: object): Promise<string[]> => {
    const { status, body: told } = await anybody.post('/api/v1/cas/get-trusted', body)
    expect(status).toBe(200)
    return told.trustedCas.map(({ id }: Ca) => id)
  }

  test('of a policy are the chain of its CA, the issuing one first', async () => {
    const { issuingCaId } = await service.builtInCa()
    const issuing = await service.em().findOneOrFail(Ca, issuingCaId ?? '')
    expect(await trusted({ policyId: scene.policyId })).toEqual([issuing.id, issuing.issuerCaId])
    expect(await trusted({ policyId: scene.policyId, caIds: [issuing.issuerCaId] })).toEqual([issuing.issuerCaId])
    expect(refusalOf(await anybody.post('/api/v1/cas/get-trusted', { policyId: randomUUID() }))).toEqual([
      404,
      'POLICY_NOT_FOUND',
    ])
  })

  test('are not those that are untrusted or archived', async () => {
    const [one, other] = await imported((await newRoot()).pem + (await newRoot()).pem)
    const caIds: string[] = [one.id, other.id]
    expect((await trusted({ caIds })).toSorted()).toEqual(caIds.toSorted())
    expect((await admin.patch(`/api/v1/cas/${one.id}`, { trusted: false })).status).toBe(200)
    expect((await admin.patch(`/api/v1/admin/${other.id}/archive?entity=CA&archive=true`)).status).toBe(204)
    expect(await trusted({ caIds })).toEqual([])
    expect(await trusted({})).not.toEqual(expect.arrayContaining([one.id]))
  })
})

describe('a change', () => {
  test('of name and trust is recorded, with what became of the trust', async () => {
    const [{ id }] = await imported((await newRoot()).pem)
    const named = await admin.patch(`/api/v1/cas/${id}`, { name: 'Partner', version: 1 })
    expect(named.body).toMatchObject({ name: 'Partner', trusted: true, metadata: { version: 2 } })
    expect((await admin.patch(`/api/v1/cas/${id}`, { trusted: false })).body.trusted).toBe(false)
    expect((await admin.patch(`/api/v1/cas/${id}`, { name: '' })).body.name).toBeNull()
    expect((await admin.patch(`/api/v1/cas/${id}`, {})).body.metadata.version).toBe(4)
    const events = await service.em().find(AuditEvent, { objectId: id }, { orderBy: { id: 'asc' } })
    expect(events.map(({ eventDescription }) => /, (.*) by /.exec(eventDescription)?.[1]).slice(1)).toEqual([
      undefined,
      'not trusted any more',
      undefined,
    ])
  })

  test('is refused for another version, an archived CA, null, and an unknown one', async () => {
    const [{ id }] = await imported((await newRoot()).pem)
    const patch = async (body: object) => refusalOf(await admin.patch(`/api/v1/cas/${id}`, body))
    expect(await patch({ name: 'A', version: 7 })).toEqual([409, 'VERSION_CONFLICT'])
    expect(await patch({ trusted: null })).toEqual([400, 'INVALID_REQUEST'])
    await admin.patch(`/api/v1/admin/${id}/archive?entity=CA&archive=true`)
    expect(await patch({ name: 'A' })).toEqual([409, 'ENTITY_ARCHIVED'])
    const paths = [`/api/v1/cas/${randomUUID()}`, `/api/v1/cas/${randomUUID()}/download`]
    for (const path of paths) expect(refusalOf(await anybody.get(path))).toEqual([404, 'CA_NOT_FOUND'])
    expect(refusalOf(await anybody.get('/api/v1/cas/x'))).toEqual([400, 'INVALID_IDENTIFIER'])
  })
})

test('whose name has no common name is told by its whole name', async () => {
  const { pem } = await makeForeignCertificate(bench, { subject: `/O=Nameless ${randomUUID()}`, isCa: true })
  const [ca] = await imported(pem)
  expect([ca.name, ca.subjectCommonName, ca.issuerCommonName]).toEqual([null, ca.subjectDn, ca.issuerDn])
})

test.each([
  ['a\r\nBcc: x', 'a\uFFFD\uFFFDBcc: x'],
  [`${'x'.repeat(254)}😀yz`, `${'x'.repeat(254)}😀`],
])('whose common name is %j is told as %j', async (commonName, told) => {
  const template = { ...getTemplate('CLIENT'), isCa: true }
  const pem = await signForeign(newForeignKey(), commonName, { template })
  const [ca] = await imported(pem)
  expect([ca.name, ca.subjectCommonName, ca.issuerCommonName]).toEqual([told, told, ca.issuerCommonName])
  expect(JSON.stringify(ca)).not.toContain('\\r')
  const at = await makeScene(service, { certificateImportAllowed: true })
  const other = await signForeign(newForeignKey(), commonName, { template })
  const leaf = await signForeign(newForeignKey(), `leaf-${randomUUID()}.example.org`)
  expect((await importPem(at, leaf + other)).status).toBe(201)
})

test.each(['', ' '])('whose common name is %j has none', async commonName => {
  const pem = await signForeign(newForeignKey(), commonName, { template: { ...getTemplate('CLIENT'), isCa: true } })
  const [ca] = await imported(pem)
  expect([ca.name, ca.subjectCommonName]).toEqual([null, ca.subjectDn])
})

test.each(['search', 'get-trusted'])('no ids are no list of ids: %s', async operation => {
  expect(refusalOf(await anybody.post(`/api/v1/cas/${operation}`, { caIds: [] }))).toEqual([400, 'INVALID_REQUEST'])
})

test('a certificate of ours is below a CA that can be read', async () => {
  const { id } = await issueFor(scene)
  const { issuerCaId } = (await scene.owner.get(`/api/v1/certificates/${id}`)).body
  const { body } = await scene.owner.get(`/api/v1/cas/${issuerCaId}`)
  expect(body).toMatchObject({ trusted: true, root: false, issuerCaId: expect.any(String) })
})
