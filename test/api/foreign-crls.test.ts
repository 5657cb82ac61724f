// The revocation lists of certificates that were issued elsewhere, fetched from where they say (contract 10.3).
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { FetchedCrl } from '../../storage/rows/fetched-crl.ts'
import { indexLine } from '../pki/ocsp-parties.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import type { ApiCaller } from '../support/api.ts'
import { makeForeignCertificate, type ForeignCertificate } from '../support/foreign-certificates.ts'
import { makeForeignCrl } from '../support/foreign-crls.ts'
import { importPem, prepareImports, type ImportSetup } from '../support/importing.ts'
import { startResponder } from '../support/ocsp-responder.ts'
import { adminOf } from '../support/rollover.ts'
import { readCrl } from '../support/revoking.ts'
import { startService, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let setup: ImportSetup
let admin: ApiCaller
let good: Buffer

beforeAll(async () => {
  service = await startService()
  setup = await prepareImports(service, bench)
  admin = await adminOf(service)
  good = await makeForeignCrl(bench, { ca: setup.issuing })
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map(stop => stop()))
})

const serialOf = ({ pem }: ForeignCertificate): string => parseCertificatePem(pem).serialNumber

/** A server of the loopback that hands out a list, for this test. */
const point = async (answer: Buffer | ((response: ServerResponse) => unknown)) => {
  const started = await startResponder((_, response) =>
    Buffer.isBuffer(answer) ? response.end(answer) : answer(response),
  )
  stops.push(started.stop)
  return started
}
const naming = (...urls: readonly string[]): Promise<ForeignCertificate> =>
  setup.leaf({ extension: `crlDistributionPoints=${urls.map(url => `URI:${url}`).join(',')}` })

const imported = async (leaf: ForeignCertificate): Promise<string> => {
  const { body } = await importPem(setup.scene, [leaf, setup.issuing, setup.root].map(({ pem }) => pem).join(''))
  return body.importedCertificates.find((one: { serialNumber: string }) => one.serialNumber === serialOf(leaf)).id
}
const read = (id: string) => setup.scene.owner.get(`/api/v1/certificates/${id}/crl`)
const ask = async (leaf: ForeignCertificate) => read(await imported(leaf))
const problem = (url: string, what: string) => ({
  status: 422,
  body: { apiError: 'CERTIFICATE_PROVIDER_ERROR', errorMessage: `The distribution point ${url} ${what}.` },
})

describe('a list', () => {
  test('is fetched, told with its dates, and openssl finds the same entries in it', async () => {
    const { url, requests } = await point(good)
    const leaf = await naming(url)
    const id = await imported(leaf)
    const { status, body } = await read(id)
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, issuerDn: 'CN=Foreign CA', fileName: expect.stringMatching(/\.crl$/) })
    expect(Buffer.from(body.crl, 'base64')).toEqual(good)
    expect(Date.parse(body.nextUpdate) - Date.parse(body.thisUpdate)).toBe(86_400_000)
    expect((await readCrl(bench, good)).length).toBe(0)
    expect(requests).toMatchObject([{ method: 'GET', url: '/ocsp' }])
  })

  test('is asked for once while it is fresh, however many ask', async () => {
    const { url, requests } = await point(good)
    const id = await imported(await naming(url))
    const replies = await Promise.all([read(id), read(id), read(id)])
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await read(id)).status).toBe(200)
    expect(requests).toHaveLength(1)
  })

  test('is taken from the next address where one has none', async () => {
    const first = await point(response => response.writeHead(404).end())
    const second = await point(good)
    const { status } = await ask(await naming(first.url, second.url))
    expect([status, first.requests.length, second.requests.length]).toEqual([200, 1, 1])
  })

  test('of today takes the place of the one of yesterday, which never comes back', async () => {
    const old = await makeForeignCrl(bench, { ca: setup.issuing, dates: ['20260101000000Z', '20991231000000Z'] })
    let answer = good
    const { url } = await point(response => response.end(answer))
    const id = await imported(await naming(url))
    await read(id)
    answer = old
    await service.em().nativeUpdate(FetchedCrl, { url }, { fetchedDate: new Date(0) })
    expect(Buffer.from((await read(id)).body.crl, 'base64')).toEqual(good)
  })

  test('that names a certificate as revoked makes it invalid', async () => {
    const leaf = await naming('http://localhost:1/')
    const index = indexLine(serialOf(leaf), '250102030405Z,keyCompromise')
    const { url } = await point(await makeForeignCrl(bench, { ca: setup.issuing, index }))
    await importPem(setup.scene, [setup.issuing, setup.root].map(({ pem }) => pem).join(''))
    const { fingerprint } = parseCertificatePem(setup.root.pem)
    await service.em().nativeUpdate(Ca, { fingerprint }, { trusted: true })
    const validate = async () =>
      (await admin.post('/api/v1/certificates/validate', { pemCertificate: leaf.pem })).body.result
    expect(await validate()).toBe(true)
    await ask(await naming(url))
    expect(await validate()).toBe(false)
  })

  test('counts whichever certificate of its CA a path goes through', async () => {
    const ca = await makeForeignCertificate(bench, { subject: '/CN=Renewed CA', isCa: true, issuer: setup.root })
    const below = (url: string) => setup.leaf({ issuer: ca, extension: `crlDistributionPoints=URI:${url}` })
    const leaf = await below('http://localhost:1/')
    const index = indexLine(serialOf(leaf), '250102030405Z,keyCompromise')
    const { url } = await point(await makeForeignCrl(bench, { ca, index }))
    const importBelow = async (pem: string) =>
      (await importPem(setup.scene, (await below(url)).pem + pem + setup.root.pem)).body.importedCertificates[0].id
    expect((await read(await importBelow(ca.pem))).status).toBe(200)
    const renewed = await certifiedAgain('/CN=Renewed CA', ca, setup.root)
    await importBelow(renewed)
    const trusted = [setup.root.pem, renewed].map(pem => parseCertificatePem(pem).fingerprint)
    const where = { fingerprint: { $in: trusted } }
    expect(await service.em().nativeUpdate(Ca, where, { trusted: true })).toBe(2)
    const { body } = await admin.post('/api/v1/certificates/validate', { pemCertificate: leaf.pem })
    expect(body.caChain[0].pemCertificate.trim()).toBe(renewed.trim())
    expect(body.result).toBe(false)
  })

  test('of one part of a CA does not hide the list of another, though it has the octets of a serial number by chance', async () => {
    const key = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-set_serial', '5']
    const lists: Record<string, Buffer> = {}
    const { url } = await point(response => response.end(lists[response.req.url ?? '']))
    const first = await setup.leaf({ extension: `crlDistributionPoints=URI:${url}/first`, key })
    for (const [name, serial] of [
      ['first', '05'],
      ['second', '41020105'],
    ] as const) {
      const index = indexLine(serial, '250102030405Z,keyCompromise')
      const list = { ca: setup.issuing, index, point: `${url}/${name}` }
      lists[`${new URL(url).pathname}/${name}`] = await makeForeignCrl(bench, list)
      expect((await ask(await naming(`${url}/${name}`))).status).toBe(200)
    }
    const { fingerprint } = parseCertificatePem(setup.root.pem)
    await service.em().nativeUpdate(Ca, { fingerprint }, { trusted: true })
    const { body } = await admin.post('/api/v1/certificates/validate', { pemCertificate: first.pem })
    expect(body).toMatchObject({
      result: false,
      errorMessage: expect.stringMatching(/was revoked at .* \(KEY_COMPROMISE\)/),
    })
  })

  const trustRoot = () =>
    service.em().nativeUpdate(Ca, { fingerprint: parseCertificatePem(setup.root.pem).fingerprint }, { trusted: true })
  const verdictOn = async ({ pem }: ForeignCertificate) =>
    (await admin.post('/api/v1/certificates/validate', { pemCertificate: pem })).body.result
  /** Keeps a list of the issuing CA as if it had been fetched from there, so many minutes ago. */
  const keep = async (url: string, der: Buffer, { minutes = 0, since = new Date() } = {}) => {
    const { fingerprint } = parseCertificatePem(setup.issuing.pem)
    const { id: caId } = await service.em().findOneOrFail(Ca, { fingerprint })
    const fetchedDate = new Date(Date.now() - minutes * 60_000)
    await service.em().insert(FetchedCrl, { caId, url, thisUpdate: since, fetchedDate, der })
  }
  const held = (leaf: ForeignCertificate) => indexLine(serialOf(leaf), '250102030405Z,certificateHold')

  test('that is later counts, also where it names no certificate that an earlier one of another address has on hold', async () => {
    const urls = ['http://localhost:1/held', 'http://localhost:1/released'] as const
    const leaf = await naming(...urls)
    await imported(leaf)
    await trustRoot()
    const dates = ['20260101000000Z', '20991231000000Z'] as const
    const before = await makeForeignCrl(bench, { ca: setup.issuing, index: held(leaf), dates })
    await keep(urls[0], before, { since: new Date('2026-01-01T00:00:00Z') })
    expect(await verdictOn(leaf)).toBe(false)
    await keep(urls[1], good)
    expect(await verdictOn(leaf)).toBe(true)
  })

  test('that the certificate names is looked at, however many others of the CA were fetched after it', async () => {
    const own = 'http://localhost:1/own'
    const leaf = await naming(own)
    await imported(leaf)
    await trustRoot()
    await keep(own, await makeForeignCrl(bench, { ca: setup.issuing, index: held(leaf), point: own }), { minutes: 9 })
    for (const part of [1, 2, 3, 4]) {
      const point = `http://localhost:1/part-${part}`
      await keep(point, await makeForeignCrl(bench, { ca: setup.issuing, point }))
    }
    expect(await verdictOn(leaf)).toBe(false)
  })

  test('is not passed by on detours: where many paths are revoked, no further one is believed', async () => {
    const crossed = await makeForeignCertificate(bench, { subject: '/CN=Crossed CA', isCa: true })
    const leaf = await setup.leaf({ issuer: crossed })
    const verdict = async () => (await admin.post('/api/v1/certificates/validate', { pemCertificate: leaf.pem })).body
    for (const count of Array(6).keys()) {
      const root = await makeForeignCertificate(bench, { subject: `/CN=Crossing Root ${count}`, isCa: true })
      const pem = await certifiedAgain('/CN=Crossed CA', crossed, root)
      expect((await importPem(setup.scene, leaf.pem + pem + root.pem)).status).toBe(201)
      const where = { fingerprint: parseCertificatePem(root.pem).fingerprint }
      expect(await service.em().nativeUpdate(Ca, where, { trusted: true })).toBe(1)
      if (count === 0) expect((await verdict()).result).toBe(true)
      const index = indexLine(parseCertificatePem(pem).serialNumber, '250102030405Z,keyCompromise')
      const der = await makeForeignCrl(bench, { ca: root, index })
      const { id: caId } = await service.em().findOneOrFail(Ca, where)
      const now = new Date()
      await service
        .em()
        .insert(FetchedCrl, { caId, url: 'http://localhost:1/', thisUpdate: now, fetchedDate: now, der })
      expect((await verdict()).result).toBe(false)
    }
    expect((await verdict()).errorMessage).toBe('More paths are revoked than are looked at.')
  })
})

/** Another certificate of a name and key. */
const certifiedAgain = async (
  subject: string,
  { keyFile }: ForeignCertificate,
  by: ForeignCertificate,
): Promise<string> => {
  const made = ['req', '-x509', '-key', keyFile, '-subj', subject, '-days', '400']
  const signed = ['-CA', by.certificateFile, '-CAkey', by.keyFile]
  return (await openssl(...made, ...signed, '-addext', 'basicConstraints=critical,CA:TRUE')).text
}

/** The same with the last bit of the signature changed. */
const withBit = (der: Buffer): Buffer => Buffer.concat([der.subarray(0, -1), Buffer.of((der.at(-1) ?? 0) ^ 1)])

describe('what is not believed', () => {
  const lists: [string, string, () => Promise<Buffer>][] = [
    ['no list', 'It is no revocation list', async () => randomBytes(100)],
    ['the list of another CA', 'It is of another issuer', () => makeForeignCrl(bench, { ca: setup.root })],
    ['a list with a wrong signature', 'Its signature is wrong', async () => withBit(good)],
    [
      'a list of another key',
      'Its signature is wrong',
      async () =>
        makeForeignCrl(bench, { ca: await makeForeignCertificate(bench, { subject: '/CN=Foreign CA', isCa: true }) }),
    ],
    ['a list by SHA-1', 'It is signed by SHA-1', () => makeForeignCrl(bench, { ca: setup.issuing, digest: 'sha1' })],
    [
      'a list that has ended',
      'It is out of date',
      () => makeForeignCrl(bench, { ca: setup.issuing, dates: ['20250101000000Z', '20250102000000Z'] }),
    ],
    [
      'a list of the future',
      'It is of the future',
      () => makeForeignCrl(bench, { ca: setup.issuing, dates: ['20900101000000Z', '20910102000000Z'] }),
    ],
  ]
  test.each(lists)('%s', async (_, why, make) => {
    const { url } = await point(await make())
    expect(await ask(await naming(url))).toMatchObject(problem(url, `gave a list that is not believed: ${why}`))
    expect(await service.em().count(FetchedCrl, { url })).toBe(0)
  })

  test('an answer that is too long, a redirect, and one that never comes', async () => {
    const endless = await point(async response => {
      for (let part = 0; part < 30 && !response.destroyed; part += 1)
        await new Promise<void>(done => void response.write(Buffer.alloc(2 ** 20), () => done()))
      response.end()
    })
    const redirect = await point(response => response.writeHead(302, { location: endless.url }).end())
    const what = 'gave no revocation list'
    expect(await ask(await naming(endless.url))).toMatchObject(problem(endless.url, what))
    expect(await ask(await naming(redirect.url))).toMatchObject(problem(redirect.url, what))
    const silent = await point(() => {})
    const late = problem(silent.url, 'could not be reached, or did not answer in time')
    expect(await ask(await naming(silent.url))).toMatchObject(late)
  })
})

describe('what is not asked', () => {
  const none = { status: 422, body: { apiError: 'NO_CRL_AVAILABLE' } }

  test('where no address is named that can be asked', async () => {
    expect(await ask(await setup.leaf())).toMatchObject(none)
    expect(await ask(await naming('ldap://localhost/x'))).toMatchObject(none)
  })

  test('where the issuer is no known CA, or archived', async () => {
    const { url, requests } = await point(good)
    const id = await imported(await naming(url))
    const { fingerprint } = parseCertificatePem(setup.issuing.pem)
    const em = service.em()
    await em.nativeUpdate(Ca, { fingerprint }, { archived: true })
    try {
      expect(await read(id)).toMatchObject(none)
    } finally {
      await em.nativeUpdate(Ca, { fingerprint }, { archived: false })
    }
    expect(requests).toHaveLength(0)
  })

  test('addresses of the own network, unless they are allowed', async () => {
    const url = 'http://10.0.0.1/list.crl'
    expect(await ask(await naming(url))).toMatchObject(problem(url, 'has an address that may not be asked'))
  })
})
