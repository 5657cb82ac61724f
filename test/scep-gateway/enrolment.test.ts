// Enrolment over SCEP: who may, what is issued, what is refused; with the numbers of ../shared/reference/scep.md section 7.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { createPkcs10 } from '../../pki/pkcs10.ts'
import { generateKeyPair, type KeyPair } from '../../pki/keys/key-pair.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { OrderItem } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { closing } from '../support/closing.ts'
import { until } from '../support/issuing.ts'
import { detailsOf, startService, type Scene, type Service } from '../support/service.ts'
import { certificatesIn, connect, csrOf, newDevice, pollContent, rsaKeys, untilDone } from '../support/scep-device.ts'
import type { Connection, Device, Draft } from '../support/scep-device.ts'
import { makeScepScene, startGateway, type TestGateway } from '../support/scep-gateway.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let service: Service
let scene: Scene
let gateway: TestGateway
let keys: KeyPair

beforeAll(async () => {
  service = kept(await startService())
  scene = await makeScepScene(service)
  gateway = kept(await startGateway(service, scene))
  keys = await rsaKeys()
})

const nameOf = () => `device-${randomUUID().slice(0, 8)}.example.org`

/** An end entity with a password, and the challenge that is made of them. */
const known = async (name: string, of: Scene = scene, subject: object = {}) => {
  const endEntityId = await of.newEndEntity({ commonName: name, ...subject })
  const body = { endEntityId, policyId: of.policyId }
  const made = await of.owner.post('/api/v1/end-entity-passwords', body)
  expect(made.status).toBe(201)
  const password = made.body.password as string
  return { endEntityId, password, challenge: `${endEntityId}:${password}` }
}
const device = (name = nameOf()): Promise<Device> => newDevice(name, keys)
const pkcsReq = async (name: string, of: KeyPair, challengePassword?: string): Promise<Draft> => ({
  messageType: 'PKCSReq',
  content: await csrOf(name, of, { challengePassword }),
})
const enrol = async (connection: Connection, name: string, challenge?: string) =>
  connection.ask(await pkcsReq(name, keys, challenge))
const url = () => gateway.scepUrl
const connected = async (name = nameOf()) => ({ name, connection: await connect(url(), await device(name)) })
const refusal = ({ status, failInfo, failInfoText }: Awaited<ReturnType<Connection['ask']>>) => [
  status,
  failInfo,
  failInfoText,
]
const unauthorised = ['FAILURE', 'badRequest', 'The request is not authorised.']
const requestsFor = (endEntityId: string): Promise<number> => service.em().count(CertRequest, { endEntityId })

test('scep case 5: the right password gets a certificate, leaf first, for the key and the name of the request', async () => {
  const { name, connection } = await connected()
  const { challenge, endEntityId, password } = await known(name)
  const [leaf, issuing, root] = certificatesIn(await enrol(connection, name, challenge))
  const { publicKeySpki, subjectDn } = parseCertificate(leaf as Buffer)
  expect(publicKeySpki).toEqual(keys.publicKeySpki)
  expect(subjectDn).toBe(`CN=${name}`)
  expect(parseCertificate(issuing as Buffer).subjectNameDer).toEqual(parseCertificate(leaf as Buffer).issuerNameDer)
  expect(root).toBeDefined()
  const rows = await service.em().find(Certificate, { endEntityId })
  expect(rows.map(({ der }) => der)).toEqual([leaf])
  expect(gateway.logged()).toContain('"outcome":"SUCCESS"')
  expect(gateway.logged()).not.toContain(password)
})

test('scep case 6: without the chain setting the reply holds one certificate', async () => {
  const properties = { 'scep.response.include.cachain': 'false' }
  const short = opened(await startGateway(service, scene, { properties }))
  const name = nameOf()
  const { challenge } = await known(name)
  const connection = await connect(short.scepUrl, await device(name))
  expect(certificatesIn(await enrol(connection, name, challenge))).toHaveLength(1)
})

test('scep case 7: wrong password, unknown end entity and the password of another policy are refused alike', async () => {
  const other = await makeScepScene(service)
  const { name, connection } = await connected()
  const [mine, theirs] = [await known(name), await known(nameOf(), other)]
  for (const challenge of [
    `${mine.endEntityId}:wrong`,
    `${randomUUID()}:${mine.password}`,
    `${theirs.endEntityId}:${theirs.password}`,
    `${mine.endEntityId}:${theirs.password}`,
  ])
    expect(refusal(await enrol(connection, name, challenge))).toEqual(unauthorised)
  expect(await requestsFor(mine.endEntityId)).toBe(0)
})

describe('without a challenge that is right', () => {
  test.each([
    ['scep case 8: no colon', 'no-colon-at-all'],
    ['scep case 8: no UUID', 'router-7:secret'],
    ['scep case 8: a UUID alone', randomUUID()],
    ['scep case 8: a UUID and nothing behind its colon', `${randomUUID()}:`],
    ['scep case 11: nothing', undefined],
    ['scep case 9: an empty text', ''],
  ])('%s is refused', async (_, challenge) => {
    const { name, connection } = await connected()
    expect(refusal(await enrol(connection, name, challenge))).toEqual(unauthorised)
  })
})

test('scep case 32: a key of a curve is issued for when the policy allows it, the message being signed with RSA', async () => {
  const { name, connection } = await connected()
  const { challenge } = await known(name)
  const curve = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const [leaf] = certificatesIn(await connection.ask(await pkcsReq(name, curve, challenge)))
  expect(parseCertificate(leaf as Buffer).publicKeySpki).toEqual(curve.publicKeySpki)
})

test('scep case 34: a key that the policy does not allow is badAlg, another name badRequest, both with a reason', async () => {
  const narrow = await makeScepScene(service, { cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA'] } })
  const own = opened(await startGateway(service, narrow))
  const name = nameOf()
  const { challenge } = await known(name, narrow)
  const connection = await connect(own.scepUrl, await device(name))
  const curve = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const [status, failInfo, text] = refusal(await connection.ask(await pkcsReq(name, curve, challenge)))
  expect([status, failInfo]).toEqual(['FAILURE', 'badAlg'])
  expect(text).not.toBe('The request is not authorised.')
  const named = refusal(await connection.ask(await pkcsReq('another.example.org', keys, challenge)))
  expect(named.slice(0, 2)).toEqual(['FAILURE', 'badRequest'])
})

describe('scep case 35: a policy with approval', () => {
  const waiting = async () => {
    const careful = await makeScepScene(service, { requiresManualApproval: true, requesterMayApprove: true })
    const own = opened(await startGateway(service, careful))
    const name = nameOf()
    const { challenge, endEntityId } = await known(name, careful)
    const connection = await connect(own.scepUrl, await device(name))
    const draft = { ...(await pkcsReq(name, keys, challenge)), transactionId: randomUUID().replaceAll('-', '') }
    const content = connection.signers.at(1) as Buffer
    const poll = (transactionId = draft.transactionId, by = connection) =>
      by.ask({ messageType: 'CertPoll', transactionId, content: pollContent(content, name) })
    const decide = async (verb: string) => {
      const [request] = await service.em().find(CertRequest, { endEntityId })
      return careful.owner.patch(`/api/v1/cert-requests/${request?.id}/${verb}`, {})
    }
    return { careful, url: own.scepUrl, name, endEntityId, connection, draft, poll, decide }
  }

  test('the device waits, polls, and gets its certificate after the approval', async () => {
    const { endEntityId, connection, draft, poll, decide } = await waiting()
    expect((await connection.ask(draft)).status).toBe('PENDING')
    expect((await poll()).status).toBe('PENDING')
    expect((await connection.ask(draft)).status).toBe('PENDING')
    expect(await requestsFor(endEntityId)).toBe(1)
    expect((await decide('approve')).status).toBe(200)
    const [leaf] = certificatesIn(await untilDone(poll))
    expect(parseCertificate(leaf as Buffer).publicKeySpki).toEqual(keys.publicKeySpki)
    expect(certificatesIn(await connection.ask(draft))[0]).toEqual(leaf)
    expect(await service.em().count(Certificate, { endEntityId })).toBe(1)
    const certificate = await service.em().findOneOrFail(Certificate, { endEntityId })
    const { orderId } = await service.em().findOneOrFail(OrderItem, { certRequestId: certificate.certRequestId ?? '' })
    const told = () => detailsOf(service, orderId)
    await until('the run of the order has ended', async () => (await told()).startsWith('COMPLETED'))
    expect(await told()).toMatch(
      RegExp(`requested by API_CLIENT .*\\n.* approved by USER .*\\n.* issued: certificate ${certificate.id}$`),
    )
  })

  test('a declined request is a failure, for polls and when it is asked for again', async () => {
    const { endEntityId, connection, draft, poll, decide } = await waiting()
    await connection.ask(draft)
    expect((await decide('decline')).status).toBe(200)
    const declined = ['FAILURE', 'badRequest', 'The request was declined.']
    expect(refusal(await poll())).toEqual(declined)
    expect(refusal(await connection.ask(draft))).toEqual(declined)
    expect(await requestsFor(endEntityId)).toBe(1)
  })

  test('a certificate that was revoked since is no answer to a poll', async () => {
    const { careful, endEntityId, connection, draft, poll, decide } = await waiting()
    expect((await connection.ask(draft)).status).toBe('PENDING')
    expect((await decide('approve')).status).toBe(200)
    await untilDone(poll)
    const { id } = await service.em().findOneOrFail(Certificate, { endEntityId })
    const revoke = `/api/v1/certificates/revoke?id=${id}&revocationReason=PRIVILEGE_WITHDRAWN`
    expect((await careful.owner.post(revoke)).status).toBe(200)
    expect(refusal(await poll())).toEqual(['FAILURE', 'badRequest', 'The certificate is no longer valid.'])
  })

  test('an unknown transaction and another key are badCertId', async () => {
    const { url: own, name, connection, draft, poll } = await waiting()
    await connection.ask(draft)
    expect(refusal(await poll('f00d')).slice(0, 2)).toEqual(['FAILURE', 'badCertId'])
    const stranger = await connect(own, await newDevice(name))
    expect(refusal(await poll(draft.transactionId, stranger)).slice(0, 2)).toEqual(['FAILURE', 'badCertId'])
  })

  test('a request that somebody else made with its reference is no other answer', async () => {
    const { careful, endEntityId, connection, draft, poll, decide } = await waiting()
    expect((await connection.ask(draft)).status).toBe('PENDING')
    const { policyId, reference, validFor } = await service.em().findOneOrFail(CertRequest, { endEntityId })
    const other = nameOf()
    const pkcs10ReqBase64 = (await csrOf(other, keys)).toString('base64')
    const someone = await careful.newEndEntity({ commonName: other })
    const body = { policyId, endEntityId: someone, validFor, keyPairMode: 'PKCS10', pkcs10ReqBase64, reference }
    const lure = await careful.owner.post('/api/v1/cert-requests', body)
    expect(lure).toMatchObject({ status: 201, body: { reference } })
    expect((await careful.owner.patch(`/api/v1/cert-requests/${lure.body.id}/decline`, {})).status).toBe(200)
    expect((await poll()).status).toBe('PENDING')
    expect((await connection.ask(draft)).status).toBe('PENDING')
    expect((await decide('approve')).status).toBe(200)
    expect(certificatesIn(await untilDone(poll))).toHaveLength(3)
  })
})

test('a gateway that does not wait tells PENDING, and orders the certificate for the poll', async () => {
  const hasty = opened(await startGateway(service, scene, { properties: { 'scep.wait-seconds': '0' } }))
  const name = nameOf()
  const { challenge, endEntityId } = await known(name)
  const connection = await connect(hasty.scepUrl, await device(name))
  const draft = await pkcsReq(name, keys, challenge)
  const request = await connection.write(draft)
  expect((await connection.send(request)).status).toBe('PENDING')
  const { id: certRequestId } = await service.em().findOneOrFail(CertRequest, { endEntityId })
  expect(await service.em().count(OrderItem, { certRequestId })).toBe(1)
  expect(certificatesIn(await untilDone(() => connection.send(request)))).toHaveLength(3)
  expect(await service.em().count(Certificate, { endEntityId })).toBe(1)
})

describe('scep case 36: the same PKCS#10 request again', () => {
  test('gets the same certificate within the window, and a new one after it', async () => {
    const name = nameOf()
    const { challenge, endEntityId } = await known(name)
    const draft = { ...(await pkcsReq(name, keys, challenge)), transactionId: 'the-same' }
    const { connection } = await connected(name)
    const [first] = certificatesIn(await connection.ask(draft))
    expect(certificatesIn(await connection.ask(draft))[0]).toEqual(first)
    const properties = { 'scep.replay-minutes': '0' }
    const forgetful = opened(await startGateway(service, scene, { properties }))
    const later = await connect(forgetful.scepUrl, await device(name))
    const [second] = certificatesIn(await later.ask(draft))
    const [third] = certificatesIn(await later.ask(draft))
    expect(new Set([first, second, third].map(one => one?.toString('hex'))).size).toBe(3)
    expect(await service.em().count(Certificate, { endEntityId })).toBe(3)
  })

  test('twenty times at the same moment makes one certificate', async () => {
    const name = nameOf()
    const { challenge, endEntityId } = await known(name)
    const { connection } = await connected(name)
    const request = await connection.write({ ...(await pkcsReq(name, keys, challenge)), transactionId: 'at-once' })
    const replies = await Promise.all(Array.from({ length: 20 }, () => connection.send(request)))
    expect(replies.map(({ status }) => status).filter(status => status === 'FAILURE')).toEqual([])
    await untilDone(() => connection.send(request))
    expect(await service.em().count(Certificate, { endEntityId })).toBe(1)
    expect(await requestsFor(endEntityId)).toBe(1)
  })

  test('scep case 37: a replay by somebody else makes nothing, and only the device can read the reply', async () => {
    const name = nameOf()
    const { challenge, endEntityId } = await known(name)
    const { connection } = await connected(name)
    const request = await connection.write(await pkcsReq(name, keys, challenge))
    await connection.send(request)
    const thief = await connect(url(), await newDevice(name))
    await expect(thief.send(request)).rejects.toThrow(/cannot be|decrypt|opened/i)
    expect(await service.em().count(Certificate, { endEntityId })).toBe(1)
  })
})

describe('scep case 12: a static password', () => {
  const password = 'one for all of them'
  let open: TestGateway
  beforeAll(async () => {
    open = kept(await startGateway(service, scene, { properties: { 'scep.static-password': password } }))
  })
  const joined = async (name: string) => connect(open.scepUrl, await device(name))

  test('is the one way in: it finds or makes the end entity that the request names', async () => {
    const name = nameOf()
    const connection = await joined(name)
    const draft = await pkcsReq(name, keys, password)
    const [leaf] = certificatesIn(await connection.ask(draft))
    expect(parseCertificate(leaf as Buffer).subjectDn).toBe(`CN=${name}`)
    const again = await connection.ask({
      messageType: 'PKCSReq',
      content: await csrOf(name, await rsaKeys(), { challengePassword: password }),
    })
    expect(certificatesIn(again)[0]).not.toEqual(leaf)
    const made = await service.em().find(Certificate, { subjectDn: `CN=${name}` })
    expect(new Set(made.map(({ endEntityId }) => endEntityId)).size).toBe(1)
    expect(open.logged()).not.toContain(password)
  })

  test('switches the passwords of end entities off, and certificates as well', async () => {
    const name = nameOf()
    const { challenge } = await known(name)
    const connection = await joined(name)
    expect(refusal(await enrol(connection, name, challenge))).toEqual(unauthorised)
    expect(refusal(await enrol(connection, name))).toEqual(unauthorised)
  })
})

/** A new end entity with a one-time challenge. */
const onceKnown = async (name: string) => {
  const endEntityId = await scene.newEndEntity({ commonName: name })
  const made = await scene.owner.post(`/api/v1/end-entities/${endEntityId}/scep-challenge`, {
    policyId: scene.policyId,
  })
  expect(made.status).toBe(201)
  return { endEntityId, challenge: made.body.challenge as string }
}

test('a one-time challenge is spent by a request that the policy refuses as well', async () => {
  const name = nameOf()
  const { endEntityId, challenge } = await onceKnown(name)
  const { connection } = await connected(name)
  const wrong = { ...(await pkcsReq(nameOf(), keys, challenge)), transactionId: 'wrong' }
  const text = 'Names in the PKCS#10 request are not those of the end entity.'
  for (const draft of [wrong, wrong])
    expect(refusal(await connection.ask(draft))).toEqual(['FAILURE', 'badRequest', text])
  expect(refusal(await connection.ask(await pkcsReq(name, keys, challenge)))).toEqual(unauthorised)
  expect(await requestsFor(endEntityId)).toBe(0)
})

test('a one-time challenge serves one request, however often the device sends it, and no other', async () => {
  const name = nameOf()
  const { endEntityId, challenge } = await onceKnown(name)
  const { connection } = await connected(name)
  const draft = { ...(await pkcsReq(name, keys, challenge)), transactionId: 'once' }
  const [leaf] = certificatesIn(await connection.ask(draft))
  expect(certificatesIn(await connection.ask(draft))[0]).toEqual(leaf)
  const other = await pkcsReq(name, await rsaKeys(), challenge)
  expect(refusal(await connection.ask(other))).toEqual(unauthorised)
  expect(await service.em().count(Certificate, { endEntityId })).toBe(1)
})

test('scep case 33: a PKCS#10 request that its key did not sign is refused', async () => {
  const { name, connection } = await connected()
  const { challenge, endEntityId } = await known(name)
  const stranger = await rsaKeys()
  const mixed = { publicKeySpki: keys.publicKeySpki, privateKeyPkcs8: stranger.privateKeyPkcs8 }
  const content = await createPkcs10({
    subject: { commonName: name },
    sans: [],
    keys: mixed,
    challengePassword: challenge,
  })
  expect(refusal(await connection.ask({ messageType: 'PKCSReq', content })).slice(0, 2)).toEqual([
    'FAILURE',
    'badRequest',
  ])
  expect(await requestsFor(endEntityId)).toBe(0)
})
