// Users: searched, found by their RA certificates, and what those are to say.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { User } from '../../storage/rows/user.ts'
import { factsOf, issueNew, refusalOf } from '../support/issuing.ts'
import { usersPath as path } from '../support/people.ts'
import { makeScene, startService, type Service } from '../support/service.ts'

let service: Service
let reader: Awaited<ReturnType<Service['user']>>
const people = new Map<string, string>()

beforeAll(async () => {
  service = await startService()
  reader = await service.user({ GLOBAL: ['USERS_READ', 'USERS_UPDATE'] })
  for (const [firstName, lastName] of [
    ['Grace', 'Hopper'],
    ['Ada', 'Lovelace'],
    ['Adam', 'Hopper'],
    [null, null],
  ]) {
    const { id } = await service.user()
    const email = firstName === null ? null : `${firstName}.${lastName}@example.net`
    await service.em().nativeUpdate(User, id, { firstName, lastName, email })
    people.set(`${firstName}`, id)
  }
}, 120_000)
afterAll(() => service.stop())

const idOf = (name: string): string => people.get(name) ?? ''
const search = async (body: object, query = ''): Promise<string[]> => {
  const reply = await reader.post(`${path}/search${query}`, { userIds: [...people.values()], ...body })
  expect(reply.status).toBe(200)
  return reply.body.content.map(({ id }: { id: string }) => id)
}

describe('a search', () => {
  test.each([
    ['a part of the first name, in any case', 'gRA', ['Grace']],
    ['a part of the last name', 'hopp', ['Adam', 'Grace']],
    ['first and last name', 'Ada Love', ['Ada']],
    ['a part of the address', 'lovelace@EXAMPLE', ['Ada']],
    ['a text of nobody', 'nobody', []],
    ['a sign that means anything elsewhere', '%', []],
  ])('finds by %s', async (_, simpleSearchTerm, names) => {
    expect((await search({ simpleSearchTerm })).sort()).toEqual(names.map(idOf).sort())
  })

  test('finds by the whole id, sorts and pages', async () => {
    expect(await search({ simpleSearchTerm: idOf('Ada') })).toEqual([idOf('Ada')])
    expect(await search({}, '?sort=firstName,asc')).toEqual(['Ada', 'Adam', 'Grace', 'null'].map(idOf))
    expect(await search({}, '?sort=firstName,asc&size=1&page=1')).toEqual([idOf('Adam')])
  })

  test('shows what the identity provider never told as null', async () => {
    const { body } = await reader.get(`${path}/${idOf('null')}`)
    expect(body).toMatchObject({ firstName: null, lastName: null, email: null, enabled: true })
  })

  test('narrows by ids, of which there must be one', async () => {
    expect(await search({ userIds: [idOf('Ada'), randomUUID()] })).toEqual([idOf('Ada')])
    expect(refusalOf(await reader.post(`${path}/search`, { userIds: [] }))).toEqual([400, 'INVALID_REQUEST'])
    const wrong = await reader.post(`${path}/search?sort=password`, {})
    expect(refusalOf(wrong)).toEqual([400, 'INVALID_REQUEST'])
  })

  test('is for who may read users', async () => {
    const nobody = await service.user()
    expect(refusalOf(await nobody.post(`${path}/search`, {}))).toEqual([403, 'ACCESS_DENIED'])
    expect((await service.api.anonymous.post(`${path}/search`, {})).status).toBe(401)
  })
})

describe('an RA certificate', () => {
  const find = (pemCertificate: string) => reader.post(`${path}/certificates/ra-certificate`, { pemCertificate })

  test('finds its user, unless it is revoked or over', async () => {
    const scene = await makeScene(service)
    const { id } = await issueNew(scene)
    const pem = (await scene.owner.get(`/api/v1/certificates/${id}/download`)).body.pemCertificate as string
    expect(refusalOf(await find(pem))).toEqual([404, 'USER_NOT_FOUND'])
    await service.em().nativeUpdate(User, idOf('Ada'), { raCertificateId: id })
    const found = await find(`Some text\n${pem}`)
    expect([found.status, found.body.id, found.body.raCertificateId]).toEqual([200, idOf('Ada'), id])
    expect(await search({ hasRaCertificate: true })).toEqual([idOf('Ada')])
    expect(await search({ hasRaCertificate: false })).toHaveLength(3)
    const past = new Date(Date.now() - 1000)
    const { validNotAfter } = await service.em().findOneOrFail(Certificate, { id })
    await service.em().nativeUpdate(Certificate, { id }, { validNotAfter: past })
    expect(refusalOf(await find(pem))).toEqual([409, 'INVALID_STATE'])
    await service.em().nativeUpdate(Certificate, { id }, { validNotAfter, revocationDate: past })
    expect(refusalOf(await find(pem))).toEqual([409, 'INVALID_STATE'])
    const outsider = await service.user()
    expect((await outsider.post(`${path}/certificates/ra-certificate`, { pemCertificate: pem })).status).toBe(403)
  }, 60_000)

  test('that cannot be read is told as such', async () => {
    expect(refusalOf(await find('no certificate'))).toEqual([422, 'INVALID_CERTIFICATE'])
    expect(refusalOf(await find('x'.repeat(200_001)))).toEqual([400, 'INVALID_REQUEST'])
    expect(refusalOf(await find(' '))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('certificate details', () => {
  const set = (id: string, body: object) => reader.put(`${path}/${id}/set-details`, body)
  const none = { commonName: null, organization: null, organizationalUnit: null, country: null, email: null }

  test('are kept in canonical form, replaced as a whole, and a change of nothing is none', async () => {
    const id = idOf('Grace')
    const pairs = [{ key: 'room', value: 'B 12' }]
    const body = { organization: ' Example ', country: 'de', email: 'grace.hopper@EXAMPLE.net', genericDtoList: pairs }
    const { status, body: answered } = await set(id, body)
    expect(status).toBe(200)
    const wanted = { ...none, organization: 'Example', country: 'DE', email: 'Grace.Hopper@example.net' }
    expect(answered.userCertificateDetails).toEqual({ ...wanted, genericDtoList: pairs })
    const { version } = answered.metadata
    expect((await set(id, body)).body.metadata.version).toBe(version)
    const other = await set(id, { commonName: 'G. Hopper' })
    expect(other.body.userCertificateDetails).toEqual({ ...none, commonName: 'G. Hopper', genericDtoList: [] })
    expect((await set(id, {})).body.userCertificateDetails).toBeNull()
    expect(await factsOf(service, id)).toEqual(['ENTITY_UPDATED', 'ENTITY_UPDATED', 'ENTITY_UPDATED'])
  })

  test.each([
    ["another's address", { email: 'ada.lovelace@example.net' }],
    ['no address', { email: 'nobody' }],
    ['no country', { country: 'Germany' }],
    ['a name of 65 characters', { commonName: 'x'.repeat(65) }],
    ['a key twice', { genericDtoList: [1, 2].map(() => ({ key: 'a', value: 'b' })) }],
  ])('with %s are refused', async (_, body) => {
    expect(refusalOf(await set(idOf('Grace'), body))).toEqual([400, 'VALIDATION_FAILED'])
  })

  test('of an unknown user or without a right are refused', async () => {
    expect(refusalOf(await set(randomUUID(), {}))).toEqual([404, 'USER_NOT_FOUND'])
    const nobody = await service.user()
    expect((await nobody.put(`${path}/${nobody.id}/set-details`, {})).status).toBe(403)
  })
})
