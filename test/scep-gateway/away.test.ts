// The service is away: before a request was started the device comes again later, afterwards it waits and gets what it was
// promised, once; ../shared/reference/scep.md section 7.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { KeyPair } from '../../pki/keys/key-pair.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { closing } from '../support/closing.ts'
import {
  certificatesIn,
  connect,
  newDevice,
  pollContent,
  postMessage,
  rsaKeys,
  untilDone,
} from '../support/scep-device.ts'
import { startGateway, type TestGateway } from '../support/scep-gateway.ts'
import { startServiceProxy, type ServiceProxy } from '../support/scep-service-proxy.ts'
import { enrolment, knownIn, newName, startScep, type ScepSetting } from '../support/scep-setting.ts'

const kept = closing(afterAll)
let setting: ScepSetting
let proxy: ServiceProxy
let gateway: TestGateway
let keys: KeyPair

beforeAll(async () => {
  setting = kept(await startScep())
  proxy = kept(await startServiceProxy(setting.service.url))
  gateway = kept(await startGateway(setting.service, setting.scene, { baseUrl: proxy.url }))
  keys = await rsaKeys()
})
beforeEach(() => void proxy.calls.splice(0))
afterEach(() => proxy.heal())

/** A device that has written its request, and how it polls. */
const asking = async () => {
  const name = newName()
  const { endEntityId, challenge } = await knownIn(setting.scene, name)
  const connection = await connect(gateway.scepUrl, await newDevice(name, keys))
  const request = await connection.write(await enrolment(name, keys, { challenge }))
  const content = pollContent(connection.signers[1] as Buffer, name)
  const poll = () => connection.ask({ messageType: 'CertPoll', transactionId: request.transactionId, content })
  const made = async () => [
    await setting.service.em().count(CertRequest, { endEntityId }),
    await setting.service.em().count(Certificate, { endEntityId }),
  ]
  return { request, poll, made, send: () => connection.send(request) }
}

const later = async (der: Buffer) => {
  const response = await postMessage(gateway.scepUrl, der)
  const { headers, status } = response
  return [status, headers.get('content-type'), Number(headers.get('retry-after')), await response.text()]
}
const comeAgain = [503, 'text/plain; charset=utf-8', 30, 'The service cannot be reached now: ask again later.\n']

const create = 'POST /api/v1/cert-requests'
const issue = 'POST /api/v1/certificates/cert-requests/'
const sign = 'POST /api/v1/scep/sign'

describe('scep case 40: the service is away before the request is started', () => {
  test.each([
    ['altogether', ''],
    ['when the message is to be decrypted', 'POST /api/v1/scep/decrypt'],
    ['when the password is to be judged', 'POST /api/v1/end-entity-passwords/authenticate'],
    ['when the request is to be made', create],
  ])('%s: 503 with Retry-After, nothing is made, and the same message is answered later', async (_, call) => {
    const { request, made, send } = await asking()
    proxy.setAway(one => one.startsWith(call))
    expect(await later(request.der)).toEqual(comeAgain)
    expect(await made()).toEqual([0, 0])
    proxy.heal()
    expect((await send()).status).toBe('SUCCESS')
    expect(await made()).toEqual([1, 1])
  })
})

describe('scep case 40: the service is away after the request was started', () => {
  test.each([
    ['before the issue is asked for', () => proxy.setAway(call => call.startsWith(issue))],
    ['before it has answered that it issued', () => proxy.setLost(call => call.startsWith(issue))],
  ])('%s: PENDING, and the next poll gets the certificate, the only one', async (_, trouble) => {
    const { request, poll, made, send } = await asking()
    trouble()
    expect((await send()).status).toBe('PENDING')
    expect((await made())[0]).toBe(1)
    proxy.heal()
    const [leaf] = certificatesIn(await untilDone(poll))
    expect(certificatesIn(await send())[0]).toEqual(leaf)
    expect(certificatesIn(await poll())[0]).toEqual(leaf)
    expect(await made()).toEqual([1, 1])
    expect(gateway.logged()).toContain(`"transactionId":"${request.transactionId}"`)
  })

  test.each([
    ['before it has told that the request is made', () => proxy.setLost(call => call === create)],
    ['before the reply is signed', () => proxy.setAway(call => call === sign)],
    ['before it has told the signature', () => proxy.setLost(call => call === sign)],
  ])('%s: 503 with Retry-After, and the same message gets the only certificate', async (_, trouble) => {
    const { request, poll, made, send } = await asking()
    trouble()
    expect(await later(request.der)).toEqual(comeAgain)
    expect((await made())[0]).toBe(1)
    proxy.heal()
    const [leaf] = certificatesIn(await untilDone(send))
    expect(certificatesIn(await poll())[0]).toEqual(leaf)
    expect(await made()).toEqual([1, 1])
  })

  test('without a worker that answers in time: PENDING, and the certificate that was made meanwhile', async () => {
    const { poll, made, send } = await asking()
    proxy.hold(call => call.startsWith(issue))
    expect((await send()).status).toBe('PENDING')
    proxy.release()
    expect(certificatesIn(await untilDone(poll))).toHaveLength(3)
    expect(await made()).toEqual([1, 1])
  })
})
