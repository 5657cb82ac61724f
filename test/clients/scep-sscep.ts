// The dialect of sscep, which Debian does not have, in messages that openssl makes: the MD5 of a key as transaction id, line
// breaks in the Base64 of GET, renewals as PKCSReq by the old key, look-ups under a name with a space.
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openssl, Workbench } from '../pki/openssl.ts'
import { sendRaw } from '../support/raw-http.ts'
import { around, OpensslScep, serialOf, within } from '../support/scep-by-openssl.ts'
import type { OpensslDevice, OpensslMessage, OpensslServer } from '../support/scep-by-openssl.ts'
import { makeScepScene, startGateway, type TestGateway } from '../support/scep-gateway.ts'
import { decide, knownIn, newName, serialsIssuedTo, startScep, type ScepSetting } from '../support/scep-setting.ts'
import type { Scene } from '../support/service.ts'

interface Place {
  readonly scene: Scene
  readonly gateway: TestGateway
  readonly server: OpensslServer
}

const bench = new Workbench()
const program = new OpensslScep(bench)
let setting: ScepSetting
let open: Place
let careful: Place

const placeOf = async (scene: Scene, gateway: TestGateway): Promise<Place> => {
  // sscep names no CA unless it is told to (-i).
  return { scene, gateway, server: await program.server(gateway.scepUrl, 'CAIdentifier') }
}

beforeAll(async () => {
  setting = await startScep()
  open = await placeOf(setting.scene, setting.gateway)
  const scene = await makeScepScene(setting.service, { requiresManualApproval: true, requesterMayApprove: true })
  careful = await placeOf(scene, await startGateway(setting.service, scene))
})
afterAll(async () => {
  await careful.gateway.stop()
  await setting.stop()
  await bench.clear()
})

/** The transaction id that sscep takes for whatever it asks with a key. */
const transactionOf = async (keyFile: string): Promise<string> => {
  const spki = await bench.file((await openssl('pkey', '-in', keyFile, '-pubout', '-outform', 'DER')).output)
  const { text } = await openssl('dgst', '-md5', '-r', spki)
  return text.slice(0, 32).toUpperCase()
}

type Send = (gateway: TestGateway, der: Buffer) => Promise<Buffer>

type Way = Place & { readonly send?: Send }

const byPost: Send = async ({ port, scepUrl }, der) => {
  const head = `POST ${new URL(scepUrl).pathname}?operation=PKIOperation HTTP/1.0\r\nContent-Length: ${der.length}\r\n\r\n`
  const { status, body } = await sendRaw(port, Buffer.concat([Buffer.from(head), der]))
  expect(status).toBe(200)
  return body
}

const byGet: Send = async ({ port, scepUrl }, der) => {
  const lines = der.toString('base64').replaceAll(/.{1,64}/g, '$&\n')
  const message = encodeURIComponent(lines)
  expect(message).toContain('%0A')
  const head = `GET ${new URL(scepUrl).pathname}?operation=PKIOperation&message=${message} HTTP/1.0\r\n\r\n`
  const { status, body } = await sendRaw(port, head)
  expect(status).toBe(200)
  return body
}

/** Sends a message to a place, by POST unless another way is said. */
const ask = async ({ gateway, server, send = byPost }: Way, device: OpensslDevice, message: OpensslMessage) => {
  const { der, nonce } = await program.write(server, device, message)
  const reply = await program.read(await send(gateway, der), server, device)
  expect([reply.transactionId, reply.recipientNonce]).toEqual([message.transactionId, nonce])
  return reply
}

/** A device that has a key and a challenge, and its PKCSReq. */
const newcomer = async ({ scene }: Place) => {
  const name = newName()
  const { challenge, endEntityId } = await knownIn(scene, name)
  const device = await program.newcomer(name)
  const content = await program.pkcs10(name, device.keyFile, challenge)
  const request = { type: '19', transactionId: await transactionOf(device.keyFile), content } as const
  return { name, endEntityId, challenge, device, request }
}

/** A device with its certificate, which comes first in the reply. */
const enrolled = async (place: Way) => {
  const { request, ...known } = await newcomer(place)
  const { status, certificates } = await ask(place, known.device, request)
  const [certificate = ''] = certificates
  expect([status, await program.isFor(certificate, place.server, known.device.keyFile)]).toEqual(['0', true])
  return { ...known, request, certificate, holder: await program.holder(known.device.keyFile, certificate) }
}

const serialsOf = (endEntityId: string): Promise<string[]> => serialsIssuedTo(setting.service, endEntityId)

test.each([
  ['POST without a media type', byPost],
  ['GET with %0A after each 64 characters', byGet],
])('sscep: enrols by %s', async (_, send) => {
  const { endEntityId, certificate } = await enrolled({ ...open, send })
  expect(await serialsOf(endEntityId)).toEqual([serialOf(certificate)])
})

test('scep case 14: sscep: renews with a new key as PKCSReq by the old key, which reads the reply', async () => {
  const { name, endEntityId, certificate, holder } = await enrolled({ ...open, send: byGet })
  const keyFile = await program.key()
  const content = await program.pkcs10(name, keyFile)
  const transactionId = await transactionOf(keyFile)
  const reply = await ask({ ...open, send: byGet }, holder, { type: '19', transactionId, content })
  const [renewed = ''] = reply.certificates
  expect([reply.status, await program.isFor(renewed, open.server, keyFile)]).toEqual(['0', true])
  expect(await serialsOf(endEntityId)).toEqual([serialOf(certificate), serialOf(renewed)])
})

test('sscep: a new request with the key, thus the transaction id, of an old one gets a certificate of its own', async () => {
  const { name, endEntityId, certificate, holder, request } = await enrolled(open)
  const content = await program.pkcs10(name, holder.keyFile)
  const { status, certificates } = await ask(open, holder, { ...request, content })
  const [second = ''] = certificates
  expect([status, await program.isFor(second, open.server, holder.keyFile)]).toEqual(['0', true])
  expect(await serialsOf(endEntityId)).toEqual([serialOf(certificate), serialOf(second)])
})

/** The content of CertPoll: the names of the CA and of the device, as they stand in certificates. */
const issuerAndSubject = async ({ server }: Place, { certificateFile }: OpensslDevice): Promise<Buffer> => {
  const nameIn = async (file: string): Promise<Buffer> => {
    const der = (await openssl('x509', '-in', file, '-outform', 'DER')).output
    return within(within(der)[0] as Buffer)[5] as Buffer
  }
  return around(0x30, await nameIn(server.caFile), await nameIn(certificateFile))
}

test('sscep: polls under the same transaction id while people decide', async () => {
  const { endEntityId, device, request } = await newcomer(careful)
  const poll = { ...request, type: '20', content: await issuerAndSubject(careful, device) } as const
  expect(await ask(careful, device, request)).toMatchObject({ status: '3', cipher: null })
  expect(await ask(careful, device, poll)).toMatchObject({ status: '3', cipher: null })
  await decide({ service: setting.service, owner: careful.scene.owner }, endEntityId, 'approve')
  let reply = await ask({ ...careful, send: byGet }, device, poll)
  for (let tries = 0; reply.status === '3' && tries < 300; tries++) {
    await wait(200)
    reply = await ask({ ...careful, send: byGet }, device, poll)
  }
  const [certificate = ''] = reply.certificates
  expect([reply.status, await program.isFor(certificate, careful.server, device.keyFile)]).toEqual(['0', true])
  expect(await serialsOf(endEntityId)).toEqual([serialOf(certificate)])
})

test('sscep: polls, and is told badRequest when the request is declined', async () => {
  const { endEntityId, device, request } = await newcomer(careful)
  const poll = { ...request, type: '20', content: await issuerAndSubject(careful, device) } as const
  expect(await ask(careful, device, request)).toMatchObject({ status: '3' })
  await decide({ service: setting.service, owner: careful.scene.owner }, endEntityId, 'decline')
  expect(await ask(careful, device, poll)).toMatchObject({ status: '2', failInfo: '2', certificates: [] })
})

test('sscep: is told badRequest with a wrong password, and nothing is issued', async () => {
  const { name, endEntityId, challenge, device, request } = await newcomer(open)
  const content = await program.pkcs10(name, device.keyFile, `${challenge}x`)
  expect(await ask(open, device, { ...request, content })).toMatchObject({ status: '2', failInfo: '2' })
  expect(await serialsOf(endEntityId)).toEqual([])
})

test('sscep: GetCert and GetCRL under the name "SSCEP transactionId", the same for all devices', async () => {
  for (const send of [byPost, byGet]) {
    const { certificate, holder } = await enrolled(open)
    const content = await program.issuerAndSerial(holder)
    const lookup = { transactionId: 'SSCEP transactionId', content }
    const got = await ask({ ...open, send }, holder, { ...lookup, type: '21' })
    expect([got.status, got.certificates]).toEqual(['0', [certificate]])
    const list = await ask({ ...open, send }, holder, { ...lookup, type: '22' })
    expect([list.status, list.certificates, list.crls.length]).toEqual(['0', [], 1])
    const file = await bench.file(list.crls[0] ?? '')
    expect((await openssl('crl', '-in', file, '-CAfile', open.server.chainFile, '-noout')).text).toContain('verify OK')
  }
})
