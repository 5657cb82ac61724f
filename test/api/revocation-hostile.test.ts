// What is refused of the operations of revocation, input by input: nothing of it is a 500, and nothing of it revokes.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Revocation } from '../../storage/rows/revocation.ts'
import { Workbench } from '../pki/openssl.ts'
import type { Reply } from '../support/api.ts'
import { importPem, prepareImports } from '../support/importing.ts'
import { factsOf, issueFor, refusalOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
/** Certificates by what is odd about them; `calm` may be revoked, and nobody succeeds in it here. */
let ids: Record<'calm' | 'theirs' | 'imported' | 'revoked' | 'archived' | 'expired' | 'unknown', string>

const one = '/api/v1/certificates/revoke'
const revokeBatch = (body: unknown): Promise<Reply> => scene.owner.post('/api/v1/certificates/batch-revoke', body)
const mark = (body: unknown): Promise<Reply> => scene.owner.patch('/api/v1/certificates/mark-as-revoked', body)
const update = (id: string, members: object) => service.em().nativeUpdate(Certificate, { id }, members)
const newId = async (at: Scene): Promise<string> => (await issueFor(at)).id

beforeAll(async () => {
  service = await startService()
  const { leaf, scene: importing } = await prepareImports(service, bench)
  scene = importing
  const { body } = await importPem(scene, (await leaf()).pem)
  ids = {
    calm: await newId(scene),
    theirs: await newId(await makeScene(service)),
    imported: body.importedCertificates[0].id,
    revoked: await newId(scene),
    archived: await newId(scene),
    expired: await newId(scene),
    unknown: randomUUID(),
  }
  expect((await scene.owner.post(`${one}?id=${ids.revoked}`)).status).toBe(200)
  await update(ids.archived, { archived: true })
  await update(ids.expired, { validNotAfter: new Date(Date.now() - 1000) })
  await service.em().nativeDelete(Revocation, {})
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})
afterEach(async () => {
  const { body } = await scene.owner.get(`/api/v1/certificates/${ids.calm}`)
  expect([body.certStatus, body.revocationRequestedDate, body.metadata.version]).toEqual(['ACTIVE', null, 1])
  expect(await service.em().count(Revocation)).toBe(0)
  const facts = await Promise.all(Object.values(ids).map(id => factsOf(service, id)))
  expect(facts.flat().filter(type => /REVOKED|HELD|RELEASED/.test(type))).toEqual(['CERTIFICATE_REVOKED'])
})

const invalid = [400, 'INVALID_REQUEST'] as const
const noId = [400, 'INVALID_IDENTIFIER'] as const
const tooLarge = [400, 'REQUEST_TOO_LARGE'] as const
const long = 'x'.repeat(1_000_000)
/** So many ids that nobody has, and the one that may be revoked. */
const many = (count: number): string[] => [ids.calm, ...Array.from({ length: count - 1 }, () => randomUUID())]

type Refusal = readonly [status: number, code: string]
type Odd = keyof typeof ids

/** What each operation makes of a certificate that it cannot revoke. */
const states: readonly (readonly [Odd, Refusal])[] = [
  ['unknown', [404, 'CERTIFICATE_NOT_FOUND']],
  ['theirs', [403, 'ACCESS_DENIED']],
  ['imported', [422, 'NOT_SUPPORTED_BY_PROVIDER']],
  ['revoked', [422, 'ALREADY_REVOKED']],
  ['archived', [422, 'ENTITY_ARCHIVED']],
  ['expired', [422, 'INVALID_STATE']],
]

test('an import that has expired is told so first, as every other one', async () => {
  const row = await service.em().findOneOrFail(Certificate, ids.imported)
  await update(ids.imported, { validNotAfter: new Date(Date.now() - 1000) })
  expect(refusalOf(await scene.owner.post(`${one}?id=${ids.imported}`))).toEqual([422, 'INVALID_STATE'])
  await update(ids.imported, { validNotAfter: row.validNotAfter })
})

const reasons: readonly (readonly [string, unknown])[] = [
  ['unknown', 'BECAUSE'],
  ['in lower case', 'superseded'],
  ['with a space', 'SUPERSEDED '],
  ['with a NUL', 'SUPERSEDED\u0000'],
  ['a member of every object', 'constructor'],
  ['of a megabyte', long],
  ['a number', 4],
  ['a list', ['SUPERSEDED']],
  ['an object', { reason: 'SUPERSEDED' }],
]

const lists: readonly (readonly [string, () => unknown, Refusal])[] = [
  ['absent', () => undefined, invalid],
  ['null', () => null, invalid],
  ['empty', () => [], invalid],
  ['a text', () => ids.calm, invalid],
  ['an object of ids', () => ({ 0: ids.calm, length: 1 }), invalid],
  ['with a number', () => [ids.calm, 1], invalid],
  ['with null', () => [ids.calm, null], invalid],
  ['with a list', () => [[ids.calm]], invalid],
  ['with an object', () => [{ id: ids.calm }], invalid],
  ['with a text that is no id', () => [ids.calm, `${ids.calm}' or '1'='1`], noId],
  ['with an id and a NUL', () => [`${ids.calm}\u0000`], invalid],
  ['with an id and a line end', () => [`${ids.calm}\n`], noId],
  ['with an id in braces', () => [`{${ids.calm}}`], noId],
  ['with a text of a megabyte', () => [ids.calm, long], noId],
  ['of 10,001 ids', () => many(10_001), tooLarge],
  ['of 200,000 empty texts', () => Array.from({ length: 200_000 }, () => ''), tooLarge],
]

describe('revokeCertificate', () => {
  const call = (query: string, body?: unknown): Promise<Reply> => scene.owner.post(`${one}?${query}`, body)

  test.each(states)('refuses what is %s', async (odd, refusal) => {
    expect(refusalOf(await call(`id=${ids[odd]}`))).toEqual(refusal)
  })

  test.each<[string, () => string, Refusal]>([
    ['no id', () => '', invalid],
    ['an empty id', () => 'id=', noId],
    ['an id that is none', () => 'id=1', noId],
    ['two ids', () => `id=${ids.calm}&id=${ids.theirs}`, invalid],
    ['an id twice', () => `id=${ids.calm}&id=${ids.calm}`, invalid],
    ['a list of ids', () => `id=${ids.calm},${ids.theirs}`, noId],
    ['an id and a NUL', () => `id=${ids.calm}%00`, invalid],
    ['an id and SQL', () => `id=${ids.calm}'%20or%20'1'='1`, noId],
    ['an id of 10,000 letters', () => `id=${'a'.repeat(10_000)}`, noId],
    ['an empty reason', () => `id=${ids.calm}&revocationReason=`, invalid],
    ['two reasons', () => `id=${ids.calm}&revocationReason=SUPERSEDED&revocationReason=KEY_COMPROMISE`, invalid],
  ])('refuses %s', async (_, query, refusal) => {
    expect(refusalOf(await call(query()))).toEqual(refusal)
  })

  test.each(reasons.filter(([, reason]) => typeof reason === 'string' && reason.length < 1000))(
    'refuses a reason that is %s',
    async (_, reason) => {
      const query = new URLSearchParams({ id: ids.calm, revocationReason: reason as string })
      expect(refusalOf(await call(query.toString()))).toEqual(invalid)
    },
  )

  test('takes no id from a body', async () => {
    expect(refusalOf(await call('', { id: ids.calm }))).toEqual(invalid)
  })
})

describe('revokeMultipleCertificates', () => {
  test.each(lists)('refuses a list that is %s', async (_, list, refusal) => {
    expect(refusalOf(await revokeBatch({ certificateIds: list() }))).toEqual(refusal)
  })

  test.each(reasons)('refuses a reason that is %s', async (_, revocationReason) => {
    expect(refusalOf(await revokeBatch({ certificateIds: [ids.calm], revocationReason }))).toEqual(invalid)
  })

  test('lists each odd certificate with its code, once, however often and in whichever case it is named', async () => {
    const named = states.map(([odd]) => ids[odd])
    const upper = named.map(id => id.toUpperCase())
    const { status, body } = await revokeBatch({ certificateIds: [...named, ...upper, ...named] })
    const told = body.errors.map(({ index, id, apiError }: Record<string, unknown>) => [index, id, apiError])
    expect([status, body.revokedCertificates]).toEqual([200, []])
    expect(told).toEqual(states.map(([odd, [, code]], index) => [index, ids[odd], code]))
  })

  test('answers 10,000 ids that nobody has, each with its error', async () => {
    const unknown = Array.from({ length: 10_000 }, () => randomUUID())
    const { status, body } = await revokeBatch({ certificateIds: unknown })
    expect([status, body.errors.length]).toEqual([200, 10_000])
    expect(new Set(body.errors.map(({ id }: { id: string }) => id))).toEqual(new Set(unknown))
  })

  test.each([
    ['a text', '"x"'],
    ['a list', '[]'],
    ['a number', '1'],
    ['nothing', ''],
    ['cut off', '{"certificateIds":'],
    ['a list twice', '{"certificateIds":[],"certificateIds":[]}'],
  ])('refuses a body that is %s', async (_, raw) => {
    const reply = await scene.owner.post('/api/v1/certificates/batch-revoke', undefined, { raw })
    expect(refusalOf(reply)).toEqual([400, 'INVALID_JSON'])
  })
})

describe('markCertificatesAsRevoked', () => {
  test.each(states.filter(([odd]) => odd !== 'imported'))('refuses all where one is %s', async (odd, refusal) => {
    expect(refusalOf(await mark({ certificateIds: [ids.calm, ids[odd]] }))).toEqual(refusal)
  })

  test.each(lists)('refuses a list that is %s', async (_, list, refusal) => {
    expect(refusalOf(await mark({ certificateIds: list() }))).toEqual(refusal)
  })

  test.each(reasons)('refuses a reason that is %s', async (_, revocationReason) => {
    expect(refusalOf(await mark({ certificateIds: [ids.calm], revocationReason }))).toEqual(invalid)
  })

  test.each<[string, unknown, Refusal]>([
    ['to come', new Date(Date.now() + 60_000).toISOString(), [422, 'VALIDATION_FAILED']],
    ['in the last year that there is', '9999-12-31T23:59:59Z', [422, 'VALIDATION_FAILED']],
    ['in the year 1', '0001-01-01T00:00:00Z', [422, 'VALIDATION_FAILED']],
    ['in the year 0', '0000-01-01T00:00:00Z', invalid],
    ['to come by its offset', `${new Date().toISOString().slice(0, 19)}-12:00`, [422, 'VALIDATION_FAILED']],
    ['without a time', '2026-01-01', invalid],
    ['without a zone', '2026-01-01T00:00:00', invalid],
    ['of a day that there is not', '2026-02-30T00:00:00Z', invalid],
    ['of an offset that there is not', '2026-01-01T00:00:00+99:99', invalid],
    ['of six digits', '+275760-09-13T00:00:00Z', invalid],
    ['a word', 'yesterday', invalid],
    ['a number', 1_700_000_000, invalid],
    ['a list', ['2026-01-01T00:00:00Z'], invalid],
    ['of a megabyte', long, invalid],
  ])('refuses a date that is %s', async (_, revocationDate, refusal) => {
    expect(refusalOf(await mark({ certificateIds: [ids.calm], revocationDate }))).toEqual(refusal)
  })

  test('refuses 10,000 ids of which only one is there', async () => {
    expect(refusalOf(await mark({ certificateIds: many(10_000) }))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
  })
})

describe('downloadCrl', () => {
  const crl = (id: string): Promise<Reply> => scene.owner.get(`/api/v1/certificates/${id}/crl`)

  test.each<[Odd, Refusal]>([
    ['unknown', [404, 'CERTIFICATE_NOT_FOUND']],
    ['theirs', [403, 'ACCESS_DENIED']],
    ['imported', [422, 'NO_CRL_AVAILABLE']],
  ])('refuses what is %s', async (odd, refusal) => {
    expect(refusalOf(await crl(ids[odd]))).toEqual(refusal)
  })

  test.each<Odd>(['revoked', 'archived', 'expired'])('answers for what is %s', async odd => {
    expect((await crl(ids[odd])).body.id).toBe(ids[odd])
  })

  test.each<[string, string, Refusal]>([
    ['no id', '1', noId],
    ['an id and more', `${randomUUID()}x`, noId],
    ['a NUL', '%00', invalid],
    ['a percent sign', '%25', noId],
    ['a way out', '..%2f..%2fetc%2fpasswd', noId],
    ['10,000 letters', 'a'.repeat(10_000), noId],
  ])('refuses %s', async (_, id, refusal) => {
    expect(refusalOf(await crl(id))).toEqual(refusal)
  })
})

test('an empty reason and an empty date in a body are absent ones (contract 1.1)', async () => {
  const [held, marked] = [await newId(scene), await newId(scene)]
  const { body } = await revokeBatch({ certificateIds: [held], revocationReason: '' })
  expect(body.revokedCertificates).toMatchObject([{ id: held, revocationReason: 'UNSPECIFIED' }])
  await service.em().nativeDelete(Revocation, {})
  const began = Date.now()
  expect((await mark({ certificateIds: [marked], revocationReason: ' ', revocationDate: '' })).status).toBe(204)
  const { revocationReason, revocationDate } = (await scene.owner.get(`/api/v1/certificates/${marked}`)).body
  expect([revocationReason, Date.parse(revocationDate) >= began]).toEqual(['UNSPECIFIED', true])
})
