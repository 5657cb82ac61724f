// SCEP over HTTP: capabilities, certificates, paths, ways to send a message; ../shared/reference/scep.md section 7.
import { randomUUID, X509Certificate } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { readBag } from '../../pki/cms/degenerate.ts'
import type { SentRequest } from '../../pki/scep/client.ts'
import { closing } from '../support/closing.ts'
import { connect, lookupContent, type Connection } from '../support/scep-device.ts'
import { makeScepScene, rsaProvider, scepClient, startGateway } from '../support/scep-gateway.ts'
import type { TestGateway } from '../support/scep-gateway.ts'
import { enrolAt, startScep, type Owner, type ScepSetting } from '../support/scep-setting.ts'
import { sendRaw } from '../support/raw-http.ts'
import type { Scene } from '../support/service.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let setting: ScepSetting
let owner: Owner
let connection: Connection

beforeAll(async () => {
  setting = kept(await startScep())
  owner = await enrolAt(setting.gateway.scepUrl, setting.scene)
  connection = await connect(setting.gateway.scepUrl, owner.device)
})

const get = async (url: string) => {
  const response = await fetch(url)
  return { status: response.status, type: response.headers.get('content-type'), response }
}
const octetsOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer())
const subjectsOf = (certificates: readonly Buffer[]) => certificates.map(der => new X509Certificate(der).subject)
const policyRoute = () => `${setting.gateway.url}/${setting.scene.policyId}/scep`

describe('scep case 1: GetCACaps', () => {
  const words = ['AES', 'DES3', 'POSTPKIOperation', 'Renewal', 'SCEPStandard', 'SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']

  test.each(['/scep', '/scep/POLICY', '/POLICY/scep', '/cgi-bin/pkiclient.exe'])(
    'at %s, one word a line',
    async path => {
      const url = `${setting.gateway.url}${path.replace('POLICY', setting.scene.policyId)}`
      for (const more of ['', '&message=0', '&message=']) {
        const { status, type, response } = await get(`${url}?operation=GetCACaps${more}`)
        expect([status, type, await response.text()]).toEqual([200, 'text/plain', `${words.join('\n')}\n`])
        expect(response.headers.get('content-length')).not.toBeNull()
      }
    },
  )

  test('without legacy algorithms neither DES3 nor SHA-1 is announced', async () => {
    const properties = { 'scep.legacy-algorithms': 'false' }
    const modern = opened(await startGateway(setting.service, setting.scene, { properties }))
    const { response } = await get(`${modern.scepUrl}?operation=GetCACaps`)
    const announced = (await response.text()).trimEnd().split('\n')
    expect(announced).toEqual(words.filter(word => word !== 'DES3' && word !== 'SHA-1'))
  })
})

describe('GetCACert', () => {
  let own: Scene
  let ofCa: TestGateway
  const messages = ['ca', 'CAIdentifier', 'default', '0', '1', 'Built-in%20CA', '%E2%82%AC%20%00', 'a'.repeat(200)]

  beforeAll(async () => {
    own = await makeScepScene(setting.service, {
      scepConfiguration: { signerMode: 'CA' },
      certificateProviderId: await rsaProvider(setting.service),
    })
    ofCa = kept(await startGateway(setting.service, own))
  })

  test('scep case 2: in mode CA it is the DER certificate of the CA', async () => {
    for (const query of ['operation=GetCACert', 'operation=GetCACert&message=', 'operation=GetCACert&message']) {
      const { status, type, response } = await get(`${ofCa.scepUrl}?${query}`)
      expect([status, type]).toEqual([200, 'application/x-x509-ca-cert'])
      const ca = new X509Certificate(await octetsOf(response))
      expect([ca.ca, ca.subject]).toEqual([true, expect.stringContaining('Issuing CA')])
      const enrolled = await enrolAt(ofCa.scepUrl, own)
      expect(new X509Certificate(enrolled.certificate).verify(ca.publicKey)).toBe(true)
    }
  })

  test.each(messages)('scep case 3: with the message %s it is the whole chain, root last', async message => {
    for (const [url, count] of [
      [ofCa.scepUrl, 2],
      [setting.gateway.scepUrl, 3],
    ] as const) {
      const { status, type, response } = await get(`${url}?operation=GetCACert&message=${message}`)
      expect([status, type]).toEqual([200, 'application/x-x509-ca-ra-cert'])
      const all = readBag(await octetsOf(response)).certificates
      expect(all).toHaveLength(count)
      const [issuing, root] = all.slice(-2).map(der => new X509Certificate(der))
      expect(root?.checkIssued(root)).toBe(true)
      expect(issuing?.verify(root?.publicKey as never)).toBe(true)
    }
  })

  test('scep case 2: in mode RA it is signer and chain, and the signer can encrypt and sign', async () => {
    const { type, response } = await get(`${policyRoute()}?operation=GetCACert`)
    expect(type).toBe('application/x-x509-ca-ra-cert')
    const [signer, ca, ...rest] = readBag(await octetsOf(response)).certificates
    // strongSwan asks without a message, and takes nothing without a root.
    expect(rest).toHaveLength(1)
    expect(new X509Certificate(signer as Buffer).issuer).toBe(new X509Certificate(ca as Buffer).subject)
    expect(new X509Certificate(signer as Buffer).publicKey.asymmetricKeyType).toBe('rsa')
  })

  test('scep case 4: without the chain setting a message changes nothing', async () => {
    const properties = { 'scep.getcacert.include.cachain.onmessage': 'false' }
    const [ra, ca] = [
      opened(await startGateway(setting.service, setting.scene, { properties })),
      opened(await startGateway(setting.service, own, { properties })),
    ]
    for (const message of ['', 'ca', '0']) {
      const ofRa = await get(`${ra.scepUrl}?operation=GetCACert&message=${message}`)
      expect(readBag(await octetsOf(ofRa.response)).certificates).toHaveLength(2)
      const single = await get(`${ca.scepUrl}?operation=GetCACert&message=${message}`)
      expect(single.type).toBe('application/x-x509-ca-cert')
      expect(subjectsOf([await octetsOf(single.response)])).toEqual([expect.stringContaining('Issuing CA')])
    }
  })
})

/** A message whose answer shows that it was read: GetCert for the device's own certificate. */
const own = (): Promise<SentRequest> =>
  connection.write({ messageType: 'GetCert', content: lookupContent(owner.certificate) })
const expectOwn = (body: Buffer, request: SentRequest): void =>
  expect(connection.read(body, request).bag?.certificates).toEqual([owner.certificate])

const forms: Readonly<Record<string, (base64: string) => string>> = {
  'a literal +': text => text.replaceAll('=', '%3D'),
  'everything escaped': text => encodeURIComponent(text),
  'nothing escaped': text => text,
  'the alphabet of URLs': text => text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
  'line breaks': text => (text.match(/.{1,64}/g) ?? []).map(line => `${encodeURIComponent(line)}%0A`).join(''),
  'line breaks of both kinds': text => `${(text.match(/.{1,76}/g) ?? []).join('%0D%0A')}%0D%0A`,
}

describe('scep case 38: PKIOperation by GET', () => {
  const target = (message: string) => `/scep/${setting.scene.policyId}?operation=PKIOperation&message=${message}`

  test.each(Object.keys(forms))('with %s', async form => {
    const request = await own()
    const base64 = forms[form]?.(request.der.toString('base64')) ?? ''
    const answer = await sendRaw(setting.gateway.port, `GET ${target(base64)} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect([answer.status, /content-type: (\S+)/i.exec(answer.head)?.[1]]).toEqual([200, 'application/x-pki-message'])
    expectOwn(answer.body, request)
  })

  test.each([
    ['of HTTP/1.0, as Cisco sends it', 'HTTP/1.0\r\n\r\n'],
    ['of HTTP/1.0 with a host', 'HTTP/1.0\r\nHost: x\r\nUser-Agent: Mozilla/4.0\r\n\r\n'],
    ['without a host, as strongSwan sends it', 'HTTP/1.1\r\n\r\n'],
  ])('%s', async (_, rest) => {
    const request = await own()
    const answer = await sendRaw(setting.gateway.port, `GET ${target(request.der.toString('base64'))} ${rest}`)
    expect(answer.status).toBe(200)
    expect(answer.head.toLowerCase()).not.toContain('transfer-encoding')
    expect(answer.head.toLowerCase()).toContain(`content-length: ${answer.body.length}`)
    expectOwn(answer.body, request)
  })

  test.each([20_000, 60_000])('in a URL of %i octets', async octets => {
    const small = (await own()).der.length
    const padded = Math.floor(((octets - 200) * 3) / 4) - small
    // Certificates that are not needed make a message long, as the chain of certmonger does.
    const chain = Array.from({ length: Math.floor(padded / owner.certificate.length) }, () => owner.certificate)
    const request = await connection.write({
      messageType: 'GetCert',
      content: lookupContent(owner.certificate),
      chain,
    })
    const path = target(request.der.toString('base64'))
    expect(path.length).toBeGreaterThan(octets * 0.9)
    const answer = await sendRaw(setting.gateway.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(answer.status).toBe(200)
    expectOwn(answer.body, request)
  })

  test.each([
    '/scep/pkiclient.exe',
    '/scep/POLICY/pkiclient.exe',
    '/POLICY/scep/pkiclient.exe',
    '/cgi-bin/pkiclient.exe',
  ])('at %s', async path => {
    const request = await own()
    const at = path.replace('POLICY', setting.scene.policyId)
    const message = encodeURIComponent(request.der.toString('base64'))
    const { status, response } = await get(`${setting.gateway.url}${at}?operation=PKIOperation&message=${message}`)
    expect(status).toBe(200)
    expectOwn(await octetsOf(response), request)
  })

  test.each([
    '',
    '%',
    '%zz',
    '$$$$',
    'AAAA%00',
    '%C3%28',
    encodeURIComponent('<html>'),
    Buffer.alloc(60, 0x5a).toString('base64url'),
  ])('the message %s is 400', async message => {
    const answer = await sendRaw(setting.gateway.port, `GET ${target(message)} HTTP/1.1\r\n\r\n`)
    expect([answer.status, /content-type: ([^;\r]+)/i.exec(answer.head)?.[1]]).toEqual([400, 'text/plain'])
  })
})

describe('scep case 40: addresses', () => {
  test('both forms of a policy route, and its id in capitals, are the same', async () => {
    const { policyId } = setting.scene
    for (const path of [`/scep/${policyId}`, `/${policyId}/scep`, `/${policyId.toUpperCase()}/scep/`]) {
      const request = await own()
      const body = new Uint8Array(request.der)
      const response = await fetch(`${setting.gateway.url}${path}?operation=PKIOperation`, { method: 'POST', body })
      expect(response.status).toBe(200)
      expectOwn(await octetsOf(response), request)
    }
  })

  test('no policy named and none default is 400 INVALID_IDENTIFIER, as JSON', async () => {
    const client = await scepClient(setting.service, setting.scene, { isDefault: false })
    const bare = opened(await startGateway(setting.service, setting.scene, { client }))
    for (const operation of ['GetCACaps', 'GetCACert', 'PKIOperation&message=AAAA']) {
      const { status, type, response } = await get(`${bare.url}/scep?operation=${operation}`)
      expect([status, type]).toEqual([400, 'application/json; charset=utf-8'])
      expect(await response.json()).toMatchObject({ apiError: 'INVALID_IDENTIFIER', errorMessage: expect.any(String) })
    }
    expect((await get(`${bare.scepUrl}?operation=GetCACert`)).status).toBe(200)
  })

  test('a policy that is no UUID is 400, an unknown one, one without SCEP and one of others 404', async () => {
    const closed = await makeScepScene(setting.service, { scepConfiguration: null })
    const foreign = await makeScepScene(setting.service)
    const statuses: number[] = []
    for (const id of ['router-7', '0', randomUUID(), closed.policyId, foreign.policyId])
      statuses.push((await get(`${setting.gateway.url}/scep/${id}?operation=GetCACert`)).status)
    expect(statuses).toEqual([400, 400, 404, 404, 404])
    const text = await (await get(`${setting.gateway.url}/scep/router-7?operation=GetCACert`)).response.json()
    expect(text).toMatchObject({ apiError: 'INVALID_IDENTIFIER' })
  })

  test.each(['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])('%s is 405 and tells what is allowed', async method => {
    const response = await fetch(`${setting.gateway.scepUrl}?operation=PKIOperation`, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST'])
  })

  test.each(['GetNextCACert', 'getcacert', 'constructor', '__proto__', '', 'PKIOperation%00'])(
    'the operation "%s" is 400 in plain text',
    async operation => {
      const { status, type, response } = await get(`${setting.gateway.scepUrl}?operation=${operation}`)
      expect([status, type]).toEqual([400, 'text/plain; charset=utf-8'])
      expect(await response.text()).not.toMatch(/[<>]/)
    },
  )

  test('a challenge that somebody puts into the path is not in the log', async () => {
    const { policyId } = setting.scene
    const secret = 'Xk3SecretOfADevice'
    const paths = [
      `/scep/${policyId}%3A${secret}`,
      `/${policyId}:${secret}/scep`,
      `/${secret}`,
      `/scep/${policyId}/${secret}`,
    ]
    for (const path of paths)
      expect([400, 404]).toContain((await get(`${setting.gateway.url}${path}?operation=GetCACaps`)).status)
    expect(setting.gateway.logged()).not.toContain(secret)
    expect(setting.gateway.logged()).toMatch(new RegExp(`"path":"/scep/${policyId}/\\*"`))
  })

  test('a path of nobody is 404', async () => {
    for (const path of ['/', '/favicon.ico', '/api/v1/realms', `/scep/${setting.scene.policyId}/more`])
      expect((await get(`${setting.gateway.url}${path}`)).status).toBe(404)
  })
})
