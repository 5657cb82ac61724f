// The gateway as operators run it: its listeners, its configuration, its log, its metrics, and its end.
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { freePort } from '../../embedded/processes/ports.ts'
import type { KeyPair } from '../../pki/keys/key-pair.ts'
import { readConfig } from '../../scep-gateway/config.ts'
import { openssl, tryOpenssl, Workbench } from '../pki/openssl.ts'
import { closing } from '../support/closing.ts'
import { until } from '../support/issuing.ts'
import { connect, newDevice, postMessage, rsaKeys } from '../support/scep-device.ts'
import { fileOf, makeScepScene } from '../support/scep-gateway.ts'
import { runGateway, startGatewayProcess, type ProcessOptions } from '../support/scep-gateway-process.ts'
import { startServiceProxy } from '../support/scep-service-proxy.ts'
import { enrolAt, enrolment, knownIn, newName } from '../support/scep-setting.ts'
import { startService, type Scene, type Service } from '../support/service.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
const bench = new Workbench()
let service: Service
let scene: Scene
let keys: KeyPair

beforeAll(async () => {
  kept({ stop: () => bench.clear() })
  service = kept(await startService())
  scene = await makeScepScene(service)
  keys = await rsaKeys()
})

const start = async (options: ProcessOptions = {}) => opened(await startGatewayProcess(service, scene, options))

/** Connects to a port, and tells what was agreed and shown. */
const shake = async (port: number, options: ConnectionOptions = {}) => {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  try {
    await once(socket, 'secureConnect')
    return { protocol: socket.getProtocol(), shown: new X509Certificate(socket.getPeerX509Certificate()?.raw ?? '') }
  } finally {
    socket.destroy()
  }
}

describe('HTTPS', () => {
  test('without a certificate has a self-signed one for this host, another one at each start, told in the log', async () => {
    const [one, other] = [await start(), await start()]
    const { shown } = await shake(one.ports.https)
    expect([shown.verify(shown.publicKey), shown.ca, shown.issuer]).toEqual([true, false, shown.subject])
    for (const name of ['localhost', hostname()]) expect(shown.checkHost(name)).toBe(name)
    expect(shown.checkIP('127.0.0.1')).toBe('127.0.0.1')
    const lasts = Date.parse(shown.validTo) - Date.now()
    expect([lasts > 364 * 86_400_000, lasts < 367 * 86_400_000]).toEqual([true, true])
    expect(one.lines().map(({ fingerprint256 }) => fingerprint256)).toContain(shown.fingerprint256)
    expect((await shake(other.ports.https)).shown.fingerprint256).not.toBe(shown.fingerprint256)
    // Whoever trusts it is answered without a word against it.
    const trusting = httpsRequest({
      port: one.ports.https,
      host: 'localhost',
      family: 4,
      path: '/health',
      ca: shown.toString(),
    })
    trusting.end()
    const [answer] = await once(trusting, 'response')
    expect(answer.resume().statusCode).toBe(200)
  })

  const files = async () => {
    const [certificate, key] = [await bench.newPath(), await bench.newPath()]
    const subject = ['-subj', '/CN=scep.example.org', '-addext', 'subjectAltName=DNS:scep.example.org']
    await openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, ...subject)
    return { 'server.ssl.certificate': certificate, 'server.ssl.private-key': key }
  }

  test('with a certificate and its key shows that one, and asks for none of the device', async () => {
    const properties = await files()
    const { ports } = await start({ properties })
    const certificate = new X509Certificate(await readFile(properties['server.ssl.certificate']))
    expect((await shake(ports.https)).shown.fingerprint256).toBe(certificate.fingerprint256)
    for (const version of ['-tls1_2', '-tls1_3']) {
      const { text } = await tryOpenssl('s_client', '-connect', `127.0.0.1:${ports.https}`, '-msg', version)
      expect(text).toContain('Handshake')
      expect(text).toMatch(/, Certificate\n/)
      expect(text).not.toContain('CertificateRequest')
    }
  })

  test('is TLS 1.2 or 1.3', async () => {
    const { ports } = await start()
    const old = { ciphers: 'DEFAULT@SECLEVEL=0', minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } as const
    await expect(shake(ports.https, old)).rejects.toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
      expect((await shake(ports.https, { minVersion: version, maxVersion: version })).protocol).toBe(version)
  })

  test.each<[string, (properties: Record<string, string>) => Promise<Record<string, string>>, RegExp]>([
    [
      'that is not there',
      async made => ({ ...made, 'server.ssl.certificate': '/nowhere/scep.pem' }),
      /^server\.ssl\.certificate: ENOENT/m,
    ],
    [
      'without its key',
      async made => ({ 'server.ssl.certificate': made['server.ssl.certificate'] ?? '' }),
      /^server\.ssl\.certificate and server\.ssl\.private-key belong together$/m,
    ],
    [
      'that is none',
      async made => ({ ...made, 'server.ssl.certificate': await bench.file('none') }),
      /^server\.ssl\.certificate, server\.ssl\.private-key: /m,
    ],
    [
      'of another key',
      async made => ({ ...made, 'server.ssl.private-key': (await files())['server.ssl.private-key'] }),
      /^server\.ssl\.certificate, server\.ssl\.private-key: .*mismatch/m,
    ],
  ])('with a certificate %s does not start', async (_, change, line) => {
    const own = opened(await runGateway({ ...least, ...(await change(await files())) }))
    expect(await own.ended).toBe(2)
    expect(own.output()).toMatch(line)
    expect(own.output().trim().split('\n')).toHaveLength(2)
  })
})

/** What a gateway does not start without. */
const least = {
  'server.port': '0',
  'server.address': '127.0.0.1',
  'scep.service.base-url': 'http://127.0.0.1:9/',
  'scep.service.token-url': 'http://127.0.0.1:9/token',
  'scep.service.client-id': 'gateway',
  'scep.service.client-secret': 'a secret of the gateway',
}

test('plain HTTP and metrics are off unless they are configured', async () => {
  const own = opened(await runGateway({ ...least, 'server.http.port': '', 'server.metrics.port': '' }))
  await until('it listens', async () => own.output().includes('HTTPS listens'))
  expect(await own.stop()).toBe(0)
  expect(own.lines().flatMap(({ msg }) => (msg?.endsWith('listens') ? [msg] : []))).toEqual(['HTTPS listens'])
  expect(own.output()).not.toContain(least['scep.service.client-secret'])
})

describe('the configuration', () => {
  test('is the environment, else the file, else the default; what is empty is not there', async () => {
    const own = await start({
      properties: { 'scep.legacy-algorithms': 'false', 'scep.max-body-bytes': '2000' },
      environment: { SCEP_LEGACY_ALGORITHMS: 'true', SCEP_MAX_BODY_BYTES: '' },
    })
    expect(await (await fetch(`${own.scepUrl}?operation=GetCACaps`)).text()).toContain('DES3')
    const statuses = [2000, 2001].map(async octets => (await postMessage(own.scepUrl, Buffer.alloc(octets))).status)
    expect(await Promise.all(statuses)).toEqual([400, 413])
    const bare = await start()
    const longest = [131_072, 131_073].map(
      async octets => (await postMessage(bare.scepUrl, Buffer.alloc(octets))).status,
    )
    expect(await Promise.all(longest)).toEqual([400, 413])
  })

  const wrong: readonly (readonly [Record<string, string>, NodeJS.ProcessEnv, string])[] = [
    [{ 'scep.static-pasword': 'known to all of them' }, {}, 'scep.static-pasword: there is no such property'],
    [{ 'scep.legacy-algorithm': 'false' }, {}, 'scep.legacy-algorithm: there is no such property'],
    [{ 'scep.wait-seconds': '301' }, {}, 'scep.wait-seconds: Too big: expected number to be <=300'],
    [{ 'scep.wait-seconds': 'ten' }, {}, 'scep.wait-seconds: Invalid input: expected number, received NaN'],
    [{}, { SCEP_WAIT_SECONDS: '-1' }, 'scep.wait-seconds: Too small: expected number to be >=0'],
    [{ 'server.port': '65536' }, {}, 'server.port: Too big: expected number to be <=65535'],
    [{ 'scep.max-body-bytes': '10' }, {}, 'scep.max-body-bytes: Too small: expected number to be >=1024'],
    [
      { 'scep.static-password': 'short' },
      {},
      'scep.static-password: Too small: expected string to have >=8 characters',
    ],
    [{ 'scep.legacy-algorithms': 'yes' }, {}, 'scep.legacy-algorithms: Invalid option: expected one of "true"|"false"'],
    ...['certwright:8080', 'certwright', 'http://', 'ftp://certwright'].map(
      url => [{ 'scep.service.base-url': url }, {}, 'scep.service.base-url: Invalid URL'] as const,
    ),
    [{ 'scep.service.client-secret': '' }, {}, 'scep.service.client-secret: is missing'],
    [
      { 'scep.service.client-secret': '' },
      { SCEP_SERVICE_CLIENT_SECRET: '  ' },
      'scep.service.client-secret: is missing',
    ],
    [{}, { SERVER_PORT: '0x2650' }, 'server.port: Invalid input: expected number, received NaN'],
    [{ SCEP_WAIT_SECONDS: '4' }, {}, 'SCEP_WAIT_SECONDS: there is no such property'],
    [
      { 'scep.static-password': 'a long \\u00zz one' },
      {},
      '\\u is followed by four hexadecimal digits; a backslash is written twice',
    ],
    ...[
      'http://u:p@127.0.0.1:8080',
      'http://127.0.0.1:8080/?a=1',
      'http://127.0.0.1:8080/#a',
      'http://127.0.0.1/api/v1/',
    ].map(
      url =>
        [
          { 'scep.service.base-url': url },
          {},
          'scep.service.base-url: is an address without /api/v1, user, password, query and fragment',
        ] as const,
    ),
  ]
  test.each(wrong)('%j and %j do not start: the line names the property', async (properties, environment, line) => {
    const own = opened(await runGateway({ ...least, ...properties }, environment))
    expect(await own.ended).toBe(2)
    expect(own.output()).toBe(`The configuration of the SCEP gateway is wrong:\n${line}\n`)
  })

  test.each<[string, NodeJS.ProcessEnv, RegExp]>([
    ['an address of nobody', { SERVER_ADDRESS: 'nobody.invalid' }, /^server\.address, server\.port: .*ENOTFOUND/m],
    ['an address of others', { SERVER_ADDRESS: '192.0.2.1' }, /^server\.address, server\.port: .*EADDRNOTAVAIL/m],
    ['a port that is taken', { SERVER_HTTP_PORT: 'same' }, /^server\.address, server\.http\.port: .*EADDRINUSE/m],
  ])('%s does not start: the line names the properties', async (_, environment, line) => {
    const port = String(await freePort())
    const given = Object.entries(environment).map(([name, value]) => [name, value === 'same' ? port : value])
    const own = opened(await runGateway({ ...least, 'server.port': port }, Object.fromEntries(given)))
    expect(await own.ended).toBe(2)
    expect(own.output()).toMatch(line)
  })

  test('of a file of Windows is read', () => {
    const file = `\uFEFF# made in C:\\users\n${fileOf({ ...least, 'server.ssl.certificate': 'C:\\\\users\\\\scep.pem' })}`
    const config = { file, environment: { SERVER_SSL_PRIVATE_KEY: 'scep.key' } }
    expect(readConfig(config.file, config.environment)['server.ssl.certificate']).toBe('C:\\users\\scep.pem')
  })

  test('of a file that is not there does not start', async () => {
    const own = opened(await runGateway(least, { SCEP_PROPERTIES: '/nowhere/application.properties' }))
    expect(await own.ended).toBe(2)
    expect(own.output()).toContain('\nSCEP_PROPERTIES: ENOENT')
  })

  test('with a static password is warned of, without telling it', async () => {
    const password = 'known to all of them'
    const own = await start({ properties: { 'scep.static-password': password } })
    const warnings = own.lines().filter(({ level }) => level === 40)
    expect(warnings.map(({ msg }) => msg)).toEqual([expect.stringContaining('scep.static-password is set')])
    expect((await start()).lines().filter(({ level }) => level === 40)).toEqual([])
    expect(own.output()).not.toContain(password)
  })
})

test('the log has a line for each message with its transaction, and nothing that is secret', async () => {
  const own = await start({ properties: { 'log.level': 'trace' } })
  const name = newName()
  const { challenge, password, endEntityId } = await knownIn(scene, name)
  const connection = await connect(own.scepUrl, await newDevice(name, keys))
  const wrong = `${endEntityId}:guessed-by-a-device`
  const said = []
  for (const given of [challenge, wrong, `without-a-colon ${password}`]) {
    const request = await connection.write(await enrolment(name, keys, { challenge: given }))
    said.push([request.transactionId, (await connection.send(request)).status])
    await fetch(`${own.scepUrl}?operation=PKIOperation&message=${encodeURIComponent(request.der.toString('base64'))}`)
  }
  expect(said.map(([, status]) => status)).toEqual(['SUCCESS', 'FAILURE', 'FAILURE'])
  // Its last line has come when it has ended.
  expect(await own.stop()).toBe(0)
  const transactions = own.lines().flatMap(({ transactionId }) => transactionId ?? [])
  expect(transactions).toEqual(said.flatMap(([id]) => [id, id]))
  for (const secret of [password, 'guessed-by', 'without-a-colon', 'known to the test', 'Bearer', 'eyJ', 'message='])
    expect([secret, own.output().includes(secret)]).toEqual([secret, false])
})

test('/health is at the listeners of devices, /metrics at its own, and counts what was asked and how it ended', async () => {
  const own = await start()
  await enrolAt(own.scepUrl, scene)
  const { http, metrics } = own.ports
  const status = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  expect(await Promise.all(['/health', '/health/live', '/health/ready'].map(path => status(http, path)))).toEqual([
    200, 200, 200,
  ])
  expect([await status(http, '/metrics'), await status(metrics, '/health')]).toEqual([404, 404])
  await postMessage(own.scepUrl, Buffer.from('no message'))
  const response = await fetch(`http://127.0.0.1:${metrics}/metrics`)
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const text = await response.text()
  const count = (labels: string) =>
    new RegExp(`^certwright_scep_seconds_count\\{${labels}\\} (\\d+)$`, 'm').exec(text)?.[1]
  expect(count('operation="PKIOperation",outcome="SUCCESS",status="200"')).toBe('1')
  expect(count('operation="PKIOperation",outcome="UNREADABLE",status="400"')).toBe('1')
  expect(count('operation="GetCACert",outcome="none",status="200"')).toBe('1')
  expect(text).toMatch(/^certwright_scep_call_seconds_count\{call="issue"\} 1$/m)
  expect(text).toMatch(/^certwright_scep_connections \d+$/m)
})

describe('asked to end while a device waits for its certificate', () => {
  const waiting = async (properties: Record<string, string> = {}) => {
    const proxy = opened(await startServiceProxy(service.url))
    const own = await start({ properties: { 'scep.service.base-url': proxy.url, ...properties } })
    const name = newName()
    const { challenge } = await knownIn(scene, name)
    const connection = await connect(own.scepUrl, await newDevice(name, keys))
    const issue = 'POST /api/v1/certificates/cert-requests/'
    proxy.hold(call => call.startsWith(issue))
    const sent = await connection.write(await enrolment(name, keys, { challenge }))
    const response = postMessage(own.scepUrl, sent.der)
    await until('the device waits', async () => proxy.calls.some(call => call.startsWith(issue)))
    own.signal('SIGTERM')
    await until('nobody else is let in', () =>
      fetch(`${own.scepUrl}?operation=GetCACaps`).then(
        () => false,
        () => true,
      ),
    )
    const ended = async () => {
      const answer = await response
      // The last answer of its connection: the next request goes to another process.
      expect(answer.headers.get('connection')).toBe('close')
      return connection.read(Buffer.from(await answer.arrayBuffer()), sent)
    }
    return { proxy, own, ended }
  }

  test('the process answers it, and ends', async () => {
    const { proxy, own, ended } = await waiting()
    proxy.release()
    expect(['SUCCESS', 'PENDING']).toContain((await ended()).status)
    expect(await own.ended).toBe(0)
  })

  test('and that takes long: it is told PENDING, and the process ends', async () => {
    const { own, ended } = await waiting({ 'scep.wait-seconds': '300' })
    expect((await ended()).status).toBe('PENDING')
    expect(await own.ended).toBe(0)
  })
})
