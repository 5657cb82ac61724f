// Links in certificates live: a stranger with openssl builds a chain by following them, and finds nothing that is no CA of ours.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { linksBelow } from '../../authority/links.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import type { Extras, Reply } from '../support/api.ts'
import { refusalOf, setSetting } from '../support/issuing.ts'
import { issuingCaOf, newLocalProvider } from '../support/local-providers.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene

/** A provider whose CAs are made under the address that this API really has. */
const newProvider = (configuration: object = {}): Promise<string> => newLocalProvider(service, configuration)

beforeAll(async () => {
  service = await startService()
  await setSetting(service, 'pki.base-url', `${service.url}/pki`)
  scene = await makeScene(service, { certificateProviderId: await newProvider() })
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const urlOf = (id: string) => `/pki/ca/${id}.cer`
const octetsOf = async (url: string): Promise<Buffer> => {
  const response = await fetch(url)
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'application/pkix-cert'])
  return Buffer.from(await response.arrayBuffer())
}

const linksIn = async (file: string): Promise<string[]> => {
  const { text } = await openssl('x509', '-in', file, '-noout', '-text')
  return [...text.matchAll(/URI:(\S+)/g)].map(([, url = '']) => url)
}
const issuerLinkIn = async (file: string): Promise<string | undefined> => {
  const { text } = await openssl('x509', '-in', file, '-noout', '-text')
  return /CA Issuers - URI:(\S+)/.exec(text)?.[1]
}

/** What a stranger gets who follows the links from a leaf: the file of each CA, the issuing one first. */
const followed = async (leaf: string): Promise<string[]> => {
  const files: string[] = []
  for (let url = await issuerLinkIn(leaf); url !== undefined; url = await issuerLinkIn(files.at(-1) ?? '')) {
    const { output } = await openssl('x509', '-inform', 'DER', '-in', await bench.file(await octetsOf(url)))
    files.push(await bench.file(output))
  }
  return files
}

const issueLeaf = async ({ owner, newRequest }: Scene): Promise<string> => {
  const path = `/api/v1/certificates/cert-requests/${await newRequest()}`
  const { body } = await owner.post(path)
  return bench.file(body.certificatePem.pemCertificate)
}

describe('from a certificate', () => {
  test('openssl verifies the chain that its links lead to', async () => {
    const leaf = await issueLeaf(scene)
    const [issuing = '', root = '', ...more] = await followed(leaf)
    expect(more).toEqual([])
    const { text } = await openssl('verify', '-x509_strict', '-CAfile', root, '-untrusted', issuing, leaf)
    expect(text).toContain(': OK')
  })

  test('of a single CA one link leads to the root', async () => {
    const single = await makeScene(service, { certificateProviderId: await newProvider({ hierarchy: 'SINGLE' }) })
    const leaf = await issueLeaf(single)
    const [root = '', ...more] = await followed(leaf)
    expect(more).toEqual([])
    expect((await openssl('verify', '-CAfile', root, leaf)).text).toContain(': OK')
  })

  test('every link is answered', async () => {
    const leaf = await issueLeaf(scene)
    const links = (await Promise.all([leaf, ...(await followed(leaf))].map(linksIn))).flat()
    expect(links).toHaveLength(6)
    // A responder answers a POST, whatever it holds (RFC 6960 A.1).
    const methodOf = (link: string) => (link.includes('/pki/ocsp/') ? 'POST' : 'GET')
    for (const link of links)
      expect([link, (await fetch(link, { method: methodOf(link) })).status]).toEqual([link, 200])
  })
})

describe('the certificate of a CA', () => {
  let ca: Ca
  beforeAll(async () => {
    ca = await issuingCaOf(service, await newProvider())
  })
  const get = (id: string, extras?: Extras): Promise<Reply> => service.anonymous.get(urlOf(id), extras)
  const stored = async (change: Partial<Ca>) => {
    const other = await issuingCaOf(service, await newProvider())
    await service.em().nativeUpdate(Ca, { id: other.id }, change)
    return other.id
  }

  test('is DER, to be kept and asked for again by its tag', async () => {
    expect((await octetsOf(service.url + urlOf(ca.id))).equals(ca.der)).toBe(true)
    const { headers } = await get(ca.id)
    expect(headers.get('Cache-Control')).toBe('public, max-age=86400')
    const tag = headers.get('ETag') ?? ''
    expect(tag).toBe(`"${ca.fingerprint}"`)
    // Told, or fetch would say no-cache, which asks for the octets whatever their tag.
    const asking = (known: string) => get(ca.id, { headers: { 'If-None-Match': known, 'Cache-Control': 'max-age=0' } })
    const again = await asking(tag)
    expect([again.status, again.body, again.headers.get('ETag')]).toEqual([304, '', tag])
    expect((await asking('"other"')).status).toBe(200)
  })

  test('has the same head for HEAD, without octets', async () => {
    const response = await fetch(service.url + urlOf(ca.id), { method: 'HEAD' })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/pkix-cert',
      'content-length': String(ca.der.length),
      etag: `"${ca.fingerprint}"`,
    })
    expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, 0])
  })

  test('is found in upper case and with a trailing slash', async () => {
    for (const path of [urlOf(ca.id.toUpperCase()), `${urlOf(ca.id)}/`])
      expect((await service.anonymous.get(path)).status).toBe(200)
  })

  test('is not found when it is unknown, archived or not of a provider', async () => {
    const strangers = [
      randomUUID(),
      await stored({ archived: true, archivedDate: new Date() }),
      await stored({ certificateProviderId: null }),
    ]
    for (const id of strangers) expect(refusalOf(await get(id))).toEqual([404, 'CA_NOT_FOUND'])
  })

  test.each(['..%2f..%2fhealth', '%00', 'a'.repeat(8000), "'; select 1--", '0'.repeat(36), '-'.repeat(4000)])(
    'is not looked for as %p',
    async id => {
      expect(refusalOf(await get(id))).toEqual([404, 'NOT_FOUND'])
      expect((await get(ca.id)).status).toBe(200)
    },
  )

  test('cannot be changed', async () => {
    for (const method of ['post', 'put', 'patch', 'delete'] as const) {
      const reply = await service.anonymous[method](urlOf(ca.id))
      expect([...refusalOf(reply), reply.headers.get('Allow')]).toEqual([
        405,
        'METHOD_NOT_ALLOWED',
        'GET, HEAD, OPTIONS',
      ])
    }
  })
})

describe('links', () => {
  const settings = (value: string | null) => ({ text: async () => value }) as never
  test.each([
    [null, 'http://ca.test', 'http://ca.test/pki/ca/1.cer'],
    [null, 'http://ca.test/', 'http://ca.test/pki/ca/1.cer'],
    ['http://pki.test', 'http://ca.test', 'http://pki.test/ca/1.cer'],
    ['http://pki.test/all/', 'http://ca.test', 'http://pki.test/all/ca/1.cer'],
  ])('of pki.base-url %p at %p begin there, without an empty segment', async (stored, baseUrl, expected) => {
    expect((await linksBelow({ settings: settings(stored), baseUrl }, '1')).caIssuers).toEqual([expected])
  })

  test('lead to the list, the responder and the certificate of the CA', async () => {
    expect(await linksBelow({ settings: settings(null), baseUrl: 'http://ca.test' }, '1')).toEqual({
      crl: ['http://ca.test/pki/crl/1.crl'],
      ocsp: ['http://ca.test/pki/ocsp/1'],
      freshestCrl: [],
      caIssuers: ['http://ca.test/pki/ca/1.cer'],
    })
  })
})
