// The OCSP responders of our CAs, asked by a stranger with openssl and by hand.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { KeptRevocation } from '../../storage/rows/kept-revocation.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { encodeOcspRequest, type OcspQuestion } from '../../pki/ocsp/request.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { ocspSignerRun } from '../../workflows/starts.ts'
import { openssl, tryOpenssl, Workbench } from '../pki/openssl.ts'
import { blocksOf, issueFor, refusalOf, setSetting, until, type Issued } from '../support/issuing.ts'
import { issuingCaOf, newLocalProvider } from '../support/local-providers.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let ca: Ca

beforeAll(async () => {
  service = await startService()
  await setSetting(service, 'pki.base-url', `${service.url}/pki`)
  const certificateProviderId = await newLocalProvider(service)
  scene = await makeScene(service, { certificateProviderId })
  ca = await issuingCaOf(service, certificateProviderId)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const urlOf = (caId: string): string => `${service.url}/pki/ocsp/${caId}`
const revoke = async (id: string, reason: string, by = scene): Promise<void> => {
  const { status } = await by.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`)
  expect(status).toBe(200)
}

/** The files of a leaf and its CAs. */
const filesOf = async ({ id }: Pick<Issued, 'id'>, { owner } = scene) => {
  const path = `/api/v1/certificates/${id}/download-chain?casFirst=false`
  const { body } = await owner.get(path)
  const [leaf = '', issuing = '', root = issuing] = await Promise.all(
    blocksOf(body.pemCertificate).map(block => bench.file(block)),
  )
  return { leaf, issuing, root }
}

/** What openssl says of an answer that it believes. */
const told = async (...args: readonly string[]): Promise<string> => {
  const { text } = await openssl('ocsp', ...args)
  expect(text).toContain('Response verify OK')
  return text
}

/** What openssl makes of the answer at the address that the certificate itself names. */
const asked = async (issued: Pick<Issued, 'id'>, by = scene, more: readonly string[] = []): Promise<string> => {
  const { leaf, issuing, root } = await filesOf(issued, by)
  const { text: url } = await openssl('x509', '-in', leaf, '-noout', '-ocsp_uri')
  const which = ['-issuer', issuing, '-cert', leaf, '-url', url.trim(), '-CAfile', root, '-verify_other', issuing]
  return told(...which, ...more)
}

describe('openssl believes the answers', () => {
  test.each<[string, object]>([
    ['by a delegated signer with an EC key', {}],
    ['by a delegated signer with an RSA key', { keyAlgorithm: 'RSA', keySize: 3072 }],
    ['by a delegated signer with an Edwards curve', { keyAlgorithm: 'EDDSA' }],
    ['of a single CA', { hierarchy: 'SINGLE' }],
    ['by the CA itself', { ocspSigner: false }],
  ])('%s, and each tells what is so now', async (_, configuration) => {
    const certificateProviderId = await newLocalProvider(service, configuration)
    await issuingCaOf(service, certificateProviderId)
    const own = await makeScene(service, { certificateProviderId })
    const leaf = await issueFor(own)
    expect(await asked(leaf, own)).toMatch(/: good/)
    await revoke(leaf.id, 'CERTIFICATE_HOLD', own)
    expect(await asked(leaf, own)).toMatch(/: revoked[^]*certificateHold/)
    await revoke(leaf.id, 'REMOVE_FROM_CRL', own)
    expect(await asked(leaf, own, ['-no_nonce'])).toMatch(/: good/)
    await revoke(leaf.id, 'KEY_COMPROMISE', own)
    expect(await asked(leaf, own, ['-no_nonce'])).toMatch(/: revoked[^]*keyCompromise/)
  })

  test('of an issuing CA, by its root', async () => {
    const { issuing, root } = await filesOf(await issueFor(scene))
    const { text: url } = await openssl('x509', '-in', issuing, '-noout', '-ocsp_uri')
    const where = ['-url', url.trim(), '-CAfile', root]
    expect(await told('-issuer', root, '-cert', issuing, ...where)).toMatch(/: good/)
  })

  test('about several at once, by the digests SHA-1 and SHA-256, also what was never issued', async () => {
    const [one, other] = [await issueFor(scene), await issueFor(scene)]
    await revoke(other.id, 'SUPERSEDED')
    const { leaf, issuing, root } = await filesOf(one)
    const second = await filesOf(other)
    const never = `0x${randomBytes(16).toString('hex')}`
    for (const digest of ['-sha1', '-sha256']) {
      const which = ['-issuer', issuing, digest, '-cert', leaf, digest, '-cert', second.leaf, digest, '-serial', never]
      const where = ['-url', urlOf(ca.id), '-CAfile', root, '-verify_other', issuing]
      expect(await told(...which, ...where)).toMatch(/: good[^]*: revoked[^]*superseded[^]*: unknown/)
    }
  })

  test('of the signer itself, which nobody needs to ask for', async () => {
    const { der } = await service.em().findOneOrFail(OcspSigner, { caId: ca.id, retiredDate: null })
    const { text } = await openssl('x509', '-inform', 'DER', '-in', await bench.file(der), '-noout', '-text')
    expect(text).toMatch(/OCSP Signing[^]*OCSP No Check/)
    expect(text).not.toContain('OCSP - URI')
    const { text: days } = await openssl('x509', '-inform', 'DER', '-in', await bench.file(der), '-noout', '-dates')
    const [, begin = '', end = ''] = /notBefore=(.*)\nnotAfter=(.*)/.exec(days) ?? []
    const lifetimeMs = Date.parse(end) - Date.parse(begin)
    expect([lifetimeMs > 89 * 86_400_000, lifetimeMs < 91 * 86_400_000]).toEqual([true, true])
  })
})

const questionOf = (serialNumber: string, nonce: Buffer | null = null, from = ca): OcspQuestion => {
  const { subjectNameDer, publicKeySpki } = parseCertificate(from.der)
  return { serialNumber, nonce, issuer: { subjectNameDer, publicKeySpki } }
}
const requestFor = (...which: Parameters<typeof questionOf>): Buffer => encodeOcspRequest(questionOf(...which))

const post = (der: Uint8Array, caId = ca.id): Promise<Response> =>
  fetch(urlOf(caId), {
    method: 'POST',
    body: new Uint8Array(der),
    headers: { 'Content-Type': 'application/ocsp-request' },
  })
const get = (der: Buffer, init: RequestInit = {}): Promise<Response> =>
  fetch(`${urlOf(ca.id)}/${encodeURIComponent(der.toString('base64'))}`, init)

const read = async (response: Response): Promise<{ octets: Buffer; text: string }> => {
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'application/ocsp-response'])
  const octets = Buffer.from(await response.arrayBuffer())
  const { text } = await tryOpenssl('ocsp', '-respin', await bench.file(octets), '-resp_text', '-noverify')
  return { octets, text }
}

describe('an answer', () => {
  test('without a nonce is given to everybody, kept for seconds, and another one at once after a revocation', async () => {
    const leaf = await issueFor(scene)
    const request = requestFor(leaf.serialNumber)
    const response = await get(request)
    const { octets, text } = await read(response)
    expect(text).toContain('Cert Status: good')
    const { headers } = response
    expect(headers.get('Cache-Control')).toMatch(/^public, max-age=([0-9]|10), no-transform, must-revalidate$/)
    expect(Date.parse(headers.get('Expires') ?? '') - Date.now()).toBeLessThanOrEqual(11_000)
    expect(Date.parse(headers.get('Last-Modified') ?? '')).toBeLessThanOrEqual(Date.now())
    expect((await read(await get(request))).octets.equals(octets)).toBe(true)
    expect((await read(await post(request))).octets.equals(octets)).toBe(true)
    await revoke(leaf.id, 'CESSATION_OF_OPERATION')
    const after = await read(await get(request))
    expect(after.text).toMatch(/Cert Status: revoked[^]*cessationOfOperation/)
    await service.em().nativeUpdate(Certificate, { id: leaf.id }, { revocationReason: 'SUPERSEDED', version: 9 })
    expect((await read(await get(request))).text).toContain('superseded')
  })

  test('is valid for an hour', async () => {
    const { text } = await read(await get(requestFor((await issueFor(scene)).serialNumber)))
    const [, from = '', to = ''] = /This Update: (.*)\n\s*Next Update: (.*)/.exec(text) ?? []
    expect(Date.parse(to) - Date.parse(from)).toBe(3_600_000)
  })

  test('is asked for again by its tag, and has a head', async () => {
    const request = requestFor((await issueFor(scene)).serialNumber)
    const { headers } = await get(request)
    const again = await get(request, {
      headers: { 'If-None-Match': headers.get('ETag') ?? '', 'Cache-Control': 'max-age=0' },
    })
    expect([again.status, await again.text()]).toEqual([304, ''])
    const head = await get(request, { method: 'HEAD' })
    expect([head.status, head.headers.get('ETag'), await head.text()]).toEqual([200, headers.get('ETag'), ''])
  })

  test('to a GET is not the same because it is of the same second: it may tell a revocation', async () => {
    const leaf = await issueFor(scene)
    const request = requestFor(leaf.serialNumber)
    const lastModified = (await get(request)).headers.get('Last-Modified') ?? ''
    const again = await get(request, { headers: { 'If-Modified-Since': lastModified, 'Cache-Control': 'max-age=0' } })
    expect((await read(again)).text).toContain('Cert Status: good')
  })

  test('of a GET may have slashes in its Base64 as they are', async () => {
    const { serialNumber } = await issueFor(scene)
    const request = requestFor(serialNumber, Buffer.alloc(32, 0xff))
    const base64 = request.toString('base64')
    expect(base64).toContain('/')
    expect((await read(await fetch(`${urlOf(ca.id)}/${base64}`))).text).toContain('Cert Status: good')
  })

  test.each([1, 32, 128])('repeats a nonce of %p octets, for one caller alone', async length => {
    const nonce = randomBytes(length)
    const response = await get(requestFor((await issueFor(scene)).serialNumber, nonce))
    const { octets } = await read(response)
    expect(octets.includes(nonce)).toBe(true)
    expect([response.headers.get('Cache-Control'), response.headers.get('ETag')]).toEqual(['no-store', null])
  })

  test('tells a revocation whose certificate was deleted', async () => {
    const serialNumber = `1${randomBytes(15).toString('hex')}`
    const ofDeleted = { issuerCaId: ca.id, serialNumber, validNotAfter: new Date(Date.now() + 86_400_000) }
    const revoked = { revocationDate: new Date(), revocationReason: 'KEY_COMPROMISE' } as const
    await service.em().insert(KeptRevocation, { ...ofDeleted, ...revoked, crlPending: false })
    expect((await read(await post(requestFor(serialNumber)))).text).toMatch(/revoked[^]*keyCompromise/)
  })

  test('knows nothing of what was imported, or belongs to another CA', async () => {
    const leaf = await issueFor(scene)
    await service.em().nativeUpdate(Certificate, { id: leaf.id }, { imported: true })
    expect((await read(await post(requestFor(leaf.serialNumber)))).text).toContain('Cert Status: unknown')
    const others = await makeScene(service)
    const foreign = await issueFor(others)
    expect((await read(await post(requestFor(foreign.serialNumber)))).text).toContain('Cert Status: unknown')
    const { issuingCaId } = await service.builtInCa()
    const builtIn = await service.em().findOneOrFail(Ca, issuingCaId ?? '')
    const { text } = await read(await post(requestFor(foreign.serialNumber, null, builtIn)))
    expect(text).toContain('Cert Status: unknown')
  })
})

describe('what is no request', () => {
  const many = (count: number): Buffer => {
    const one = requestFor('1')
    // OCSPRequest > TBSRequest > list: the one member of the list, many times.
    const member = one.subarray(6)
    const wrap = (inner: Buffer) =>
      Buffer.concat([Buffer.from([0x30, 0x82, inner.length >> 8, inner.length & 0xff]), inner])
    return wrap(wrap(wrap(Buffer.concat(Array.from({ length: count }, () => member)))))
  }

  test.each<[string, () => Buffer]>([
    ['nothing', () => Buffer.alloc(0)],
    ['octets of any kind', () => randomBytes(300)],
    ['half a request', () => requestFor('1').subarray(0, 40)],
    ['a request and more', () => Buffer.concat([requestFor('1'), Buffer.of(0)])],
    ['a nonce of 129 octets', () => requestFor('1', Buffer.alloc(129, 1))],
    ['33 certificates', () => many(33)],
    ['a deep nest', () => Buffer.alloc(10_000, 0x30)],
  ])('%s is malformed', async (_, make) => {
    for (const response of [await post(make()), ...(make().length > 0 ? [await get(make())] : [])])
      expect((await read(response)).octets.toString('hex')).toBe('30030a0101')
  })

  test('32 certificates are one', async () => {
    expect((await read(await post(many(32)))).text).toContain('successful')
  })

  test('10 MB are not read', async () => {
    const response = await post(Buffer.alloc(10_000_000))
    expect([response.status, ((await response.json()) as { apiError: string }).apiError]).toEqual([
      400,
      'REQUEST_TOO_LARGE',
    ])
  })

  test.each(['%', '%zz', 'not base64!', 'AA%00AA'])('%p in a path is malformed', async text => {
    const response = await fetch(`${urlOf(ca.id)}/${text}`)
    expect((await read(response)).octets.toString('hex')).toBe('30030a0101')
  })

  test('for a CA without a key of ours is not found', async () => {
    const other = await issuingCaOf(service, await newLocalProvider(service))
    await service.em().nativeUpdate(Ca, { id: other.id }, { privateKeyId: null })
    for (const id of [randomUUID(), other.id]) {
      const { status, body } = await service.anonymous.post(`/pki/ocsp/${id}`, 'x')
      expect(refusalOf({ status, body } as never)).toEqual([404, 'CA_NOT_FOUND'])
    }
    expect(refusalOf(await service.anonymous.get('/pki/ocsp/1'))).toEqual([404, 'NOT_FOUND'])
  })

  test('by another method is refused', async () => {
    const reply = await service.anonymous.put(`/pki/ocsp/${ca.id}`)
    expect([...refusalOf(reply), reply.headers.get('Allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', 'POST, OPTIONS'])
  })
})

describe('a signer', () => {
  test('that is missing has clients try later, until its run has made it', async () => {
    const other = await issuingCaOf(service, await newLocalProvider(service))
    await service.em().nativeDelete(OcspSigner, { caId: other.id })
    expect((await read(await post(requestFor('1', null, other), other.id))).octets.toString('hex')).toBe('30030a0103')
    await service.services.runs.start(ocspSignerRun(other.id))
    await until('the signer is made', () => service.em().findOne(OcspSigner, { caId: other.id }))
    expect((await read(await post(requestFor('1', null, other), other.id))).text).toContain('Cert Status: unknown')
  })

  test('that has ended signs nothing', async () => {
    const other = await issuingCaOf(service, await newLocalProvider(service))
    await service.em().nativeUpdate(OcspSigner, { caId: other.id }, { validNotAfter: new Date(Date.now() - 1000) })
    expect((await read(await post(requestFor('1', null, other), other.id))).octets.toString('hex')).toBe('30030a0103')
  })

  test('goes with its provider, and its key', async () => {
    const providerId = await newLocalProvider(service)
    const { id } = await issuingCaOf(service, providerId)
    const { privateKeyId } = await service.em().findOneOrFail(OcspSigner, { caId: id })
    const admin = await service.user({ GLOBAL: ['ADMIN'] })
    const archive = `/api/v1/admin/${providerId}/archive?entity=CERTIFICATE_PROVIDER&archive=true`
    expect((await admin.patch(archive)).status).toBe(204)
    const removal = '/api/v1/admin/batch-delete?entity=CERTIFICATE_PROVIDER'
    expect((await admin.post(removal, { deleteEntityRequestDtoList: [providerId] })).status).toBe(204)
    expect(await service.em().count(CertificateProvider, { id: providerId })).toBe(0)
    expect(await service.em().count(PrivateKey, { id: privateKeyId ?? '' })).toBe(0)
  })
})
