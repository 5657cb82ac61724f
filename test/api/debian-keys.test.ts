// Keys of Debian's OpenSSL (CVE-2008-0166) at the door and at issue (contract 5.4 step 6).
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeDebianKey, type Kind } from '../../scripts/debian-keys/keys.ts'
import type { Process } from '../../scripts/debian-keys/random.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Workbench } from '../pki/openssl.ts'
import { pkcs10, refusalOf, spkiOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

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

const made: Process = { machine: 'le64', seedFile: 'nornd', pid: 2008 }
const keyOf = (kind: Kind, pid = made.pid) => makeDebianKey(kind, { ...made, pid }).privateKey()

const ask = (members: object) =>
  scene.owner.post('/api/v1/cert-requests', {
    policyId: scene.policyId,
    endEntityId: scene.endEntityId,
    validFor: 'SIX_MONTHS',
    keyGenParamsDto: null,
    ...members,
  })

const withPkcs10 = async (kind: Kind, pid?: number) =>
  ask({ keyPairMode: 'PKCS10', pkcs10ReqBase64: await pkcs10(bench, keyOf(kind, pid)) })

test.each<Kind>(['RSA-2048', 'P-256'])(
  'a PKCS#10 request that openssl signs with a %s key of Debian is refused',
  async kind => {
    expect(refusalOf(await withPkcs10(kind))).toEqual([422, 'WEAK_KEY'])
  },
)

test('a bare key of Debian is refused', async () => {
  const publicKeyBase64 = spkiOf(keyOf('P-384'))
  expect(refusalOf(await ask({ keyPairMode: 'PUBLIC_KEY', publicKeyBase64 }))).toEqual([422, 'WEAK_KEY'])
})

test.each<Kind>(['RSA-2048', 'P-256'])('a %s key like it that no process of Debian made is accepted', async kind => {
  expect((await withPkcs10(kind, 32_768)).status).toBe(201)
})

test('a request from before the list is refused at issue', async () => {
  const publicKeyBase64 = spkiOf(keyOf('P-256', 32_768))
  const { body } = await ask({ keyPairMode: 'PUBLIC_KEY', publicKeyBase64 })
  const publicKey = Buffer.from(spkiOf(keyOf('P-256')), 'base64')
  await service.em().nativeUpdate(CertRequest, { id: body.id }, { publicKey })
  const reply = await scene.owner.post(`/api/v1/certificates/cert-requests/${body.id}`)
  expect(refusalOf(reply)).toEqual([422, 'WEAK_KEY'])
})
