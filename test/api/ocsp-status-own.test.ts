// The status of our own certificates: our responder is where our settings say, which may be an address that nothing else may
// send us to.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parseNetworks } from '../../activities/outside/addresses.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { issueNew, setSetting } from '../support/issuing.ts'
import { makeScene, startService, type Service } from '../support/service.ts'

let service: Service
let caId = ''

beforeAll(async () => {
  service = await startService({ services: { privateNetworks: parseNetworks('') } })
  caId = (await service.builtInCa()).issuingCaId ?? ''
  await setSetting(service, 'pki.base-url', `${service.url}/pki`)
})
afterAll(() => service.stop())

const ask = async (own: (id: string) => Promise<unknown> = async () => undefined) => {
  const scene = await makeScene(service)
  const { id } = await issueNew(scene)
  await own(id)
  return scene.owner.get(`/api/v1/certificates/${id}/ocsp-status`)
}
const change = (members: object) => (id: string) => service.em().nativeUpdate(Certificate, { id }, members)

test('our responder is asked at a private address', async () => {
  const responderUrl = `${service.url}/pki/ocsp/${caId}`
  expect(await ask()).toMatchObject({ status: 200, body: { status: 'GOOD', responderUrl } })
})

test('and tells a hold at once', async () => {
  const hold = change({ revocationDate: new Date(), revocationReason: 'CERTIFICATE_HOLD' })
  expect((await ask(hold)).body).toMatchObject({ status: 'REVOKED', revocationReason: 'CERTIFICATE_HOLD' })
})

test.each([
  ['another path of it', (url: string) => ({ ocspUrls: [`${url}/pki/ocsp/other`] })],
  ['a path that leads elsewhere', (url: string) => ({ ocspUrls: [`${url}/pki/ocsp/${caId}/../../x`] })],
  ['its link in a certificate of others', () => ({ imported: true })],
])('but not %s', async (_, members) => {
  const { status, body } = await ask(change(members(service.url)))
  expect({ status, message: body.errorMessage }).toEqual({
    status: 422,
    message: expect.stringMatching(/has an address that may not be asked\.$/),
  })
})
