// Hundreds of messages whose signature is right and whose content is not: mutated PKCS#10 requests and envelopes, encrypted
// and signed by the device itself, so that they come to those who decrypt, examine and issue.
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import pLimit from 'p-limit'
import { pino } from 'pino'
import { context, integer, octetString, oid, printableString, sequence, setOf } from '../../pki/asn1/der.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { subjectAlternativeName } from '../../pki/certificate/extensions.ts'
import { signDer } from '../../pki/certificate/signed.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import type { CertRep } from '../../pki/scep/reply.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { mutate, mutateValue, valueMutation, type ValueChange } from '../pki/mutations.ts'
import { craftRequest } from '../pki/scep-exchange.ts'
import { until } from '../support/issuing.ts'
import { connect, newDevice, postMessage, untilDone, type Connection, type Device } from '../support/scep-device.ts'
import { makeScepScene } from '../support/scep-gateway.ts'
import { startGatewayProcess } from '../support/scep-gateway-process.ts'
import { enrolAt, partyOf, type Owner } from '../support/scep-setting.ts'
import { startService, type Scene, type Service } from '../support/service.ts'

/** A third of them make a certificate each; hostile.test.ts has a thousand that mostly do not come so far. */
const messages = 400
const atOnce = 4

let service: Service
let scene: Scene
let gateway: Awaited<ReturnType<typeof startGatewayProcess>>
const logged: string[] = []

beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  service = await startService({ deps: { log } })
  scene = await makeScepScene(service)
  gateway = await startGatewayProcess(service, scene)
})
afterAll(async () => {
  await gateway?.stop()
  await service.stop()
})

/** Who sends: by which certificate, and with which challenge. */
interface Sender {
  readonly owner: Owner
  readonly device: Device
  readonly connection: Connection
  readonly challenge: string | null
}

const makeSenders = async (): Promise<readonly [Sender, Sender]> => {
  const owner = await enrolAt(gateway.scepUrl, scene, { organization: 'Example', domains: ['www.example.org'] })
  const newcomer = await newDevice(owner.name, owner.keys)
  const at = async (device: Device, challenge: string | null) => ({
    owner,
    device,
    connection: await connect(gateway.scepUrl, device),
    challenge,
  })
  return [await at(newcomer, owner.challenge), await at(owner.device, null)]
}

const attributeOf = (type: string, ...values: readonly Buffer[]): Buffer => sequence(oid(type), setOf(...values))

/** The parts of a PKCS#10 request that a mutation may change; the challenge stays, or the password would be locked. */
const partsOf = ({ owner }: Sender): readonly [Buffer, Buffer, Buffer] => [
  encodeName(subjectName({ commonName: owner.name, organization: 'Example' })),
  owner.keys.publicKeySpki,
  attributeOf('1.2.840.113549.1.9.14', sequence(subjectAlternativeName([{ type: 'DNS', value: owner.name }], false))),
]

const pkcs10 = ({ challenge, device }: Sender, [name, spki, extensions]: readonly Buffer[]): Promise<Buffer> => {
  const password = challenge === null ? [] : [attributeOf('1.2.840.113549.1.9.7', printableString(challenge))]
  const attributes = context(0, extensions ?? Buffer.alloc(0), ...password)
  return signDer(sequence(integer(0), name ?? Buffer.alloc(0), spki ?? Buffer.alloc(0), attributes), device.key)
}

interface Sent {
  readonly der: Buffer
  readonly transactionId: string
  readonly senderNonce: Buffer
}

const inContent = async (sender: Sender, content: Buffer): Promise<Sent> =>
  sender.connection.write({ messageType: 'RenewalReq', content })

const inEnvelope = async (sender: Sender, envelope: Buffer): Promise<Sent> => {
  const senderNonce = Buffer.alloc(16, 7)
  const transactionId = `transaction ${randomInt(2 ** 40)}`
  const attributes = { senderNonce: [octetString(senderNonce)], transactionId: [printableString(transactionId)] }
  const party = partyOf(sender.device)
  return { der: await craftRequest({ envelope, attributes }, party, party), transactionId, senderNonce }
}

const sealed = async (sender: Sender): Promise<Buffer> =>
  sealEnvelopedData(await pkcs10(sender, partsOf(sender)), {
    recipients: sender.connection.signers.slice(0, 1),
    cipher: 'AES-128-CBC',
  })

/** What is mutated before the device encrypts or signs; parts of the PKCS#10 request more often than the rest. */
const makers: readonly ((sender: Sender, change: ValueChange) => Promise<Sent>)[] = [
  ...[0, 1, 2, 0, 2, 2].map(chosen => async (sender: Sender, change: ValueChange) => {
    const parts = partsOf(sender).map((part, index) => (index === chosen ? mutateValue(part, change) : part))
    return inContent(sender, await pkcs10(sender, parts))
  }),
  async (sender, change) => inContent(sender, mutateValue(await pkcs10(sender, partsOf(sender)), change)),
  async (sender, { changes }) => inContent(sender, changes.reduce(mutate, await pkcs10(sender, partsOf(sender)))),
  async (sender, { changes }) => inEnvelope(sender, changes.reduce(mutate, await sealed(sender))),
  async (sender, change) => inEnvelope(sender, mutateValue(await sealed(sender), change)),
]

/** The end of a message in one word, and the certificate of a success. */
const endOf = ({ status, failInfo, failInfoText, bag }: CertRep) => ({
  end: status === 'SUCCESS' ? status : `${failInfo} ${failInfoText}`,
  leaf: bag?.certificates[0],
})

const send = async ({ connection }: Sender, sent: Sent) => {
  const ask = async (): Promise<CertRep | number> => {
    const response = await postMessage(gateway.scepUrl, sent.der)
    const octets = Buffer.from(await response.arrayBuffer())
    return response.status === 200 ? connection.read(octets, sent) : response.status
  }
  const first = await ask()
  if (typeof first === 'number') return { end: `HTTP ${first}`, leaf: undefined }
  return endOf(first.status === 'PENDING' ? await untilDone(async () => (await ask()) as CertRep) : first)
}

/** The certificate is that of the end entity under the policy, whatever the request said besides. */
const expectRight = (leaf: Buffer, { owner }: Sender): void => {
  const { subjectDn, publicKeySpki, sans, isCa, keyUsages, extendedKeyUsages } = parseCertificate(leaf)
  const usual = parseCertificate(owner.certificate)
  expect([subjectDn, isCa]).toEqual([usual.subjectDn, false])
  expect([publicKeySpki, sans]).toEqual([usual.publicKeySpki, usual.sans])
  expect([keyUsages, extendedKeyUsages]).toEqual([usual.keyUsages, usual.extendedKeyUsages])
}

const sendAll = async (senders: readonly Sender[], changes: readonly ValueChange[]) => {
  const places = pLimit(atOnce)
  const work = changes.map((change, index) =>
    places(async () => {
      const sender = senders[index % senders.length] as Sender
      const make = makers[Math.floor(index / senders.length) % makers.length] as (typeof makers)[number]
      const { end, leaf } = await send(sender, await make(sender, change))
      if (leaf) expectRight(leaf, sender)
      return end
    }),
  )
  return Promise.all(work)
}

/** Requests that have no certificate, and certificates of requests that say that they have none. */
const halfDone = async (): Promise<number> => {
  const open = await service
    .em()
    .count(CertRequest, { $or: [{ certRequestStatus: { $ne: 'ISSUED' } }, { runId: { $ne: null } }] })
  return open + (await service.em().count(CertRequest, { certificateId: null }))
}

test('messages with mutated content end with 400, a failure or the right certificate; nothing is half done', async () => {
  const senders = await makeSenders()
  const changes = fc.sample(valueMutation, messages)
  const endEntities = await service.em().count(EndEntity)
  const early = await sendAll(senders, changes.slice(0, messages / 5))
  const heapEarly = await gateway.heap()
  const late = await sendAll(senders, changes.slice(messages / 5))
  const heapLate = await gateway.heap()

  const ends = new Map<string, number>()
  for (const end of [...early, ...late]) ends.set(end, (ends.get(end) ?? 0) + 1)
  process.stdout.write(
    `heap after a fifth and all of ${messages} messages: ${heapEarly}, ${heapLate}; ends ${JSON.stringify([...ends], null, 1)}\n`,
  )
  expect([...ends.keys()].filter(end => end.startsWith('HTTP') && end !== 'HTTP 400')).toEqual([])
  expect(gateway.output()).not.toMatch(/"msg":"(unexpected|no answer)"/)
  expect(logged).toEqual([])
  // They did come to each of those who judge them.
  const counted = (part: string) => [...ends].reduce((sum, [end, count]) => (end.includes(part) ? sum + count : sum), 0)
  for (const part of ['SUCCESS', 'badMessageCheck', 'badRequest', 'badAlg'])
    expect([part, counted(part) > 0]).toEqual([part, true])

  await until('nothing is half done', async () => (await halfDone()) === 0)
  const { endEntityId } = senders[0].owner
  expect(await service.em().count(Certificate, { endEntityId })).toBe(1 + counted('SUCCESS'))
  expect(await service.em().count(CertRequest, { endEntityId })).toBe(1 + counted('SUCCESS'))
  expect(await service.em().count(EndEntity)).toBe(endEntities)
  expect(heapLate - heapEarly).toBeLessThan(8 * 1024 * 1024)
  expect(await gateway.stop()).toBe(0)
}, 600_000)
