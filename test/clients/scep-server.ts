// Our SCEP client against a server that is not ours: micromdm's scepserver, as Debian has it.
import { createHash, createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { CmsError } from '../../pki/cms/cms-error.ts'
import { writeScepRequest } from '../../pki/scep/client.ts'
import { readCertRep } from '../../pki/scep/reply.ts'
import { csrOf, newDevice, postMessage, usual } from '../support/scep-device.ts'
import { foreignChallenge, type ForeignServer, startForeignServer } from '../support/scep-foreign-server.ts'
import { describeWith, DeviceDirectory, type Ended } from '../support/scep-programs.ts'

const client = join(import.meta.dirname, '../../scep-client/main.ts')

describeWith({ programs: ['scepserver', 'unshare', 'ip'], from: 'scep, util-linux or iproute2' }, () => {
  let server: ForeignServer
  let directory: DeviceDirectory
  let name: string

  beforeAll(async () => {
    server = await startForeignServer()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    directory = new DeviceDirectory()
    name = `device-${randomBytes(4).toString('hex')}.example.org`
  })
  afterEach(() => directory.clear())

  /** Runs our client as `npm run scep` does. */
  const scep = async (members: Readonly<Record<string, string>> = {}): Promise<Ended> => {
    Object.assign(directory.environment, {
      SCEP_URL: server.url,
      SCEP_COMMON_NAME: name,
      SCEP_CA_FINGERPRINT: createHash('sha256').update(server.ca).digest('hex'),
      SCEP_CHALLENGE: foreignChallenge,
      SCEP_INSECURE_ALGORITHMS: 'true',
      SCEP_RENEW: 'false',
      ...members,
    })
    return directory.run(process.execPath, client)
  }

  const fileOf = async (file: string): Promise<string> => join(await directory.path, file)

  /** What the client has kept: certificate and key belong together. */
  const kept = async (): Promise<X509Certificate> => {
    const certificate = new X509Certificate(await readFile(await fileOf('device.pem')))
    const key = createPrivateKey(await readFile(await fileOf('device.key')))
    expect(certificate.checkPrivateKey(key)).toBe(true)
    return certificate
  }

  /** openssl's word on the certificate that was kept. */
  const verified = async (): Promise<string> =>
    (await directory.run('openssl', 'verify', '-x509_strict', '-CAfile', server.caFile, 'device.pem')).text

  test('enrols, and renews with another key, by replies in DES', async () => {
    expect(await scep()).toMatchObject({ code: 0, text: expect.stringContaining(`CN=${name}`) })
    const first = await kept()
    expect(await verified()).toContain('device.pem: OK')
    expect(await scep({ SCEP_RENEW: 'true' })).toMatchObject({ code: 0 })
    const second = await kept()
    expect(await verified()).toContain('device.pem: OK')
    expect([second.subject, second.issuer]).toEqual([`CN=${name}`, first.issuer])
    expect(second.publicKey.equals(first.publicKey)).toBe(false)
    expect(second.serialNumber).not.toBe(first.serialNumber)
    const log = await server.logged()
    expect(log).toContain('scep_message_type="PKCSReq (19)"')
    expect(log).toContain('scep_message_type="RenewalReq (17)"')
    expect(log).toContain('method=GetCACaps')
  })

  test('takes no reply in DES unless that is switched on', async () => {
    expect(await scep({ SCEP_INSECURE_ALGORITHMS: 'false' })).toEqual({
      code: 1,
      text: expect.stringContaining('The algorithm DES-CBC is not supported'),
    })
    await expect(kept()).rejects.toThrow('ENOENT')
  })

  test.each(['false', 'true'])('is told badRequest with a wrong challenge, renewal: %s', async renewal => {
    if (renewal === 'true') expect(await scep()).toMatchObject({ code: 0 })
    const refused = await scep({ SCEP_CHALLENGE: `${foreignChallenge}x`, SCEP_RENEW: renewal })
    expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('No certificate: badRequest') })
    expect(await server.logged()).toContain('err="invalid challenge"')
  })

  test('does not believe it by the fingerprint of another CA', async () => {
    const refused = await scep({ SCEP_CA_FINGERPRINT: '00'.repeat(32) })
    expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('fingerprint') })
  })

  test('reads its replies by the codec, and no reply of it to another request', async () => {
    const device = await newDevice(name)
    const content = await csrOf(name, device.keys, { challengePassword: foreignChallenge })
    const ask = async () => {
      const transactionId = randomBytes(16).toString('hex')
      const draft = { messageType: 'PKCSReq', transactionId, content, recipients: [server.ca] } as const
      const request = await writeScepRequest(draft, device, usual)
      const response = await postMessage(server.url, request.der)
      return { request, bytes: Buffer.from(await response.arrayBuffer()) }
    }
    const [one, other] = [await ask(), await ask()]
    const expected = { client: device, signers: [server.ca], insecureAlgorithms: true }
    const read = readCertRep(one.bytes, { ...expected, request: one.request })
    expect([read.status, read.contentCipher]).toEqual(['SUCCESS', 'DES-CBC'])
    const [leaf] = read.bag?.certificates ?? []
    expect(new X509Certificate(leaf as Buffer).verify(new X509Certificate(server.ca).publicKey)).toBe(true)
    expect(() => readCertRep(one.bytes, { ...expected, request: other.request })).toThrow(CmsError)
    const stranger = await newDevice('impostor.example.org')
    const bySomebodyElse = { ...expected, request: one.request, signers: [stranger.certificate] }
    expect(() => readCertRep(one.bytes, bySomebodyElse)).toThrow(CmsError)
  })
})
