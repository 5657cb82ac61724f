// The SCEP client before a real gateway and before an impostor: enrols, renews, waits, and believes no other CA.
import { createHash, createPublicKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { certificatesOnly } from '../../pki/cms/degenerate.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { signAttributes } from '../../pki/cms/signing.ts'
import { decodePem } from '../../pki/pem.ts'
import { finishCertRep, prepareSuccess } from '../../pki/scep/cert-rep.ts'
import { readScepRequest } from '../../pki/scep/request.ts'
import { ScepClientConfig } from '../../scep-client/config.ts'
import { enrol } from '../../scep-client/enrol.ts'
import { readBody } from '../../scep-gateway/body.ts'
import { listening } from '../../scep-gateway/server.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { until } from '../support/issuing.ts'
import { caCertificates, newDevice, rsaKeys, selfSigned } from '../support/scep-device.ts'
import { makeScepScene, rsaProvider, startGateway, type TestGateway } from '../support/scep-gateway.ts'
import { startService, type Scene, type Service } from '../support/service.ts'

const commonName = 'client.example.org'
let service: Service
let scene: Scene
let gateway: TestGateway
let endEntityId: string
let ca: Buffer
let folder: string

beforeAll(async () => {
  service = await startService()
  scene = await makeScepScene(service)
  gateway = await startGateway(service, scene)
  endEntityId = await scene.newEndEntity({ commonName })
  const [, issuing] = await caCertificates(gateway.scepUrl)
  ca = issuing as Buffer
})
afterAll(async () => {
  await gateway.stop()
  await service.stop()
})
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'certwright-device-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const fingerprint = (der: Buffer) => createHash('sha256').update(der).digest('hex')

const challenge = async (of: Scene = scene, id = endEntityId): Promise<string> => {
  const made = await of.owner.post(`/api/v1/end-entities/${id}/scep-challenge`, { policyId: of.policyId })
  return made.body.challenge
}
const run = (members: Readonly<Record<string, string>>) =>
  enrol(
    ScepClientConfig.parse({
      SCEP_URL: gateway.scepUrl,
      SCEP_COMMON_NAME: commonName,
      SCEP_CA_FINGERPRINT: fingerprint(ca),
      SCEP_FOLDER: folder,
      ...members,
    }),
  )
const kept = () => decodePem(readFileSync(join(folder, 'device.pem'), 'utf8')).map(({ der }) => Buffer.from(der))

test('it enrols, keeps key and chain, and renews with a new key', async () => {
  const [leaf] = await run({ SCEP_CHALLENGE: await challenge() })
  expect(kept()[0]).toEqual(leaf)
  const key = readFileSync(join(folder, 'device.key'), 'utf8')
  const [renewed] = await run({})
  expect(kept()[0]).toEqual(renewed)
  expect(readFileSync(join(folder, 'device.key'), 'utf8')).not.toBe(key)
  const [one, other] = [leaf, renewed].map(der => parseCertificate(der as Buffer))
  expect(other?.subjectDn).toBe(one?.subjectDn)
  expect(other?.publicKeySpki).not.toEqual(one?.publicKeySpki)
})

/** A gateway whose policy has people decide, and how one asks there. */
const careful = async () => {
  const approving = await makeScepScene(service, { requiresManualApproval: true, requesterMayApprove: true })
  const own = await startGateway(service, approving)
  const id = await approving.newEndEntity({ commonName })
  const [, issuing] = await caCertificates(own.scepUrl)
  const members = {
    SCEP_URL: own.scepUrl,
    SCEP_CA_FINGERPRINT: fingerprint(issuing as Buffer),
    SCEP_CHALLENGE: await challenge(approving, id),
  }
  const decide = async (verb: string) => {
    const request = await until('the request waits', () => service.em().findOne(CertRequest, { endEntityId: id }))
    expect((await approving.owner.patch(`/api/v1/cert-requests/${request.id}/${verb}`, {})).status).toBe(200)
  }
  return { id, members, decide, stop: own.stop }
}

test('it polls while people decide', async () => {
  const { members, decide, stop } = await careful()
  try {
    const ended = run(members)
    await decide('approve')
    expect(parseCertificate((await ended)[0] as Buffer).subjectDn).toBe(`CN=${commonName}`)
  } finally {
    await stop()
  }
})

test('it fetches later what was decided when its patience had ended, for the key that it has kept', async () => {
  const { id, members, decide, stop } = await careful()
  try {
    const impatient = { ...members, SCEP_PATIENCE_SECONDS: '0' }
    for (let time = 0; time < 2; time += 1) await expect(run(impatient)).rejects.toThrow('still PENDING')
    await decide('approve')
    const [leaf] = await run(members)
    const key = createPublicKey(readFileSync(join(folder, 'device.key'))).export({ format: 'der', type: 'spki' })
    expect(parseCertificate(leaf as Buffer).publicKeySpki).toEqual(key)
    expect(await service.em().count(CertRequest, { endEntityId: id })).toBe(1)
    expect(readdirSync(folder).toSorted()).toEqual(['device.key', 'device.pem'])
  } finally {
    await stop()
  }
})

test('it begins anew when people have declined', async () => {
  const { id, members, decide, stop } = await careful()
  try {
    const impatient = { ...members, SCEP_PATIENCE_SECONDS: '0' }
    await expect(run(impatient)).rejects.toThrow('still PENDING')
    await decide('decline')
    await expect(run(members)).rejects.toThrow('The request was declined.')
    expect(readdirSync(folder)).toEqual([])
    expect(await service.em().count(CertRequest, { endEntityId: id })).toBe(1)
  } finally {
    await stop()
  }
})

test('what was stopped between key and chain is put in its place by the next', async () => {
  await run({ SCEP_CHALLENGE: await challenge() })
  const [key, chain] = ['device.key', 'device.pem'].map(name => readFileSync(join(folder, name)))
  renameSync(join(folder, 'device.pem'), join(folder, 'device.pem.next'))
  await run({})
  const [older, newer] = [chain, readFileSync(join(folder, 'device.pem'))].map(
    pem => new X509Certificate(pem as Buffer),
  )
  expect([older?.subject, older?.serialNumber === newer?.serialNumber]).toEqual([newer?.subject, false])
  expect(readFileSync(join(folder, 'device.key'))).not.toEqual(key)
})

test('a refusal is told with its reason, and nothing is kept', async () => {
  const wrong = `${endEntityId}:wrong`
  await expect(run({ SCEP_CHALLENGE: wrong })).rejects.toThrow('badRequest: The request is not authorised.')
  await expect(run({})).rejects.toThrow('nothing to renew')
  expect(existsSync(join(folder, 'device.key'))).toBe(false)
})

/** The gateway, as it would be if it said this of its capabilities; null: if it knew no GetCACaps. */
const saying = async (capabilities: string | null) => {
  const server = createServer((request, response) => {
    const { method = 'GET', url = '' } = request
    if (url.includes('operation=GetCACaps')) {
      response.statusCode = capabilities === null ? 404 : 200
      return void response.end(capabilities ?? '')
    }
    const onward = httpRequest({ port: gateway.port, host: '127.0.0.1', method, path: url }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    return void request.pipe(onward)
  })
  const port = await listening(server, 0, '127.0.0.1')
  const { pathname } = new URL(gateway.scepUrl)
  return { url: `http://127.0.0.1:${port}${pathname}`, stop: () => server.closeAllConnections() ?? server.close() }
}

test.each([
  ['nothing', null, 'POST', 'AES-128-CBC', 'SHA-256', 'PKCSReq'],
  ['DES3', 'DES3\n', 'GET', 'DES-EDE3-CBC', 'SHA-1', 'PKCSReq'],
  ['AES and SHA-512 alone', 'AES\r\nSHA-512\r\nRenewal', 'GET', 'AES-128-CBC', 'SHA-512', 'RenewalReq'],
  ['SCEPStandard', 'SCEPStandard\nRenewal\n', 'POST', 'AES-128-CBC', 'SHA-256', 'RenewalReq'],
])('a server that says %s is spoken to as it can', async (_, capabilities, ...manner) => {
  const { url, stop } = await saying(capabilities)
  try {
    await run({ SCEP_URL: url, SCEP_CHALLENGE: await challenge() })
    const before = gateway.logged().length
    await run({ SCEP_URL: url })
    const lines = gateway
      .logged()
      .slice(before)
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const { method, cipher, digest, messageType, outcome } = lines.find(line => line.messageType)
    expect([outcome, method, cipher, digest, messageType]).toEqual(['SUCCESS', ...manner])
  } finally {
    stop()
  }
})

test('a CA that signs itself is answered as it is, without a bag', async () => {
  const signsItself = await makeScepScene(service, {
    scepConfiguration: { signerMode: 'CA' },
    certificateProviderId: await rsaProvider(service),
  })
  const properties = { 'scep.getcacert.include.cachain.onmessage': 'false' }
  const own = await startGateway(service, signsItself, { properties })
  try {
    const response = await fetch(`${own.scepUrl}?operation=GetCACert`)
    expect(response.headers.get('content-type')).toBe('application/x-x509-ca-cert')
    const single = Buffer.from(await response.arrayBuffer())
    const members = {
      SCEP_URL: own.scepUrl,
      SCEP_CA_FINGERPRINT: fingerprint(single),
      SCEP_CHALLENGE: await challenge(signsItself, await signsItself.newEndEntity({ commonName })),
    }
    const [leaf] = await run(members)
    expect(new X509Certificate(leaf as Buffer).verify(new X509Certificate(single).publicKey)).toBe(true)
  } finally {
    await own.stop()
  }
})

test('a server of another CA is not believed', async () => {
  const secret = await challenge()
  await expect(run({ SCEP_CA_FINGERPRINT: '00'.repeat(32), SCEP_CHALLENGE: secret })).rejects.toThrow('fingerprint')
  // No message was sent: the challenge is still good.
  expect(await run({ SCEP_CHALLENGE: secret })).not.toHaveLength(0)
})

/** A server that shows these certificates and counts what it is sent. */
const impostor = async (
  certificates: readonly Buffer[],
): Promise<{ url: string; server: Server; posts: () => number }> => {
  let posts = 0
  const server = createServer((request, response) => {
    if (request.method === 'POST') posts += 1
    response.end(certificatesOnly(certificates))
  })
  return { url: `http://127.0.0.1:${await listening(server, 0, '127.0.0.1')}/scep`, server, posts: () => posts }
}

test('a signer that the known CA has not issued gets no challenge', async () => {
  const foreign = await selfSigned('SCEP signer', await rsaKeys())
  const { url, server, posts } = await impostor([foreign, ca])
  const asked = run({ SCEP_URL: url, SCEP_CHALLENGE: await challenge() })
  try {
    await expect(asked).rejects.toThrow('not issued by the known CA')
    expect(posts()).toBe(0)
  } finally {
    server.close()
  }
})

test('a device to which the known CA has issued is no server, and gets no challenge', async () => {
  const [leaf] = await run({ SCEP_CHALLENGE: await challenge() })
  const { url, server, posts } = await impostor([leaf as Buffer, ca])
  const asked = run({ SCEP_URL: url, SCEP_CHALLENGE: await challenge() })
  try {
    await expect(asked).rejects.toThrow('not that of a SCEP signer')
    expect(posts()).toBe(0)
  } finally {
    server.close()
  }
})

test('a certificate for another key is not kept', async () => {
  const own = await newDevice('CA', await rsaKeys())
  const server = createServer((request, response) => {
    const { method, url = '' } = request
    const bag = certificatesOnly([own.certificate])
    if (method === 'GET') return void response.end(url.includes('GetCACaps') ? '' : bag)
    const answer = async () => {
      const unsigned = prepareSuccess(readScepRequest((await readBody(request, 65_536)) as Buffer), bag)
      const { signature } = await signAttributes(unsigned.toSign, own.key, { digest: 'SHA-256', scheme: 'PKCS1' })
      response.end(finishCertRep(unsigned, { signature, signer: own.certificate }))
    }
    return void answer()
  })
  const url = `http://127.0.0.1:${await listening(server, 0, '127.0.0.1')}/scep`
  const members = { SCEP_CA_FINGERPRINT: fingerprint(own.certificate), SCEP_CHALLENGE: 'any' }
  try {
    await expect(run({ SCEP_URL: url, ...members })).rejects.toThrow('not for the key of the device')
    expect(existsSync(join(folder, 'device.pem'))).toBe(false)
  } finally {
    server.close()
  }
})
