// Messages of SCEP that openssl makes, by every algorithm that the gateway takes, and its replies as openssl alone reads them.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Workbench } from '../pki/openssl.ts'
import { OpensslScep, serialOf } from '../support/scep-by-openssl.ts'
import type { OpensslDevice, OpensslMessage, OpensslServer } from '../support/scep-by-openssl.ts'
import { postMessage } from '../support/scep-device.ts'
import { knownIn, serialsIssuedTo, startScep, type ScepSetting } from '../support/scep-setting.ts'
import { startGateway, type TestGateway } from '../support/scep-gateway.ts'

const bench = new Workbench()
const openssl = new OpensslScep(bench)
const name = `device-${randomUUID().slice(0, 8)}.example.org`
const legacyProvider = ['-provider', 'legacy', '-provider', 'default']

let setting: ScepSetting
let modern: TestGateway
let server: OpensslServer
let device: OpensslDevice
let endEntityId: string
let pkcs10: Buffer

beforeAll(async () => {
  setting = await startScep()
  modern = await startGateway(setting.service, setting.scene, { properties: { 'scep.legacy-algorithms': 'false' } })
  const known = await knownIn(setting.scene, name)
  endEntityId = known.endEntityId
  server = await openssl.server(setting.gateway.scepUrl, 'ca')
  device = await openssl.newcomer(name)
  pkcs10 = await openssl.pkcs10(name, device.keyFile, known.challenge)
})
afterAll(async () => {
  await modern.stop()
  await setting.stop()
  await bench.clear()
})

const newId = (): string => randomBytes(16).toString('hex')

type Algorithms = Pick<OpensslMessage, 'cipher' | 'digest' | 'transport' | 'signature'>

/** Sends the request of the device once more, under a transaction id of its own unless another is said. */
const ask = async (algorithms: Algorithms, { to = setting.gateway, by = device, id = newId() } = {}) => {
  const transactionId = id
  const { der, nonce } = await openssl.write(server, by, { type: '19', transactionId, content: pkcs10, ...algorithms })
  const response = await postMessage(to.scepUrl, der)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-pki-message'])
  const reply = await openssl.read(Buffer.from(await response.arrayBuffer()), server, by)
  expect([reply.transactionId, reply.recipientNonce]).toEqual([transactionId, nonce])
  return reply
}

const ciphers = {
  '-aes128': 'aes-128-cbc',
  '-aes192': 'aes-192-cbc',
  '-aes256': 'aes-256-cbc',
  '-des3': 'des-ede3-cbc',
}
const digests = ['sha1', 'sha256', 'sha384', 'sha512']
const oaep = (digest: string) => ['rsa_padding_mode:oaep', `rsa_oaep_md:${digest}`]
const transports = { PKCS1: [], ...Object.fromEntries(digests.map(digest => [`OAEP ${digest}`, oaep(digest)])) }
const rows = Object.entries(ciphers).flatMap(([option, cipher]) =>
  digests.flatMap(digest =>
    Object.entries(transports).map(([transport, by]) => ({ option, cipher, digest, transport, by })),
  ),
)

const issued = new Set<string>()

/** The reply holds a certificate for the device's key first, which the service has recorded, then its CAs. */
const mustBeEnrolled = async ({ status, certificates }: Awaited<ReturnType<typeof ask>>): Promise<void> => {
  expect([status, certificates.length]).toEqual(['0', 3])
  const [leaf = ''] = certificates
  expect(await openssl.isFor(leaf, server, device.keyFile)).toBe(true)
  expect(await serialsIssuedTo(setting.service, endEntityId)).toContain(serialOf(leaf))
  issued.add(serialOf(leaf))
}

// One transaction for a cipher and a digest: a certificate for each pair, whatever its keys come by.
test.each(rows)('scep case 30: by openssl: $cipher, $digest, $transport', async ({ option, cipher, digest, by }) => {
  const reply = await ask({ cipher: [option], digest, transport: by }, { id: `${cipher} ${digest}` })
  expect([reply.cipher, reply.digest]).toEqual([cipher, digest])
  await mustBeEnrolled(reply)
})

test.each(digests)('scep case 30: by openssl: RSASSA-PSS, %s', async digest => {
  await mustBeEnrolled(await ask({ digest, signature: ['rsa_padding_mode:pss', 'rsa_pss_saltlen:digest'] }))
})

describe('refused', () => {
  const none = { status: '2', failInfo: '0', certificates: [], cipher: null }

  test.each(['-des-cbc', '-rc2-128', '-rc4', '-camellia128', '-aria-128-cbc', '-seed-cbc'])(
    'scep case 29: by openssl: %s is badAlg',
    async cipher => {
      expect(await ask({ cipher: [cipher, ...legacyProvider] })).toMatchObject(none)
    },
  )

  test.each(['md5', 'sha224', 'sha3-256', 'sha512-256'])('scep case 29: by openssl: %s is badAlg', async digest => {
    expect(await ask({ digest })).toMatchObject(none)
  })

  test('scep case 29: by openssl: OAEP by MD5 is badAlg', async () => {
    expect(await ask({ transport: oaep('md5') })).toMatchObject(none)
  })

  test('scep case 29: by openssl: an EC key of the signer is badAlg', async () => {
    const ec = await openssl.key('-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256')
    expect(await ask({}, { by: await openssl.newcomer(name, ec) })).toMatchObject(none)
  })

  test.each([
    ['-des3', 'sha256'],
    ['-aes128', 'sha1'],
  ])('scep case 30: by openssl: %s with %s is badAlg without legacy algorithms', async (cipher, digest) => {
    expect(await ask({ cipher: [cipher], digest }, { to: modern })).toMatchObject(none)
  })

  test('none of them was issued for', async () => {
    const own = newId()
    await mustBeEnrolled(await ask({}, { id: own }))
    expect(new Set(await serialsIssuedTo(setting.service, endEntityId))).toEqual(issued)
  })
})
