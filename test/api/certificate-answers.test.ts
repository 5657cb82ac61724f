// The answer of a certificate: its row with all getters, and the status of the moment.
import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { certificateAnswer, certificatePage } from '../../api/resources/certificates/answers.ts'
import { pageOf } from '../../domain/search.ts'
import { Certificate } from '../../storage/rows/certificate.ts'

const noon = new Date('2026-05-01T12:00:00.000Z')
const after = (ms: number): Date => new Date(noon.getTime() + ms)

const certificate = (members: Partial<Certificate> = {}): Certificate =>
  Object.assign(Object.create(Certificate.prototype) as Certificate, {
    validNotAfter: noon,
    archived: false,
    ...members,
  })

const parts = z.object({
  validNotAfter: z.date(),
  certStatus: z.string(),
  hasPrivateKey: z.boolean(),
  archiveInfo: z.object({ archived: z.boolean() }),
})

test.each([
  ['ACTIVE on its last millisecond', {}, 0],
  ['EXPIRED a millisecond later', {}, 1],
  ['REVOKED once it is revoked', { revocationDate: noon }, 0],
  ['REVOKED also when its time is over', { revocationDate: noon }, 1],
])('a certificate is %s', (fact, members, ms) => {
  expect(certificateAnswer(certificate(members), after(ms)).certStatus).toBe(fact.split(' ')[0])
})

test('the answer has the columns and the getters of the row', () => {
  expect(z.encode(parts, certificateAnswer(certificate({ privateKeyId: 'key' }), noon))).toEqual({
    validNotAfter: noon,
    certStatus: 'ACTIVE',
    hasPrivateKey: true,
    archiveInfo: { archived: false },
  })
})

test('all certificates of a page are answered for one moment', () => {
  const page = pageOf([certificate(), certificate({ validNotAfter: after(9) })], 7, { page: 0, size: 2, sort: [] })
  const answer = certificatePage(page, after(1))
  expect(answer).toMatchObject({ totalElements: 7, size: 2 })
  expect(answer.content.map(({ certStatus }) => certStatus)).toEqual(['EXPIRED', 'ACTIVE'])
})
