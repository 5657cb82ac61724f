// The status of certificates that were issued elsewhere, asked of their OCSP responders: openssl's, and hostile ones.
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { freePort } from '../../embedded/processes/ports.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { encodeCertId } from '../../pki/ocsp/cert-id.ts'
import { encodeOcspError } from '../../pki/ocsp/response.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { User } from '../../storage/rows/user.ts'
import { indexLine } from '../pki/ocsp-parties.ts'
import { Workbench } from '../pki/openssl.ts'
import { makeForeignCertificate, type ForeignCertificate } from '../support/foreign-certificates.ts'
import { importPem, prepareImports, type ImportSetup } from '../support/importing.ts'
import { answeredBy, namingResponders, startOpensslResponder, startResponder } from '../support/ocsp-responder.ts'
import { startService, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let setup: ImportSetup

beforeAll(async () => {
  service = await startService()
  setup = await prepareImports(service, bench)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map(stop => stop()))
})

const path = (id: string): string => `/api/v1/certificates/${id}/ocsp-status`
const serialOf = ({ pem }: ForeignCertificate): string => parseCertificatePem(pem).serialNumber

/** Imports a certificate with its chain and answers its id. */
const imported = async (leaf: ForeignCertificate, at: ImportSetup = setup): Promise<string> => {
  const { body } = await importPem(at.scene, [leaf, at.issuing, at.root].map(({ pem }) => pem).join(''))
  const found = body.importedCertificates.find(
    ({ serialNumber }: { serialNumber: string }) => serialNumber === serialOf(leaf),
  )
  return found.id
}
const naming = (...urls: readonly string[]): Promise<ForeignCertificate> =>
  setup.leaf({ extension: namingResponders(...urls) })
const ask = async (leaf: ForeignCertificate) => setup.scene.owner.get(path(await imported(leaf)))

/** A responder of the loopback for this test. */
const responder = async (answer: (body: Buffer, response: ServerResponse) => unknown) => {
  const started = await startResponder(answer)
  stops.push(started.stop)
  return started
}
const good = () => responder(async (body, response) => response.end(await answeredBy(setup.issuing, body)))
const problem = (url: string, what: string) => ({
  status: 422,
  body: { apiError: 'CERTIFICATE_PROVIDER_ERROR', errorMessage: `The OCSP responder ${url} ${what}.` },
})

describe('by openssl', () => {
  test('good, revoked, on hold and unknown certificates are told as such, with dates and reason', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const [one, revoked, held, unknown] = await Promise.all([naming(url), naming(url), naming(url), naming(url)])
    const signer = await makeForeignCertificate(bench, {
      subject: '/CN=Signer',
      issuer: setup.issuing,
      extension: 'extendedKeyUsage=OCSPSigning',
    })
    const index = [
      indexLine(serialOf(one)),
      indexLine(serialOf(revoked), '250102030405Z,keyCompromise'),
      indexLine(serialOf(held), '250102030405Z,certificateHold'),
    ].join('')
    stops.push(await startOpensslResponder(bench, { port, ca: setup.issuing, signer, index }))
    const begin = Math.floor(Date.now() / 1000) * 1000
    const reply = await ask(one)
    expect(reply).toMatchObject({
      status: 200,
      body: { status: 'GOOD', revocationReason: null, revocationDate: null, responderUrl: url },
    })
    const { producedAt, thisUpdate, nextUpdate } = reply.body
    expect(Date.parse(producedAt)).toBeGreaterThanOrEqual(begin)
    expect(Date.parse(nextUpdate) - Date.parse(thisUpdate)).toBe(300_000)
    const revocationDate = '2025-01-02T03:04:05Z'
    expect((await ask(revoked)).body).toMatchObject({ status: 'REVOKED', revocationReason: 'KEY_COMPROMISE' })
    const { body } = await ask(held)
    expect(body).toMatchObject({ status: 'REVOKED', revocationReason: 'CERTIFICATE_HOLD' })
    expect(Date.parse(body.revocationDate)).toBe(Date.parse(revocationDate))
    expect((await ask(unknown)).body).toMatchObject({ status: 'UNKNOWN', revocationReason: null })
  })

  test('the RA certificate of a user as well', async () => {
    const { url } = await good()
    const { id: userId, get } = await service.user()
    const raPath = `/api/v1/ra-certificates/users/${userId}/ocsp-status`
    const none = { status: 404, body: { apiError: 'RA_CERTIFICATE_NOT_FOUND' } }
    expect(await get(raPath)).toMatchObject(none)
    const raCertificateId = await imported(await naming(url))
    await service.em().nativeUpdate(User, userId, { raCertificateId })
    expect(await get(raPath)).toMatchObject({ status: 200, body: { id: raCertificateId, status: 'GOOD' } })
    const reader = await service.user({ GLOBAL: ['USERS_READ'] })
    expect((await reader.get(raPath)).status).toBe(200)
    expect(await (await service.user()).get(raPath)).toMatchObject({ status: 403 })
    expect(await service.anonymous.get(raPath)).toMatchObject({ status: 401 })
  })
})

describe('who may ask', () => {
  test('those who may read the certificate', async () => {
    const { url, requests } = await good()
    const id = await imported(await naming(url))
    expect(await service.anonymous.get(path(id))).toMatchObject({ status: 401 })
    expect(await (await service.user()).get(path(id))).toMatchObject({ status: 403 })
    expect(await setup.scene.owner.get(path('00000000-0000-4000-8000-000000000000'))).toMatchObject({
      status: 404,
      body: { apiError: 'CERTIFICATE_NOT_FOUND' },
    })
    expect(requests).toHaveLength(0)
    expect(await setup.scene.owner.get(path(id))).toMatchObject({ status: 200 })
    expect(requests).toMatchObject([{ method: 'POST', url: '/ocsp' }])
    expect(requests[0]?.headers).toMatchObject({ 'content-type': 'application/ocsp-request' })
    expect(requests[0]?.headers.authorization).toBeUndefined()
  })
})

describe('there is no responder', () => {
  const none = (errorMessage: string) => ({ status: 422, body: { apiError: 'NO_OCSP_RESPONDER', errorMessage } })
  const unnamed = none('The certificate names no responder that can be asked.')
  const unknown = none('The issuer of the certificate is no known CA.')

  test('of a certificate without a URL, or with one that is none of http, or has a login', async () => {
    expect(await ask(await setup.leaf())).toMatchObject(unnamed)
    const urls = ['ldap://127.0.0.1/', 'file:///etc/passwd', 'http://user:secret@127.0.0.1/', 'http://user@127.0.0.1/']
    expect(await ask(await naming(...urls))).toMatchObject(unnamed)
  })

  test('of a certificate whose issuer is not known, or archived', async () => {
    const { url, requests } = await good()
    const stranger = await makeForeignCertificate(bench, { subject: '/CN=Stranger', isCa: true })
    const leaf = await makeForeignCertificate(bench, {
      subject: '/CN=stranger.example.org',
      issuer: stranger,
      extension: namingResponders(url),
    })
    const { body } = await importPem(setup.scene, leaf.pem)
    expect(await setup.scene.owner.get(path(body.importedCertificates[0].id))).toMatchObject(unknown)
    const id = await imported(await naming(url))
    const { fingerprint } = parseCertificatePem(setup.issuing.pem)
    await service.em().nativeUpdate(Ca, { fingerprint }, { archived: true })
    try {
      expect(await setup.scene.owner.get(path(id))).toMatchObject(unknown)
    } finally {
      await service.em().nativeUpdate(Ca, { fingerprint }, { archived: false })
    }
    expect(requests).toHaveLength(0)
  })
})

describe('a responder that', () => {
  const [unreachable, noAnswer] = ['could not be reached, or did not answer in time', 'gave no OCSP answer']
  const notBelieved = (why: string) => `gave an answer that is not believed: ${why}`

  test('is not there', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`
    expect(await ask(await naming(url))).toMatchObject(problem(url, unreachable))
  })

  test('has a name that means nothing', async () => {
    expect(await ask(await naming('http://nowhere.invalid/'))).toMatchObject(
      problem('http://nowhere.invalid/', unreachable),
    )
  })

  const bad: Readonly<Record<string, [(response: ServerResponse, body: Buffer) => unknown, string]>> = {
    'answers garbage': [response => response.end('<html>'), noAnswer],
    'answers nothing': [response => response.end(), noAnswer],
    'answers ten megabytes': [response => response.end(Buffer.alloc(10_000_000, 0x30)), noAnswer],
    'answers ten megabytes in chunks': [
      response => {
        for (let chunk = 0; chunk < 100; chunk++) response.write(Buffer.alloc(100_000, 0x30))
        response.end()
      },
      noAnswer,
    ],
    'says that its answer is ten gigabytes long': [
      response => {
        response.setHeader('Content-Length', '10000000000')
        response.write(Buffer.alloc(100_000))
      },
      noAnswer,
    ],
    'has an error': [response => response.writeHead(500).end(), noAnswer],
    'sends a megabyte of headers': [
      response => response.writeHead(200, { 'X-Long': 'x'.repeat(1_000_000) }).end(),
      unreachable,
    ],
    'hangs up': [response => response.destroy(), unreachable],
    'refuses to answer': [
      response => response.end(encodeOcspError('unauthorized')),
      notBelieved('The responder answers unauthorized'),
    ],
    'answers by another CA': [
      async (response, body) => response.end(await answeredBy(setup.root, body)),
      notBelieved('The signer of the answer may not answer for the CA'),
    ],
    'answers about another certificate': [
      async (response, body) => {
        const certId = encodeCertId(parseCertificatePem(setup.issuing.pem), '7f')
        response.end(await answeredBy(setup.issuing, body, { single: { certId } }))
      },
      notBelieved('The answer is about another certificate'),
    ],
    'gives an answer of yesterday': [
      async (response, body) => {
        const [thisUpdate, nextUpdate] = [new Date(Date.now() - 86_400_000), new Date(Date.now() - 3_600_000)]
        response.end(await answeredBy(setup.issuing, body, { single: { thisUpdate, nextUpdate } }))
      },
      notBelieved('The answer is out of date'),
    ],
    'gives the answer to another request': [
      async (response, body) =>
        response.end(await answeredBy(setup.issuing, body, { answer: { nonce: Buffer.alloc(32, 1) } })),
      notBelieved('The answer is to another request'),
    ],
  }
  test.each(Object.keys(bad))('%s', async name => {
    const [answer, what] = bad[name] ?? [() => undefined, '']
    const { url } = await responder((body, response) => answer(response, body))
    expect(await ask(await naming(url))).toMatchObject(problem(url, what))
  })

  test('sends elsewhere is not followed', async () => {
    const other = await good()
    const { url } = await responder((_, response) => response.writeHead(307, { Location: other.url }).end())
    expect(await ask(await naming(url))).toMatchObject(problem(url, noAnswer))
    expect(other.requests).toHaveLength(0)
  })

  test('fails does not keep the next from being asked, of which there are three at most', async () => {
    const broken = await responder((_, response) => response.writeHead(503).end())
    const { url } = await good()
    const found = await ask(await naming(broken.url, `${broken.url}/2`, url))
    expect(found).toMatchObject({ status: 200, body: { status: 'GOOD', responderUrl: url } })
    const fourth = await ask(await naming(broken.url, `${broken.url}/2`, `${broken.url}/3`, url))
    expect(fourth.status).toBe(422)
    expect(fourth.body.errorMessage.match(/gave no OCSP answer/g)).toHaveLength(3)
  })

  test('never answers costs ten seconds, half of them beside another, and places that are not there for all', async () => {
    const silent = await responder(() => undefined)
    const { url } = await good()
    const leaves = await Promise.all(Array.from({ length: 8 }, () => naming(silent.url)))
    const ids = [await imported(await naming(silent.url, url))]
    for (const leaf of leaves) ids.push(await imported(leaf))
    const begin = performance.now()
    const replies = await Promise.all(ids.map(async id => setup.scene.owner.get(path(id))))
    const statuses = replies.map(({ status }) => status).toSorted((one, other) => one - other)
    expect(performance.now() - begin).toBeLessThan(15_000)
    // One of them found no place, whichever it was.
    expect(statuses.at(-1)).toBe(503)
    expect(statuses.filter(status => status === 422).length).toBeGreaterThanOrEqual(7)
    for (const { body } of replies.filter(({ status }) => status === 422))
      expect(body.errorMessage).toBe(`The OCSP responder ${silent.url} ${unreachable}.`)
    const [beside = ''] = ids
    expect(await setup.scene.owner.get(path(beside))).toMatchObject({ status: 200, body: { responderUrl: url } })
  }, 60_000)
})

test('no address behind our walls is asked unless it is allowed', async () => {
  const { url, requests } = await good()
  const walled = await startService({ services: { privateNetworks: [] } })
  try {
    const at = await prepareImports(walled, bench)
    const port = new URL(url).port
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '169.254.169.254', '10.0.0.1']
    for (const host of hosts) {
      const named = `http://${host}:${port}/`
      const leaf = await at.leaf({ extension: namingResponders(named) })
      const reply = await at.scene.owner.get(path(await imported(leaf, at)))
      expect(reply).toMatchObject(problem(new URL(named).href, 'has an address that may not be asked'))
    }
    expect(requests).toHaveLength(0)
  } finally {
    await walled.stop()
  }
}, 60_000)
