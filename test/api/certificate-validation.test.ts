// Certificates judged by what is known here (contract 10.4): chains of LOCAL and of strangers, revocations wherever they are
// recorded, and what came along.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { oid, sequence, tlv } from '../../pki/asn1/der.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { signDer } from '../../pki/certificate/signed.ts'
import { encodePem } from '../../pki/pem.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import type { ApiCaller } from '../support/api.ts'
import {
  makeForeignCertificate,
  newForeignKey,
  signForeign,
  type ForeignCertificate,
} from '../support/foreign-certificates.ts'
import { garbage, importPem } from '../support/importing.ts'
import { blocksOf, issueFor, refusalOf, setSetting, type Issued } from '../support/issuing.ts'
import { purger } from '../support/purging.ts'
import { crlWhere } from '../support/revoking.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let admin: ApiCaller
let anybody: ApiCaller

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { certificateImportAllowed: true })
  admin = await service.user({ GLOBAL: ['ADMIN'] })
  anybody = await service.user({})
  await setSetting(service, 'purge.wait-seconds', '60')
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const path = '/api/v1/certificates/validate'

/** Both operations must agree; the answer of the longer one. */
const validate = async (pemCertificate: string) => {
  const { status, body } = await anybody.post(path, { pemCertificate })
  expect(status).toBe(200)
  const plain = await anybody.post(`${path}-plain`, { pemCertificate })
  expect([plain.status, plain.body]).toEqual([200, { result: body.result }])
  expect(body.result).toBe(body.errorMessage === null)
  return body
}
const problemOf = async (pem: string): Promise<string | null> => (await validate(pem)).errorMessage
const pemOf = async ({ id }: Pick<Issued, 'id'>): Promise<string> =>
  (await scene.owner.get(`/api/v1/certificates/${id}/download`)).body.pemCertificate
const revoke = (id: string, reason: string) =>
  scene.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`)

let count = 0
const newRoot = () => makeForeignCertificate(bench, { subject: `/CN=Root ${++count} ${randomUUID()}`, isCa: true })
const newIssuing = (issuer: ForeignCertificate) =>
  makeForeignCertificate(bench, { subject: `/CN=Issuing ${++count} ${randomUUID()}`, isCa: true, issuer })
const newLeaf = (issuer: ForeignCertificate) =>
  makeForeignCertificate(bench, { subject: `/CN=host-${++count}.example.org`, issuer })
const newHierarchy = async () => {
  const root = await newRoot()
  const issuing = await newIssuing(root)
  return { root, issuing, leaf: await newLeaf(issuing) }
}
const importCa = async (pemCertificates: string, trusted: boolean): Promise<string> =>
  (await admin.post('/api/v1/cas/import', { pemCertificates, trusted })).body.importedCas[0].id

describe('a certificate of LOCAL', () => {
  test('is valid below its issuing CA and root, which openssl finds as well', async () => {
    const pem = await pemOf(await issueFor(scene))
    const { result, caChain } = await validate(pem)
    const { issuingCaId } = await service.builtInCa()
    expect([result, caChain.length, caChain[0].id]).toEqual([true, 2, issuingCaId])
    const [issuing, root] = await Promise.all(
      caChain.map(({ pemCertificate }: { pemCertificate: string }) => bench.file(pemCertificate)),
    )
    const { text } = await openssl('verify', '-CAfile', root, '-untrusted', issuing, await bench.file(pem))
    expect(text).toContain(': OK')
    const ca = await validate(caChain[0].pemCertificate)
    expect([ca.result, ca.caChain.map(({ id }: { id: string }) => id)]).toEqual([true, [caChain[1].id]])
    expect(await validate(caChain[1].pemCertificate)).toEqual({ result: true, caChain: [], errorMessage: null })
  })

  test('is read without armour as well', async () => {
    const pem = await pemOf(await issueFor(scene))
    expect(await problemOf(pem.replaceAll(/-----[^-]+-----/g, ''))).toBeNull()
  })

  test('is not valid on hold, valid again after its release, and not after its revocation', async () => {
    const leaf = await issueFor(scene)
    const pem = await pemOf(leaf)
    await revoke(leaf.id, 'CERTIFICATE_HOLD')
    expect(await problemOf(pem)).toMatch(/^The certificate of CN=.* is on hold since \d{4}-[\d:T-]+Z\.$/)
    await revoke(leaf.id, 'REMOVE_FROM_CRL')
    expect(await problemOf(pem)).toBeNull()
    await revoke(leaf.id, 'KEY_COMPROMISE')
    const { caChain, errorMessage } = await validate(pem)
    expect(errorMessage).toMatch(/ was revoked at \d{4}-[\d:T-]+Z \(KEY_COMPROMISE\)\.$/)
    expect(caChain).toHaveLength(2)
  })

  test('stays revoked once it is archived, and once it is deleted', async () => {
    const leaf = await issueFor(scene)
    const pem = await pemOf(leaf)
    await revoke(leaf.id, 'SUPERSEDED')
    const calls = purger(admin)
    await calls.archived('CERTIFICATE', leaf.id)
    expect(await problemOf(pem)).toContain('(SUPERSEDED)')
    await calls.removed('CERTIFICATE', leaf.id)
    expect(await service.em().execute('select 1 from certificate where id = ?', [leaf.id])).toEqual([])
    expect(await problemOf(pem)).toContain('(SUPERSEDED)')
  })

  test('is revoked by the list of its CA when the records lost it', async () => {
    const [leaf, other] = [await issueFor(scene), await issueFor(scene)]
    const [pem, otherPem] = [await pemOf(leaf), await pemOf(other)]
    await revoke(leaf.id, 'CESSATION_OF_OPERATION')
    const caId = (await service.builtInCa()).issuingCaId ?? ''
    await crlWhere(service, bench, { caId, what: 'it is listed', holds: crl => crl.entries.has(leaf.serialNumber) })
    await service
      .em()
      .execute(`update certificate set fingerprint = md5(fingerprint) where id in (?, ?)`, [leaf.id, other.id])
    expect(await problemOf(pem)).toContain('(CESSATION_OF_OPERATION)')
    expect(await problemOf(otherPem)).toBeNull()
  })
})

describe('a certificate of others', () => {
  test('is valid below a trusted root, through CAs of the records or that came along', async () => {
    const { root, issuing, leaf } = await newHierarchy()
    expect(await problemOf(leaf.pem + issuing.pem + root.pem)).toMatch(
      /self-issued certificate of CN=Root .* not trusted/,
    )
    const rootId = await importCa(root.pem, true)
    expect(await problemOf(leaf.pem)).toMatch(/^The issuer of .*, CN=Issuing .*, is not known\.$/)
    const { result, caChain } = await validate(leaf.pem + garbage + issuing.pem)
    expect([result, caChain.map(({ id }: { id: string }) => id)]).toEqual([true, [null, rootId]])
    expect(caChain[0].filename).toMatch(/^CN_Issuing_.*\.pem$/)
    const issuingId = await importCa(issuing.pem, false)
    expect((await validate(leaf.pem)).caChain.map(({ id }: { id: string }) => id)).toEqual([issuingId, rootId])
  })

  test('is valid below a trusted issuing CA whose root is unknown', async () => {
    const { issuing, leaf } = await newHierarchy()
    const id = await importCa(issuing.pem, true)
    const { result, caChain } = await validate(leaf.pem)
    expect([result, caChain.map((ca: { id: string }) => ca.id)]).toEqual([true, [id]])
  })

  test('is not valid when a CA of its chain is archived, also when that comes along', async () => {
    const { root, issuing, leaf } = await newHierarchy()
    await importCa(root.pem, true)
    const issuingId = await importCa(issuing.pem, false)
    await service.em().execute('update ca set archived = true where id = ?', [issuingId])
    expect(await problemOf(leaf.pem)).toContain('is not known')
    expect(await problemOf(leaf.pem + issuing.pem)).toContain('is not known')
  })

  test('is not valid when trust ends, and by the signature of a stranger with the name of a CA', async () => {
    const subject = `/CN=Twin ${randomUUID()}`
    const [right, wrong] = await Promise.all([1, 2].map(() => makeForeignCertificate(bench, { subject, isCa: true })))
    const [leaf, forged] = [await newLeaf(right as ForeignCertificate), await newLeaf(wrong as ForeignCertificate)]
    const id = await importCa(right?.pem ?? '', true)
    expect([await problemOf(leaf.pem), await problemOf(forged.pem)]).toEqual([
      null,
      expect.stringContaining('is wrong'),
    ])
    const { version } = (await admin.get(`/api/v1/cas/${id}`)).body.metadata
    expect((await admin.patch(`/api/v1/cas/${id}`, { trusted: false, version })).status).toBe(200)
    expect(await problemOf(leaf.pem)).toContain('is not trusted')
  })

  test('is revoked when an import of it was marked as revoked', async () => {
    const { root, issuing, leaf } = await newHierarchy()
    await importCa(root.pem + issuing.pem, true)
    const { body } = await importPem(scene, leaf.pem)
    expect(await problemOf(leaf.pem)).toBeNull()
    const marked = { certificateIds: [body.importedCertificates[0].id], revocationReason: 'KEY_COMPROMISE' }
    expect((await scene.owner.patch('/api/v1/certificates/mark-as-revoked', marked)).status).toBe(204)
    expect(await problemOf(leaf.pem)).toContain('(KEY_COMPROMISE)')
  })

  test('is as valid as before when somebody imports its CA and marks that as revoked', async () => {
    const { root, issuing, leaf } = await newHierarchy()
    await importCa(root.pem + issuing.pem, true)
    const { body } = await importPem(scene, issuing.pem)
    const marked = { certificateIds: [body.importedCertificates[0].id], revocationReason: 'CA_COMPROMISE' }
    expect((await scene.owner.patch('/api/v1/certificates/mark-as-revoked', marked)).status).toBe(204)
    expect([await problemOf(leaf.pem), await problemOf(issuing.pem)]).toEqual([null, null])
  })

  test('finds its CA among thousands of its name, in little time', async () => {
    const { root, issuing, leaf } = await newHierarchy()
    await importCa(root.pem, true)
    const id = await importCa(issuing.pem, false)
    await service.em().execute(
      `insert into ca (id, version, created_by_type, created_date, last_modified_by_type, last_modified_date, archived, filename, subject_dn, issuer_dn, serial_number, fingerprint, valid_not_before, valid_not_after, public_key_algorithm, root, trusted, der)
       select gen_random_uuid(), version, created_by_type, created_date + interval '1 hour', last_modified_by_type, last_modified_date, false, filename, upper(subject_dn), issuer_dn, serial_number, md5(n::text || id), valid_not_before, valid_not_after, public_key_algorithm, false, false,
              overlay(der placing decode(lpad(to_hex(n), 8, '0'), 'hex') from length(der) - 3)
         from ca cross join generate_series(1, 20000) n where id = ?`,
      [id],
    )
    await service.em().execute('analyze ca')
    const started = performance.now()
    const { result, caChain } = await validate(leaf.pem)
    expect([result, caChain[0].id]).toEqual([true, id])
    expect(performance.now() - started).toBeLessThan(2000)
  })
})

test.each([512, 1024])('a signature under an RSA key of %i bits is not accepted, whoever trusts the CA', async bits => {
  const key = ['rsa', '-pkeyopt', `rsa_keygen_bits:${bits}`]
  const weak = await makeForeignCertificate(bench, { subject: `/CN=Weak ${randomUUID()}`, isCa: true, key })
  await importCa(weak.pem, true)
  expect(await problemOf((await newLeaf(weak)).pem)).toMatch(
    `made with an RSA key of ${bits} bits, which can be forged.`,
  )
})

describe('a refusal', () => {
  const operations = ['validate', 'validate-plain'].map(name => `/api/v1/certificates/${name}`)

  test('of what is no certificate', async () => {
    const { leaf } = await newHierarchy()
    for (const operation of operations)
      for (const pemCertificate of [
        'no certificate',
        garbage,
        garbage + leaf.pem,
        blocksOf(leaf.pem)[0]?.slice(0, 200),
      ])
        expect(refusalOf(await anybody.post(operation, { pemCertificate }))).toEqual([400, 'INVALID_CERTIFICATE'])
  })

  test('tells where there is no certificate to read', async () => {
    const { leaf } = await newHierarchy()
    for (const pemCertificate of ['no certificate', leaf.pem.replaceAll('CERTIFICATE', 'CMS')]) {
      const { body } = await anybody.post('/api/v1/certificates/validate', { pemCertificate })
      expect(body.errorMessage).toBe('The text holds no certificate, neither PEM nor Base64 of DER.')
    }
  })

  test('without a token, and of another body', async () => {
    for (const operation of operations) {
      const reply = await fetch(service.url + operation, { method: 'POST', body: '{}' })
      expect(reply.status).toBe(401)
      expect(refusalOf(await anybody.post(operation, {}))).toEqual([400, 'INVALID_REQUEST'])
    }
  })
})

test('half a character in the name of a stranger is told as U+FFFD', async () => {
  const key = newForeignKey()
  const { children } = readDer(parseCertificatePem(await signForeign(key, 'some')).der)
  const members = children[0]?.children.map(({ raw }) => raw) ?? []
  const half = sequence(tlv(0x31, sequence(oid('2.5.4.3'), tlv(0x1e, Buffer.of(0xd8, 0x00, 0x00, 0x61)))))
  members[3] = half
  members[5] = half
  const problem = await problemOf(encodePem('CERTIFICATE', await signDer(sequence(...members), key)))
  expect([problem?.includes('\uFFFDa'), problem?.isWellFormed()]).toEqual([true, true])
})
