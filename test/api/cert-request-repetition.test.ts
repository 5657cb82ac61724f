// Certificate requests made only once under a key of the caller's, and found by his own name for them (contract 6.4).
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let other: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  other = await makeScene(service)
})
afterAll(() => service.stop())

const path = '/api/v1/cert-requests'
const bodyOf = ({ policyId, endEntityId }: Scene, members: object = {}) => ({
  policyId,
  endEntityId,
  validFor: 'SIX_MONTHS',
  keyPairMode: 'SERVER_GEN',
  keyGenParamsDto: { cryptoAlgorithm: 'EC' },
  ...members,
})
const countOf = (idempotencyKey: string): Promise<number> => service.em().count(CertRequest, { idempotencyKey })

test('the same call again answers the request as it is now, and makes no second one', async () => {
  const body = bodyOf(scene, { idempotencyKey: 'again', reference: 'device-7' })
  const first = await scene.owner.post(path, body)
  expect(first.body).toMatchObject({ reference: 'device-7', certRequestStatus: 'APPROVED' })
  expect((await scene.owner.post(`/api/v1/certificates/cert-requests/${first.body.id}`, {})).status).toBe(201)
  const again = await scene.owner.post(path, body)
  expect(again.status).toBe(201)
  expect(again.body).toMatchObject({ id: first.body.id, certRequestStatus: 'ISSUED' })
  expect(await countOf('again')).toBe(1)
})

test('twenty calls at the same moment make one request', async () => {
  const body = bodyOf(scene, { idempotencyKey: 'at once' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => scene.owner.post(path, body)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  expect(new Set(answers.map(answer => answer.body.id)).size).toBe(1)
  expect(await countOf('at once')).toBe(1)
})

test('a key that was used for something else is refused, and nothing is made', async () => {
  await scene.owner.post(path, bodyOf(scene, { idempotencyKey: 'mine' }))
  const changed = { idempotencyKey: 'mine', validFor: 'THREE_MONTHS' }
  expect(refusalOf(await scene.owner.post(path, bodyOf(scene, changed)))).toEqual([422, 'VALIDATION_FAILED'])
  expect(await countOf('mine')).toBe(1)
})

const ec = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP384R1' }
test.each<[string, object]>([
  ['another algorithm', { keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 3072 } }],
  ['another curve', { keyGenParamsDto: { ...ec, ecNamedCurve: 'SECP256R1' } }],
  ['no curve', { keyGenParamsDto: { cryptoAlgorithm: 'EC' } }],
  ['another reference', { reference: 'device-8' }],
  ['no reference', { reference: null }],
])('a key that was used with %s is refused', async (what, members) => {
  const idempotencyKey = `with ${what}`
  const asked = { idempotencyKey, reference: 'device-7', keyGenParamsDto: ec }
  const first = await scene.owner.post(path, bodyOf(scene, asked))
  expect(first.status).toBe(201)
  const changed = await scene.owner.post(path, bodyOf(scene, { ...asked, ...members }))
  expect(refusalOf(changed)).toEqual([422, 'VALIDATION_FAILED'])
  const reordered = { ecNamedCurve: 'SECP384R1', keySize: null, cryptoAlgorithm: 'EC' }
  const again = await scene.owner.post(path, bodyOf(scene, { ...asked, keyGenParamsDto: reordered }))
  expect([again.status, again.body.id]).toEqual([201, first.body.id])
})

test('the keys of principals are their own', async () => {
  const idempotencyKey = 'of each'
  const mine = await scene.owner.post(path, bodyOf(scene, { idempotencyKey }))
  const theirs = await other.owner.post(path, bodyOf(other, { idempotencyKey }))
  expect([mine.status, theirs.status]).toEqual([201, 201])
  expect(mine.body.id).not.toBe(theirs.body.id)
})

test('a PKCS#10 request is recognised without the challenge password that is not kept', async () => {
  const keyGenParamsDto = { cryptoAlgorithm: 'EC' }
  const made = await scene.owner.post('/api/v1/pkcs10', {
    subject: { commonName: 'web' },
    keyGenParamsDto,
    challengePassword: 'once only',
  })
  const { pkcs10ReqBase64 } = made.body
  const endEntityId = await scene.newEndEntity('web')
  const asked = { endEntityId, keyPairMode: 'PKCS10', keyGenParamsDto: null }
  const body = bodyOf(scene, { ...asked, pkcs10ReqBase64, idempotencyKey: 'pkcs10' })
  const [first, again] = [await scene.owner.post(path, body), await scene.owner.post(path, body)]
  expect([first.status, again.status]).toEqual([201, 201])
  expect(again.body.id).toBe(first.body.id)
})

test('requests are found by their reference, newest first, by those alone who may read them', async () => {
  const reference = 'transaction 4711'
  const made = await scene.owner.post(path, bodyOf(scene, { reference }))
  const later = await scene.owner.post(path, bodyOf(scene, { reference }))
  await scene.owner.post(path, bodyOf(scene, { reference: 'transaction 4711 b' }))
  const search = { realmId: scene.realmId, reference }
  const found = await scene.owner.post(`${path}/search`, search)
  expect(found.body.content.map((one: { id: string }) => one.id)).toEqual([later.body.id, made.body.id])
})

test.each([['reference'], ['idempotencyKey']])('a %s of more than 128 characters is refused', async member => {
  const answer = await scene.owner.post(path, bodyOf(scene, { [member]: 'x'.repeat(129) }))
  expect(refusalOf(answer)).toEqual([400, 'INVALID_REQUEST'])
})
