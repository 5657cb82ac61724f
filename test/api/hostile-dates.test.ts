// Dates that do not exist, or that the database cannot keep, wherever a caller may write one (contract 1.1, 1.2).
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startExampleInstallation, type ExampleInstallation } from '../support/example-installation.ts'
import { exampleIds } from '../../api/kernel/examples.ts'
import { refusalOf } from '../support/issuing.ts'

let installation: ExampleInstallation
beforeAll(async () => {
  installation = await startExampleInstallation()
})
afterAll(() => installation.stop())

const none = [
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59-23:59',
  '2027-02-29T00:00:00Z',
  '2027-02-31T00:00:00Z',
  '2027-01-01T24:00:00Z',
  '2027-01-01T00:00Z',
  '2027-01-01t00:00:00z',
]
const extremes = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z']

const members = ['validNotBeforeStart', 'validNotBeforeEnd', 'validNotAfterStart', 'validNotAfterEnd']
const search = (resource: string, member: string) => (date: string) =>
  installation.admin.post(`/api/v1/${resource}/search`, { [member]: date })
const filter = (key: string, valueOf: (date: string) => string) => (date: string) =>
  installation.admin.post('/api/v1/certificates/search', { searchFilters: [{ key, value: valueOf(date) }] })
const purge = (until: string) =>
  installation.admin.delete(`/api/v1/admin/archived?entity=MAILING_LIST&until=${encodeURIComponent(until)}`)

const searches = [
  ...['certificates', 'cas'].flatMap(resource =>
    members.map(member => [`${member} of ${resource}`, search(resource, member)] as const),
  ),
  ...['VALID_NOT_BEFORE', 'VALID_NOT_AFTER'].flatMap(
    key =>
      [
        [`the beginning in ${key}`, filter(key, date => `${date}/`)],
        [`the end in ${key}`, filter(key, date => `/${date}`)],
      ] as const,
  ),
]

describe.each(searches)('%s', (_, send) => {
  test.each(none)('%s is refused', async date => {
    expect(refusalOf(await send(date))).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each(extremes)('%s is a date', async date => {
    expect((await send(date)).status).toBe(200)
  })
})

test.each([...none, '0000-01-01', '2027-02-29', '10000-01-01'])('nothing is purged until %s', async date => {
  expect(refusalOf(await purge(date))).toEqual([400, 'INVALID_REQUEST'])
})

test('a purge until the first day is one', async () => {
  expect((await purge('0001-01-01')).status).toBe(204)
})

test.each(none)('no CA takes over on %s', async takeOverDate => {
  const path = `/api/v1/certificate-providers/${exampleIds.CertificateProvider}/rollover`
  const reply = await installation.admin.post(path, { takeOverDate, version: 1 })
  expect(refusalOf(reply)).toEqual([400, 'INVALID_REQUEST'])
  expect(reply.body.fieldErrors).toMatchObject([{ field: 'takeOverDate' }])
})

test.each(none)('no certificate was revoked on %s', async revocationDate => {
  const body = { certificateIds: [exampleIds.Certificate], revocationReason: 'SUPERSEDED', revocationDate }
  const reply = await installation.admin.patch('/api/v1/certificates/mark-as-revoked', body)
  expect(refusalOf(reply)).toEqual([400, 'INVALID_REQUEST'])
  expect(reply.body.fieldErrors).toMatchObject([{ field: 'revocationDate' }])
})
