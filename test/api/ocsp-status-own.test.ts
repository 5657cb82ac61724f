// The status of our own certificates: our responder is where our settings say, which may be an address that nothing else may
// send us to.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { answered } from '../../authority/links.ts'
import { parseNetworks } from '../../activities/outside/addresses.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { answeredByOurs } from '../support/example-responder.ts'
import { issueNew, setSetting } from '../support/issuing.ts'
import { startResponder } from '../support/ocsp-responder.ts'
import { makeScene, startService, type Service } from '../support/service.ts'

let service: Service
let responder: Awaited<ReturnType<typeof startResponder>>
let caId = ''

beforeAll(async () => {
  service = await startService({ services: { privateNetworks: parseNetworks('') } })
  caId = (await service.builtInCa()).issuingCaId ?? ''
  responder = await startResponder(async (body, response) => response.end(await answeredByOurs(service, caId, body)))
  await setSetting(service, 'pki.base-url', new URL('/pki', responder.url).href)
  // Certificates carry the link once it is answered.
  ;(answered as { ocsp: boolean }).ocsp = true
})
afterAll(async () => {
  await responder.stop()
  await service.stop()
})

const ask = async (own: (id: string) => Promise<unknown> = async () => undefined) => {
  const scene = await makeScene(service)
  const { id } = await issueNew(scene)
  await own(id)
  return scene.owner.get(`/api/v1/certificates/${id}/ocsp-status`)
}
const change = (members: object) => (id: string) => service.em().nativeUpdate(Certificate, { id }, members)

test('our responder is asked at a private address', async () => {
  const responderUrl = new URL(`/pki/ocsp/${caId}`, responder.url).href
  expect(await ask()).toMatchObject({ status: 200, body: { status: 'GOOD', responderUrl } })
})

test.each([
  ['another path of it', (url: string) => ({ ocspUrls: [new URL('/pki/ocsp/other', url).href] })],
  ['a path that leads elsewhere', (url: string) => ({ ocspUrls: [`${new URL(url).origin}/pki/ocsp/${caId}/../../x`] })],
  ['its link in a certificate of others', () => ({ imported: true })],
])('but not %s', async (_, members) => {
  const before = responder.requests.length
  const { status, body } = await ask(change(members(responder.url)))
  expect({ status, message: body.errorMessage }).toEqual({
    status: 422,
    message: expect.stringMatching(/has an address that may not be asked\.$/),
  })
  expect(responder.requests).toHaveLength(before)
})
