// SCEP clients of others against our gateway: micromdm's scepclient, certmonger and strongSwan, as Debian has them.
import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { encodePem } from '../../pki/pem.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { caCertificates } from '../support/scep-device.ts'
import { describeWith, DeviceDirectory, startBus } from '../support/scep-programs.ts'
import { makeScepScene, startGateway, type TestGateway } from '../support/scep-gateway.ts'
import { decide as decideOn, serialsIssuedTo } from '../support/scep-setting.ts'
import { storyOf, transactionsIn } from '../support/scep-story.ts'
import { type Scene, type Service, startService } from '../support/service.ts'

interface Place {
  readonly scene: Scene
  readonly gateway: TestGateway
}

let service: Service
let open: Place
let careful: Place
let insecure: Place
let carefulInsecure: Place
let directory: DeviceDirectory

const placeOf = async (members: Record<string, unknown> = {}): Promise<Place> => {
  const scene = await makeScepScene(service, members)
  return { scene, gateway: await startGateway(service, scene) }
}

/** The same policy before a gateway that takes DES. */
const insecurely = async ({ scene }: Place): Promise<Place> => {
  return { scene, gateway: await startGateway(service, scene, { properties: { 'scep.insecure-algorithms': 'true' } }) }
}

beforeAll(async () => {
  service = await startService()
  open = await placeOf()
  careful = await placeOf({ requiresManualApproval: true, requesterMayApprove: true })
  insecure = await insecurely(open)
  carefulInsecure = await insecurely(careful)
})
beforeEach(() => void (directory = new DeviceDirectory()))
afterEach(() => directory.clear())
afterAll(async () => {
  await Promise.all([open, careful, insecure, carefulInsecure].map(({ gateway }) => gateway.stop()))
  await service.stop()
})

/** An end entity that the clients can name, with its challenge. */
const known = async ({ scene }: Place) => {
  const name = `device-${randomBytes(4).toString('hex')}.example.org`
  const names = { commonName: name, organization: 'Example', organizationalUnit: 'Lab', country: 'DE', domains: [name] }
  const endEntityId = await scene.newEndEntity(names)
  const made = await scene.owner.post('/api/v1/end-entity-passwords', { endEntityId, policyId: scene.policyId })
  expect(made.status).toBe(201)
  return { name, endEntityId, challenge: `${endEntityId}:${made.body.password}` }
}

const certificateIn = async (file: string): Promise<X509Certificate> =>
  new X509Certificate(await readFile(join(await directory.path, file)))

const serialsOf = (certificates: readonly X509Certificate[]): string[] =>
  certificates.map(({ serialNumber }) => serialNumber)

/** The serial numbers of an end entity's certificates, oldest first. */
const issuedTo = (endEntityId: string): Promise<string[]> => serialsIssuedTo(service, endEntityId)

const decide = (endEntityId: string, verb: 'approve' | 'decline'): Promise<void> =>
  decideOn({ service, owner: careful.scene.owner }, endEntityId, verb)

/** What an operator finds by the last transaction of a gateway: how it began and ended, one request, and its runs. */
const mustBeFound = async (place: Place, told: readonly [string, string], runs: readonly string[]): Promise<void> => {
  const transactionId = transactionsIn(place.gateway).at(-1) ?? ''
  const story = await storyOf(service, { ...place, runs: runs.length }, transactionId)
  expect(story).toEqual({ told, runs, certRequestId: expect.any(String), requests: [story.certRequestId] })
}
const issuedAtOnce = ['COMPLETED: issue 1 request of policy <policy>']
const decidedAndIssued = [
  'COMPLETED: decide on 1 request of policy <policy>',
  'COMPLETED: order 1 request of policy <policy>',
]

describeWith({ programs: ['scepclient'], from: 'scep' }, () => {
  // It would encrypt to every certificate of GetCACert, those with EC keys too, if it were not told to which.
  const scepclient = async (url: string, name: string, ...more: readonly string[]) => {
    const [signer] = await caCertificates(url)
    const fingerprint = createHash('sha256')
      .update(signer as Buffer)
      .digest('hex')
    const subject = ['-cn', name, '-organization', 'Example', '-ou', 'Lab', '-country', 'DE']
    const files = ['-private-key', 'key.pem', '-certificate', 'device.pem', '-ca-fingerprint', fingerprint]
    return directory.run('scepclient', '-server-url', url, ...files, ...subject, ...more)
  }

  test('enrols and renews by DES where that is switched on', async () => {
    const { name, endEntityId, challenge } = await known(open)
    const enrolled = await scepclient(insecure.gateway.scepUrl, name, '-challenge', challenge)
    expect(enrolled).toMatchObject({ code: 0, text: expect.stringContaining('pkiStatus=SUCCESS') })
    const first = await certificateIn('device.pem')
    expect(first.subject.split('\n').toSorted()).toEqual([`CN=${name}`, 'C=DE', 'O=Example', 'OU=Lab'].toSorted())
    await mustBeFound(insecure, ['PKCSReq SUCCESS', 'PKCSReq SUCCESS'], issuedAtOnce)
    // It sends the request file that it finds, with the challenge of the enrolment.
    await rm(join(await directory.path, 'csr.pem'))
    const renewed = await scepclient(insecure.gateway.scepUrl, name)
    expect(renewed).toMatchObject({ code: 0, text: expect.stringContaining('pkiStatus=SUCCESS') })
    const second = await certificateIn('device.pem')
    expect(await issuedTo(endEntityId)).toEqual(serialsOf([first, second]))
    const log = insecure.gateway.logged()
    expect(log).toMatch(/"messageType":"PKCSReq".*"cipher":"DES-CBC".*"outcome":"SUCCESS"/)
    expect(log).toMatch(/"messageType":"RenewalReq".*"cipher":"DES-CBC".*"outcome":"SUCCESS"/)
  })

  test('waits for the approval, asking the same again after half a minute', async () => {
    const { name, endEntityId, challenge } = await known(careful)
    const asked = scepclient(carefulInsecure.gateway.scepUrl, name, '-challenge', challenge)
    await decide(endEntityId, 'approve')
    expect(await asked).toMatchObject({ code: 0, text: expect.stringMatching(/pkiStatus=PENDING.*pkiStatus=SUCCESS/s) })
    expect(serialsOf([await certificateIn('device.pem')])).toEqual(await issuedTo(endEntityId))
    await mustBeFound(carefulInsecure, ['PKCSReq PENDING', 'PKCSReq SUCCESS'], decidedAndIssued)
  })

  test('is told badRequest with a wrong password', async () => {
    const { name, endEntityId, challenge } = await known(open)
    const { code, text } = await scepclient(insecure.gateway.scepUrl, name, '-challenge', `${challenge}x`)
    expect([code, text]).toEqual([1, expect.stringContaining('request failed, failInfo: badRequest (2)')])
    expect(await issuedTo(endEntityId)).toEqual([])
  })

  test('scep case 29: is told badAlg where DES is not switched on', async () => {
    const { name, endEntityId, challenge } = await known(open)
    const { code, text } = await scepclient(open.gateway.scepUrl, name, '-challenge', challenge)
    expect([code, text]).toEqual([1, expect.stringContaining('request failed, failInfo: badAlg (0)')])
    expect(await issuedTo(endEntityId)).toEqual([])
  })
})

describeWith({ programs: ['pki'], from: 'strongswan-pki' }, () => {
  const newKey = async (file: string): Promise<void> => {
    const { code } = await directory.run('openssl', 'genrsa', '-out', file, '2048')
    expect(code).toBe(0)
  }
  const certificates = [
    '--cacert-enc',
    'ra.pem',
    '--cacert-sig',
    'ra.pem',
    '--cacert',
    'ca.pem',
    '--cacert',
    'ca-1.pem',
  ]
  const scepca = ({ gateway }: Place) =>
    directory.run(
      'pki',
      '--scepca',
      '--url',
      gateway.scepUrl,
      '--caout',
      'ca.pem',
      '--raout',
      'ra.pem',
      '--outform',
      'pem',
    )

  /** Sends a request for a key; the certificate goes to a file when there is one. */
  const scep = async ({ gateway }: Place, name: string, { key, more }: { key: string; more: readonly string[] }) => {
    const subject = ['--dn', `C=DE, O=Example, OU=Lab, CN=${name}`, '--san', name]
    const asked = ['--scep', '--url', gateway.scepUrl, '--in', key, '--outform', 'pem', ...subject, ...certificates]
    const { code, text } = await directory.run('pki', ...asked, ...more)
    const [pem] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(text) ?? []
    if (pem) await writeFile(join(await directory.path, 'device.pem'), pem)
    return { code, text, certificate: pem ? new X509Certificate(pem) : null }
  }

  beforeEach(async () => {
    await newKey('key.pem')
  })

  test('reads the CA certificates, enrols, and renews with another key', async () => {
    const { name, endEntityId, challenge } = await known(open)
    expect(await scepca(open)).toMatchObject({ code: 0 })
    const enrolled = await scep(open, name, { key: 'key.pem', more: ['--password', challenge] })
    expect(enrolled).toMatchObject({ code: 0, text: expect.stringContaining('Issued certificate is trusted') })
    await newKey('new.pem')
    const by = ['--cert', 'device.pem', '--key', 'key.pem']
    const renewed = await scep(open, name, { key: 'new.pem', more: by })
    expect(renewed).toMatchObject({ code: 0, text: expect.stringContaining('Issued certificate is trusted') })
    const [first, second] = [enrolled.certificate, renewed.certificate] as [X509Certificate, X509Certificate]
    expect(second.publicKey.equals(first.publicKey)).toBe(false)
    expect(await issuedTo(endEntityId)).toEqual(serialsOf([first, second]))
    expect(open.gateway.logged()).toMatch(/"messageType":"RenewalReq".*"cipher":"AES-128-CBC".*"outcome":"SUCCESS"/)
    await mustBeFound(open, ['RenewalReq SUCCESS', 'RenewalReq SUCCESS'], issuedAtOnce)
  })

  test.each([
    [
      'RSASSA-PSS and SHA-512',
      ['--rsa-padding', 'pss', '--digest', 'sha512'],
      /"cipher":"AES-128-CBC","digest":"SHA-512"/,
    ],
    ['DES3 and SHA-1', ['--cipher', 'des3', '--digest', 'sha1'], /"cipher":"DES-EDE3-CBC","digest":"SHA-1"/],
  ])('enrols by %s', async (_, options, logged) => {
    const { name, challenge } = await known(open)
    await scepca(open)
    const { code } = await scep(open, name, { key: 'key.pem', more: ['--password', challenge, ...options] })
    expect(code).toBe(0)
    expect(open.gateway.logged()).toMatch(logged)
  })

  // Why GetCACert without a message holds the root in mode RA.
  test('takes no CA certificates without a root', async () => {
    const properties = { 'scep.getcacert.include.cachain.onmessage': 'false' }
    const withoutRoot = await startGateway(service, open.scene, { properties })
    try {
      expect(await scepca({ scene: open.scene, gateway: withoutRoot })).toMatchObject({ code: 1 })
      await expect(certificateIn('ra.pem')).rejects.toThrow('ENOENT')
    } finally {
      await withoutRoot.stop()
    }
  })

  test('waits for the approval, polling', async () => {
    const { name, endEntityId, challenge } = await known(careful)
    await scepca(careful)
    const more = ['--password', challenge, '--interval', '1', '--maxpolltime', '80']
    const asked = scep(careful, name, { key: 'key.pem', more })
    await decide(endEntityId, 'approve')
    const { code, certificate } = await asked
    expect([code, certificate?.serialNumber]).toEqual([0, ...(await issuedTo(endEntityId))])
    await mustBeFound(careful, ['PKCSReq PENDING', 'CertPoll SUCCESS'], decidedAndIssued)
  })

  test('is told when the request is declined', async () => {
    const { name, endEntityId, challenge } = await known(careful)
    await scepca(careful)
    const more = ['--password', challenge, '--interval', '1', '--maxpolltime', '80']
    const asked = scep(careful, name, { key: 'key.pem', more })
    await decide(endEntityId, 'decline')
    expect(await asked).toMatchObject({ code: 1, text: expect.stringMatching(/failInfo: +badRequest/) })
  })

  test('is told badRequest with a wrong password', async () => {
    const { name, endEntityId, challenge } = await known(open)
    await scepca(open)
    const { code, text } = await scep(open, name, { key: 'key.pem', more: ['--password', `${challenge}x`] })
    expect([code, text]).toEqual([1, expect.stringMatching(/failInfo: +badRequest - transaction not permitted/)])
    expect(await issuedTo(endEntityId)).toEqual([])
  })
})

const scepSubmit = '/usr/lib/certmonger/scep-submit'

describeWith({ programs: [scepSubmit, 'getcert', 'dbus-daemon'], from: 'certmonger' }, () => {
  let stopBus: () => Promise<void>
  beforeEach(async () => {
    stopBus = await startBus(directory)
  })
  afterEach(() => stopBus())

  const getcert = (verb: string, ...args: readonly string[]) => directory.run('getcert', verb, '-s', ...args)

  /** Makes a gateway known, whose CA certificates certmonger reads by itself. */
  const addCa = async ({ gateway }: Place): Promise<void> => {
    expect(await getcert('add-scep-ca', '-c', 'ours', '-u', gateway.scepUrl)).toMatchObject({ code: 0 })
    for (let tries = 0; tries < 100; tries++) {
      if ((await getcert('list-cas', '-c', 'ours')).text.includes('thumbprint')) return
      await wait(200)
    }
    throw new Error('certmonger has not read the CA certificates.')
  }

  const request = async (name: string, challenge: string) => {
    const path = await directory.path
    const files = ['-k', join(path, 'key.pem'), '-f', join(path, 'device.pem')]
    const subject = ['-N', `CN=${name},OU=Lab,O=Example,C=DE`, '-D', name]
    return getcert('request', '-c', 'ours', '-I', 'device', ...files, ...subject, '-L', challenge, '-w', '-v')
  }

  /** The state of the request as certmonger tells it. */
  const told = async (): Promise<string> => (await getcert('list', '-i', 'device')).text

  test('its helper reads capabilities and CA certificates', async () => {
    const { scepUrl } = open.gateway
    const caps = await directory.run(scepSubmit, '-u', scepUrl, '-c')
    expect(caps).toMatchObject({ code: 0, text: expect.stringMatching(/^AES\nDES3\n.*SHA-512\n/s) })
    const { code, text } = await directory.run(scepSubmit, '-u', scepUrl, '-C')
    const [signer] = await caCertificates(scepUrl)
    expect([code, text.replaceAll('\r', '')]).toEqual([
      0,
      expect.stringContaining(encodePem('CERTIFICATE', signer as Buffer).trim()),
    ])
  })

  test('enrols, and renews with another key', async () => {
    const { name, endEntityId, challenge } = await known(open)
    await addCa(open)
    expect(await request(name, challenge)).toMatchObject({ code: 0, text: expect.stringContaining('MONITORING') })
    const first = await certificateIn('device.pem')
    const rekeyed = await getcert('rekey', '-i', 'device', '-w', '-v')
    expect(rekeyed).toMatchObject({ code: 0, text: expect.stringContaining('MONITORING') })
    const second = await certificateIn('device.pem')
    expect(second.publicKey.equals(first.publicKey)).toBe(false)
    expect(await issuedTo(endEntityId)).toEqual(serialsOf([first, second]))
    await mustBeFound(open, ['PKCSReq SUCCESS', 'PKCSReq SUCCESS'], issuedAtOnce)
  })

  test('is rejected with a wrong password, not left without an answer', async () => {
    const { name, endEntityId, challenge } = await known(open)
    await addCa(open)
    expect(await request(name, `${challenge}x`)).toMatchObject({
      code: 2,
      text: expect.stringContaining('CA_REJECTED'),
    })
    expect(await told()).toMatch(/status: CA_REJECTED\s+ca-error: Transaction either is not permitted/)
    expect(await issuedTo(endEntityId)).toEqual([])
  })

  test('waits for the approval', async () => {
    const { name, endEntityId, challenge } = await known(careful)
    await addCa(careful)
    expect(await request(name, challenge)).toMatchObject({ code: 5, text: expect.stringContaining('CA_WORKING') })
    expect(await told()).toContain('status: CA_WORKING')
    await decide(endEntityId, 'approve')
    // It asks again when it is told to, otherwise once in a while only.
    for (let tries = 0; tries < 20 && !(await told()).includes('status: MONITORING'); tries++) {
      await getcert('refresh', '-i', 'device')
      await wait(500)
    }
    expect(await told()).toContain('status: MONITORING')
    expect(await issuedTo(endEntityId)).toEqual(serialsOf([await certificateIn('device.pem')]))
    expect(await service.em().count(CertRequest, { endEntityId })).toBe(1)
    await mustBeFound(careful, ['PKCSReq PENDING', 'PKCSReq SUCCESS'], decidedAndIssued)
  })
})
