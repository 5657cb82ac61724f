// Certificates revoked, held and released through the interface; a stranger with openssl believes what the CRL says.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { Crl } from '../../storage/rows/crl.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { blocksOf, factsOf, issueFor, refusalOf, spkiOf, ecKey, until, type Issued } from '../support/issuing.ts'
import { crlWhere, fetchCrl, readCrl } from '../support/revoking.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let caId: string

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  caId = (await service.builtInCa()).issuingCaId ?? ''
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const revoke = (id: string, reason?: string, by: Pick<Scene, 'owner'> = scene) =>
  by.owner.post(`/api/v1/certificates/revoke?id=${id}${reason ? `&revocationReason=${reason}` : ''}`)
const read = async (id: string) => (await scene.owner.get(`/api/v1/certificates/${id}`)).body

/** What openssl says of a leaf under the list that is published now. */
const verdictOn = async ({ id }: Pick<Issued, 'id'>, crlFile: string): Promise<string> => {
  const chain = (await scene.owner.get(`/api/v1/certificates/${id}/download-chain?casFirst=false`)).body.pemCertificate
  const [leaf = '', issuing = '', root = ''] = await Promise.all(blocksOf(chain).map(block => bench.file(block)))
  const { text } = await openssl(
    'verify',
    '-crl_check',
    '-CRLfile',
    crlFile,
    '-CAfile',
    root,
    '-untrusted',
    issuing,
    leaf,
  ).catch((error: unknown) => ({ text: String(error) }))
  return text
}

describe('one certificate', () => {
  test('is held, released and revoked, and openssl follows each list', async () => {
    const leaf = await issueFor(scene)
    const untouched = await issueFor(scene)
    const held = await revoke(leaf.id, 'CERTIFICATE_HOLD')
    expect([held.status, held.body.certStatus, held.body.revocationReason]).toEqual([
      200,
      'REVOKED',
      'CERTIFICATE_HOLD',
    ])
    const listed = {
      caId,
      what: 'the hold is listed',
      holds: (crl: { entries: ReadonlyMap<string, unknown> }) => crl.entries.has(leaf.serialNumber),
    }
    const first = await crlWhere(service, bench, listed)
    expect(first.entries.get(leaf.serialNumber)).toBe('Certificate Hold')
    expect(await verdictOn(leaf, first.file)).toContain('certificate revoked')
    expect(await verdictOn(untouched, first.file)).toContain(': OK')
    await until(
      'the certificate names the list',
      async () => (await read(leaf.id)).revocationCrlNumber === first.number,
    )

    const released = await revoke(leaf.id, 'REMOVE_FROM_CRL')
    expect(released.body).toMatchObject({ certStatus: 'ACTIVE', revocationReason: null, revocationDate: null })
    const second = await crlWhere(service, bench, {
      caId,
      what: 'it is not listed',
      holds: crl => !crl.entries.has(leaf.serialNumber),
    })
    expect(await verdictOn(leaf, second.file)).toContain(': OK')

    const again = await revoke(leaf.id, 'CERTIFICATE_HOLD')
    const final = await revoke(leaf.id, 'KEY_COMPROMISE')
    expect(final.body).toMatchObject({ revocationReason: 'KEY_COMPROMISE', revocationDate: again.body.revocationDate })
    const third = await crlWhere(service, bench, {
      caId,
      what: 'the reason is listed',
      holds: crl => crl.entries.get(leaf.serialNumber) === 'Key Compromise',
    })
    expect(await verdictOn(leaf, third.file)).toContain('certificate revoked')
    expect(first.number < second.number && second.number < third.number).toBe(true)
    expect((await factsOf(service, leaf.id)).filter(type => type !== 'CERTIFICATE_DOWNLOADED')).toEqual([
      'CERTIFICATE_ISSUED',
      'CERTIFICATE_HELD',
      'CERTIFICATE_RELEASED',
      'CERTIFICATE_HELD',
      'CERTIFICATE_REVOKED',
    ])
    expect(await read(leaf.id)).toMatchObject({ revocationRequestedDate: null, metadata: { version: 5 } })
  })
})

describe('a revocation is refused', () => {
  const answered = async (id: string, reason?: string) => refusalOf(await revoke(id, reason))

  test.each<[string, (id: string) => Promise<unknown>, readonly [reason: string, code: string]]>([
    ['of what is not on hold', async () => {}, ['REMOVE_FROM_CRL', 'INVALID_REVOCATION_REASON']],
    ['twice', id => revoke(id, 'SUPERSEDED'), ['KEY_COMPROMISE', 'ALREADY_REVOKED']],
    ['to hold what is on hold', id => revoke(id, 'CERTIFICATE_HOLD'), ['CERTIFICATE_HOLD', 'ALREADY_REVOKED']],
    [
      'of what has expired',
      id => service.em().nativeUpdate(Certificate, { id }, { validNotAfter: new Date(Date.now() - 1000) }),
      ['UNSPECIFIED', 'INVALID_STATE'],
    ],
    [
      'of what is archived',
      id => service.em().nativeUpdate(Certificate, { id }, { archived: true }),
      ['UNSPECIFIED', 'ENTITY_ARCHIVED'],
    ],
    [
      'of what was revoked in the records without a reason',
      id => service.em().nativeUpdate(Certificate, { id }, { revocationDate: new Date() }),
      ['REMOVE_FROM_CRL', 'ALREADY_REVOKED'],
    ],
  ])('%s', async (_, before, [reason, code]) => {
    const { id } = await issueFor(scene)
    await before(id)
    expect(await answered(id, reason)).toEqual([422, code])
  })

  test('of an unknown id and of a reason that is none', async () => {
    expect(await answered(randomUUID())).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
    const { id } = await issueFor(scene)
    expect(await answered(id, 'BECAUSE')).toEqual([400, 'INVALID_REQUEST'])
    expect((await service.anonymous.post(`/api/v1/certificates/revoke?id=${id}`)).status).toBe(401)
  })

  test('without the right, and with it in another realm only', async () => {
    const { id } = await issueFor(scene)
    const other = await makeScene(service)
    expect(refusalOf(await revoke(id, 'SUPERSEDED', other))).toEqual([403, 'ACCESS_DENIED'])
    const reader = await service.user({ REALM: { [scene.realmId]: ['FULL_READ', 'UPDATE'] } })
    expect(refusalOf(await revoke(id, 'SUPERSEDED', { owner: reader }))).toEqual([403, 'ACCESS_DENIED'])
    expect((await read(id)).certStatus).toBe('ACTIVE')
  })
})

test('a key that was compromised is weak from then on', async () => {
  const key = { keyPairMode: 'PUBLIC_KEY', publicKeyBase64: spkiOf(ecKey()), keyGenParamsDto: undefined }
  const { id, endEntityId } = await issueFor(scene, undefined, key)
  await revoke(id, 'KEY_COMPROMISE')
  const { policyId } = scene
  const again = await scene.owner.post('/api/v1/cert-requests', {
    policyId,
    endEntityId,
    validFor: 'SIX_MONTHS',
    ...key,
  })
  expect(refusalOf(again)).toEqual([422, 'WEAK_KEY'])
})

describe('a batch', () => {
  const batch = (certificateIds: string[], revocationReason?: string) =>
    scene.owner.post('/api/v1/certificates/batch-revoke', { certificateIds, revocationReason })

  test('revokes what it can, lists the rest in its order, and one CRL tells all', async () => {
    const [one, two, gone] = [await issueFor(scene), await issueFor(scene), await issueFor(scene)]
    await revoke(gone.id)
    const theirs = await issueFor(await makeScene(service))
    const unknown = randomUUID()
    const { status, body } = await batch([unknown, one.id, theirs.id, two.id, gone.id, one.id], 'AFFILIATION_CHANGED')
    expect(status).toBe(200)
    expect(body.revokedCertificates.map((answer: { id: string }) => answer.id)).toEqual([one.id, two.id])
    expect(
      body.errors.map(({ index, id, apiError }: { index: number; id: string; apiError: string }) => [
        index,
        id,
        apiError,
      ]),
    ).toEqual([
      [0, unknown, 'CERTIFICATE_NOT_FOUND'],
      [2, theirs.id, 'ACCESS_DENIED'],
      [4, gone.id, 'ALREADY_REVOKED'],
    ])
    await crlWhere(service, bench, {
      caId,
      what: 'both are listed',
      holds: ({ entries }) => [one, two].every(leaf => entries.get(leaf.serialNumber) === 'Affiliation Changed'),
    })
    const numbers = await until('both name a list', async () => {
      const rows = await service.em().find(Certificate, { id: { $in: [one.id, two.id] } })
      const found = rows.map(row => row.revocationCrlNumber)
      return !found.includes(null) && found
    })
    expect(numbers[0]).toBe(numbers[1])
  })

  test('of nothing that can be revoked is still an answer', async () => {
    const { status, body } = await batch([randomUUID()])
    expect([status, body.revokedCertificates, body.errors.length]).toEqual([200, [], 1])
    expect(refusalOf(await batch([]))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('a revocation that was made elsewhere', () => {
  const mark = (certificateIds: string[], members: object = {}) =>
    scene.owner.patch('/api/v1/certificates/mark-as-revoked', { certificateIds, ...members })

  test('is recorded with its date, listed, and an event', async () => {
    const leaf = await issueFor(scene)
    const { validNotBefore } = await read(leaf.id)
    const members = { revocationReason: 'SUPERSEDED', revocationDate: validNotBefore }
    expect((await mark([leaf.id], members)).status).toBe(204)
    expect(await read(leaf.id)).toMatchObject({
      certStatus: 'REVOKED',
      revocationReason: 'SUPERSEDED',
      revocationDate: validNotBefore,
    })
    await crlWhere(service, bench, {
      caId,
      what: 'it is listed',
      holds: ({ entries }) => entries.get(leaf.serialNumber) === 'Superseded',
    })
    expect((await factsOf(service, leaf.id)).at(-1)).toBe('CERTIFICATE_MARKED_AS_REVOKED')
  })

  test('is all or nothing', async () => {
    const [good, gone] = [await issueFor(scene), await issueFor(scene)]
    await revoke(gone.id)
    expect(refusalOf(await mark([good.id, gone.id]))).toEqual([422, 'ALREADY_REVOKED'])
    expect(refusalOf(await mark([good.id, randomUUID()]))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
    const theirs = await issueFor(await makeScene(service))
    expect(refusalOf(await mark([good.id, theirs.id]))).toEqual([403, 'ACCESS_DENIED'])
    expect((await read(good.id)).certStatus).toBe('ACTIVE')
  })

  test.each([
    ['a hold', { revocationReason: 'CERTIFICATE_HOLD' }, 'INVALID_REVOCATION_REASON'],
    ['a release', { revocationReason: 'REMOVE_FROM_CRL' }, 'INVALID_REVOCATION_REASON'],
    ['a date to come', { revocationDate: '2099-01-01T00:00:00Z' }, 'VALIDATION_FAILED'],
    ['a date before it began', { revocationDate: '2001-01-01T00:00:00Z' }, 'VALIDATION_FAILED'],
  ])('is not %s', async (_, members, code) => {
    const { id } = await issueFor(scene)
    expect(refusalOf(await mark([id], members))).toEqual([422, code])
  })
})

describe('the list of a CA', () => {
  test('is signed by it, of the configured validity, and is not kept for long', async () => {
    const ca = await service.em().findOneOrFail(Ca, caId)
    const crl = await fetchCrl(service, bench, caId)
    const pem = (await openssl('x509', '-inform', 'DER', '-in', await bench.file(ca.der))).output
    expect(
      (await openssl('crl', '-in', crl.file, '-noout', '-verify', '-CAfile', await bench.file(pem))).text,
    ).toContain('verify OK')
    const { text } = await openssl('crl', '-in', crl.file, '-noout', '-lastupdate', '-nextupdate')
    const [from = '', to = ''] = [...text.matchAll(/Update=(.*)/g)].map(([, date = '']) => date)
    expect(Date.parse(to) - Date.parse(from)).toBe(168 * 3_600_000)
    const kept = await service.em().findOneOrFail(Crl, { caId }, { orderBy: { number: 'desc' } })
    expect([kept.thisUpdate.getTime(), kept.nextUpdate.getTime()]).toEqual([Date.parse(from), Date.parse(to)])
    expect(crl.headers.get('Content-Type')).toBe('application/pkix-crl')
    expect(crl.headers.get('Cache-Control')).toBe('public, max-age=10, must-revalidate')
    const tag = crl.headers.get('ETag') ?? ''
    const path = `/pki/crl/${caId}.crl`
    const again = await service.anonymous.get(path, { headers: { 'If-None-Match': tag, 'Cache-Control': 'max-age=0' } })
    expect(again.status).toBe(304)
    const head = await fetch(`${service.url}${path}`, { method: 'HEAD' })
    expect([head.status, Number(head.headers.get('Content-Length')), (await head.text()).length]).toEqual([
      200,
      crl.der.length,
      0,
    ])
  })

  test('of a root is there from the beginning, and names nothing', async () => {
    const { issuerCaId } = await service.em().findOneOrFail(Ca, caId)
    expect((await fetchCrl(service, bench, issuerCaId ?? '')).entries.size).toBe(0)
  })

  test('of an unknown CA is 404, and nothing but GET and HEAD is answered', async () => {
    expect(refusalOf(await service.anonymous.get(`/pki/crl/${randomUUID()}.crl`))).toEqual([404, 'CA_NOT_FOUND'])
    expect((await service.anonymous.get('/pki/crl/none.crl')).status).toBe(404)
    expect((await service.anonymous.post(`/pki/crl/${caId}.crl`)).status).toBe(405)
  })

  test('is named in new certificates and downloaded through the interface', async () => {
    const leaf = await issueFor(scene)
    expect((await read(leaf.id)).crlDistributionPoints).toEqual([`http://localhost/pki/crl/${caId}.crl`])
    const { status, body } = await scene.owner.get(`/api/v1/certificates/${leaf.id}/crl`)
    expect([status, body.id, body.issuerDn, body.fileName.endsWith(`_${leaf.serialNumber}.crl`)]).toEqual([
      200,
      leaf.id,
      'CN=Built-in CA Issuing CA',
      true,
    ])
    const crl = await readCrl(bench, Buffer.from(body.crl, 'base64'))
    expect(crl.number).toBeGreaterThan(0)
    await service.em().nativeUpdate(Certificate, { id: leaf.id }, { imported: true, crlDistributionPoints: [] })
    expect(refusalOf(await scene.owner.get(`/api/v1/certificates/${leaf.id}/crl`))).toEqual([422, 'NO_CRL_AVAILABLE'])
  })
})
