// openssl as the stranger of CMP: what it protects by a password our operation believes, and what our operations protect it
// believes, by passwords and by each algorithm of signatures.
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openssl, tryOpenssl, Workbench } from '../pki/openssl.ts'
import { pbm, readMessage, type Message } from '../support/cmp-messages.ts'
import { answerByMac, answerBySignature, makeCmpScene, startCmpServer, type CmpScene } from '../support/cmp.ts'
import { blocksOf } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'

let service: Service
let scene: CmpScene
let bench: Workbench

beforeAll(async () => {
  service = await startService()
  scene = await makeCmpScene(service)
  bench = new Workbench()
})
afterAll(async () => {
  await bench.clear()
  await service.stop()
})

const common = ['cmp', '-config', '', '-batch', '-verbosity', '7']
const secret = () => ['-secret', `pass:${scene.password}`, '-ref', 'device']

/** The request that openssl makes, whatever becomes of it. */
const requestOf = async (...args: readonly string[]): Promise<Message> => {
  const out = await bench.newPath()
  const end = [
    '-server',
    '127.0.0.1:9',
    '-msg_timeout',
    '1',
    '-reqout',
    out,
    '-certout',
    await bench.newPath(),
    '-recipient',
    '/CN=CMP server',
  ]
  await tryOpenssl(...common, ...args, ...end)
  return readMessage(await readFile(out))
}

const newKey = async (): Promise<string> => {
  const path = await bench.newPath()
  await openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', path)
  return path
}

test.each([
  ['genm', [], []],
  ['ir', [], ['-subject', '/CN=device']],
  ['cr', ['-digest', 'sha384', '-mac', 'hmacWithSHA384'], ['-subject', '/CN=device']],
  ['ir', ['-digest', 'sha512', '-mac', 'hmacWithSHA256'], ['-subject', '/CN=device', '-popo', '0']],
  ['ir', ['-digest', 'sha1', '-mac', 'hmac-sha1'], ['-subject', '/CN=device', '-implicit_confirm']],
])('a MAC that openssl makes over %s %j is right, and is not of another message', async (cmd, macs, more) => {
  const key = cmd === 'genm' ? [] : ['-newkey', await newKey()]
  const { part, protection, transactionID } = await requestOf('-cmd', cmd, ...secret(), ...macs, ...key, ...more)
  expect((await scene.verify(part, protection)).body).toEqual({ result: true })
  const { body } = await scene.calculate(part)
  expect(body.macBase64).toBe(protection.toString('base64'))
  const changed = Buffer.from(part)
  const at = part.indexOf(transactionID)
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
  expect((await scene.verify(changed, protection)).body).toEqual({ result: false })
  expect((await scene.verify(part, protection.subarray(1))).body).toEqual({ result: false })
})

test('a MAC that openssl makes by another secret is wrong', async () => {
  const { part, protection } = await requestOf('-cmd', 'genm', '-secret', 'pass:other', '-ref', 'device')
  expect((await scene.verify(part, protection)).body).toEqual({ result: false })
})

/** What openssl says of the answer of a server to a request for information. */
const ask = async (answer: (request: Message) => Promise<Buffer>, ...args: readonly string[]) => {
  const server = await startCmpServer(answer)
  const end = [
    '-server',
    server.address,
    '-recipient',
    '/CN=CMP server',
    '-no_proxy',
    '127.0.0.1',
    '-msg_timeout',
    '30',
  ]
  const verdict = await tryOpenssl(...common, '-cmd', 'genm', ...args, ...end)
  server.stop()
  expect(server.errors).toEqual([])
  return verdict
}

test.each([pbm(), pbm({ owf: 'SHA-512', mac: 'SHA-384', iterationCount: 1000 })])(
  'openssl believes an answer with our MAC (%#), and none by another password',
  async protectionAlg => {
    const good = await ask(request => answerByMac(scene, request, protectionAlg), ...secret())
    expect([good.code, good.text]).toEqual([0, expect.stringContaining('received GENP')])
    const other = ['-secret', 'pass:another', '-ref', 'device']
    const bad = await ask(request => answerByMac(scene, request, protectionAlg), ...other)
    expect([bad.code === 0, bad.text]).toEqual([false, expect.stringMatching(/wrong pbm value|protection/i)])
  },
)

test.each([
  'SHA256_WITH_ECDSA',
  'SHA384_WITH_ECDSA',
  'SHA512_WITH_ECDSA',
  'SHA256_WITH_RSA',
  'SHA384_WITH_RSA',
  'SHA512_WITH_RSA',
  'ED25519',
  'ED448',
])('openssl believes an answer that a signer signs with %s, and none that was changed', async signatureAlgorithm => {
  const signing = await makeCmpScene(service, { signatureAlgorithm })
  const { body } = await signing.configuration()
  expect([body.signatureAlgorithm, body.apiError]).toEqual([signatureAlgorithm, undefined])
  const root = await bench.file(blocksOf(body.caChainPem).at(-1) ?? '')
  const believing = ['-unprotected_requests', '-ref', 'device', '-trusted', root]
  const good = await ask(request => answerBySignature(signing, request), ...believing)
  expect([good.code, good.text]).toEqual([0, expect.stringContaining('received GENP')])
  const changed = async (request: Message): Promise<Buffer> => {
    const message = await answerBySignature(signing, request)
    const at = message.indexOf('hello')
    message.write('hullo', at)
    return message
  }
  expect((await ask(changed, ...believing)).code).not.toBe(0)
})
