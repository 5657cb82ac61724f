// The CA of a provider gives way to a next one (contract 10.6): at once or at a date, and what it issued before stays told of.
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import type { ApiCaller } from '../support/api.ts'
import { blocksOf, factsOf, issueFor, refusalOf, statusesOf, until } from '../support/issuing.ts'
import { crlWhere, fetchCrl } from '../support/revoking.ts'
import { adminOf, newProvider, readProvider, rollOver, soon } from '../support/rollover.ts'
import { makeScene, startService, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let admin: ApiCaller

beforeAll(async () => {
  service = await startService()
  admin = await adminOf(service)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const dayMs = 86_400_000
const caOf = (id: string) => service.em().findOneOrFail(Ca, { id })

/** A chain of PEM blocks, leaf first, that openssl verifies with the lists of all its CAs. */
const verified = async (chain: readonly string[], caIds: readonly string[]): Promise<string> => {
  const lists = await Promise.all(caIds.map(caId => fetchCrl(service, bench, caId)))
  const [leaf = '', issuing = '', root = ''] = await Promise.all(chain.map(block => bench.file(block)))
  const given = lists.flatMap(({ file }) => ['-CRLfile', file])
  return (await openssl('verify', '-crl_check_all', ...given, '-CAfile', root, '-untrusted', issuing, leaf)).text
}

const chainOf = async (caller: ApiCaller, id: string): Promise<string[]> => {
  const { body } = await caller.get(`/api/v1/certificates/${id}/download-chain?casFirst=false`)
  return blocksOf(body.pemCertificate)
}

describe('a rollover at once', () => {
  test('lets a new CA of the next generation issue, below the same root', async () => {
    const provider = await newProvider(admin)
    const scene = await makeScene(service, { certificateProviderId: provider.id })
    const before = await issueFor(scene)
    const { body: old } = await admin.get(provider.url)
    const { status, body } = await rollOver(admin, provider)
    expect([status, body]).toEqual([
      200,
      {
        certificateProviderId: provider.id,
        issuingCaId: expect.any(String),
        nextIssuingCaId: null,
        takeOverDate: null,
        version: expect.any(Number),
      },
    ])
    expect(body.issuingCaId).not.toBe(old.issuingCaId)
    expect((await admin.get(provider.url)).body).toEqual(body)
    const [former, next] = [await caOf(old.issuingCaId), await caOf(body.issuingCaId)]
    expect([next.subjectDn, next.issuerCaId]).toEqual([`${former.subjectDn} G2`, former.issuerCaId])
    expect((await readProvider(admin, provider.id)).configuration.issuingSubjectDn).toBe(next.subjectDn)
    const after = await issueFor(scene)
    const chain = await chainOf(scene.owner, after.id)
    expect(new X509Certificate(chain[0] ?? '').issuer).toContain('Issuing CA G2')
    expect(await verified(chain, [next.id, next.issuerCaId ?? ''])).toMatch(/: OK/)
    expect(await verified(await chainOf(scene.owner, before.id), [former.id, next.issuerCaId ?? ''])).toMatch(/: OK/)
    expect(await factsOf(service, provider.id)).toEqual(['ENTITY_CREATED', 'ROLLOVER_PLANNED', 'ROLLOVER_DONE'])
  })

  test('leaves the CA before it telling what it issued, with the validity of its own list', async () => {
    const provider = await newProvider(admin, { crlValidityHours: 48 })
    const scene = await makeScene(service, { certificateProviderId: provider.id })
    const issued = await issueFor(scene)
    const { body: old } = await admin.get(provider.url)
    await rollOver(admin, provider)
    await scene.owner.post(`/api/v1/certificates/revoke?id=${issued.id}&revocationReason=SUPERSEDED`)
    const crl = await crlWhere(service, bench, {
      caId: old.issuingCaId,
      what: 'the revocation is in the list of the former CA',
      holds: ({ entries }) => entries.get(issued.serialNumber.replace(/^0+/, '')) === 'Superseded',
    })
    const { text } = await openssl('crl', '-in', crl.file, '-noout', '-lastupdate', '-nextupdate')
    const [last = 0, next = 0] = [...text.matchAll(/Update=(.+)/g)].map(([, date]) => Date.parse(date ?? ''))
    expect(next - last).toBe(2 * dayMs)
    const status = await scene.owner.get(`/api/v1/certificates/${issued.id}`)
    expect(status.body.certStatus).toBe('REVOKED')
  })

  test('makes the next CA from other keys, names and years when asked', async () => {
    const provider = await newProvider(admin)
    const members = { keyAlgorithm: 'EDDSA', issuingSubjectDn: 'CN=Another CA,O=House', issuingValidityYears: 3 }
    const { body } = await rollOver(admin, provider, { configuration: JSON.stringify(members) })
    const next = await caOf(body.issuingCaId)
    expect([next.subjectDn, next.publicKeyAlgorithm]).toEqual(['CN=Another CA,O=House', 'EDDSA'])
    expect((await readProvider(admin, provider.id)).configuration).toMatchObject({ ...members, curve: 'ED25519' })
    const again = await rollOver(admin, provider)
    expect((await caOf(again.body.issuingCaId)).subjectDn).toBe('CN=Another CA G2,O=House')
    const scene = await makeScene(service, { certificateProviderId: provider.id })
    const chain = await chainOf(scene.owner, (await issueFor(scene)).id)
    expect(await verified(chain, [again.body.issuingCaId, next.issuerCaId ?? ''])).toMatch(/: OK/)
  })

  test('makes a root as well when asked; a single CA is its own', async () => {
    const provider = await newProvider(admin)
    const { body: old } = await admin.get(provider.url)
    const { body } = await rollOver(admin, provider, { newRoot: true })
    const next = await caOf(body.issuingCaId)
    const [formerRoot, root] = [(await caOf(old.issuingCaId)).issuerCaId, next.issuerCaId]
    expect(root).not.toBe(formerRoot)
    expect((await caOf(root ?? '')).subjectDn).toBe(`CN=${provider.name} Root CA G2`)
    const single = await newProvider(admin, { hierarchy: 'SINGLE', crlValidityHours: 24 })
    const { body: second } = await rollOver(admin, single)
    const ca = await caOf(second.issuingCaId)
    expect([ca.root, ca.issuerCaId, ca.subjectDn]).toEqual([true, null, `CN=${single.name} Issuing CA G2`])
    const scene = await makeScene(service, { certificateProviderId: single.id })
    const [leaf = '', own = ''] = await chainOf(scene.owner, (await issueFor(scene)).id)
    expect(new X509Certificate(leaf).verify(new X509Certificate(own).publicKey)).toBe(true)
  })

  test('is done once, however many ask at the same time', async () => {
    const provider = await newProvider(admin)
    const { metadata } = await readProvider(admin, provider.id)
    const ask = () => admin.post(provider.url, { version: metadata.version })
    const replies = await Promise.all([ask(), ask(), ask()])
    expect(statusesOf(replies)).toEqual([200, 409, 409])
    expect(await service.em().count(Ca, { certificateProviderId: provider.id })).toBe(3)
  })
})

describe('a rollover at a date', () => {
  test('prepares the next CA, which everybody can fetch, and lets it issue when the date has come', async () => {
    const provider = await newProvider(admin)
    const scene = await makeScene(service, { certificateProviderId: provider.id })
    const takeOverDate = soon(6000)
    const { body } = await rollOver(admin, provider, { takeOverDate })
    expect(body).toMatchObject({ nextIssuingCaId: expect.any(String), takeOverDate })
    const next = await caOf(body.nextIssuingCaId)
    for (const place of [`ca/${next.id}.cer`, `crl/${next.id}.crl`])
      expect((await fetch(`${service.url}/pki/${place}`)).status).toBe(200)
    await until('the next CA issues', async () => (await admin.get(provider.url)).body.issuingCaId === next.id)
    expect((await caOf(body.issuingCaId)).succeededDate?.getTime()).toBeGreaterThanOrEqual(Date.parse(takeOverDate))
    const [leaf = ''] = await chainOf(scene.owner, (await issueFor(scene)).id)
    expect(new X509Certificate(leaf).checkIssued(new X509Certificate(next.der))).toBe(true)
  })

  test('is canceled: the next CA is revoked by its root, its keys are erased, and another can be planned', async () => {
    const provider = await newProvider(admin)
    const { body } = await rollOver(admin, provider, { takeOverDate: soon(dayMs) })
    const next = await caOf(body.nextIssuingCaId)
    expect(refusalOf(await rollOver(admin, provider))).toEqual([409, 'INVALID_STATE'])
    expect((await admin.delete(provider.url)).status).toBe(204)
    expect((await admin.get(provider.url)).body).toMatchObject({ nextIssuingCaId: null, takeOverDate: null })
    const after = await caOf(next.id)
    expect([after.archived, after.trusted, after.privateKeyId]).toEqual([true, false, null])
    expect(await service.em().count(PrivateKey, { id: next.privateKeyId ?? '' })).toBe(0)
    expect(await service.em().count(OcspSigner, { caId: next.id, retiredDate: null })).toBe(0)
    expect((await fetch(`${service.url}/pki/ca/${next.id}.cer`)).status).toBe(404)
    await crlWhere(service, bench, {
      caId: next.issuerCaId ?? '',
      what: 'the root tells of the CA',
      holds: ({ entries }) => entries.get(next.serialNumber.replace(/^0+/, '')) === 'Cessation Of Operation',
    })
    expect(refusalOf(await admin.delete(provider.url))).toEqual([409, 'INVALID_STATE'])
    expect(await factsOf(service, provider.id)).toEqual(['ENTITY_CREATED', 'ROLLOVER_PLANNED', 'ROLLOVER_CANCELED'])
    const again = await rollOver(admin, provider)
    expect((await caOf(again.body.issuingCaId)).subjectDn).toBe(`CN=${provider.name} Issuing CA G3`)
  })
})

describe('what is refused', () => {
  test.each<[string, object, string]>([
    ['what is no JSON', { configuration: '{' }, 'INVALID_PROVIDER_CONFIGURATION'],
    [
      'a member that no key is made from',
      { configuration: '{"crlValidityHours":1}' },
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    ['another hierarchy', { configuration: '{"hierarchy":"SINGLE"}' }, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a name of a root that stays', { configuration: '{"rootSubjectDn":"CN=R"}' }, 'INVALID_PROVIDER_CONFIGURATION'],
    [
      'one name for root and issuing CA',
      { newRoot: true, configuration: '{"rootSubjectDn":"CN=One","issuingSubjectDn":"CN=one"}' },
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    ['a name that is none', { configuration: '{"issuingSubjectDn":"R"}' }, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a weak key', { configuration: '{"keyAlgorithm":"RSA","keySize":1024}' }, 'INVALID_PROVIDER_CONFIGURATION'],
    [
      'more years than the root has',
      { configuration: '{"issuingValidityYears":20}' },
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    ['a date that is past', { takeOverDate: soon(-1000) }, 'INVALID_PROVIDER_CONFIGURATION'],
    ['a date past the end of the CA', { takeOverDate: soon(4000 * dayMs) }, 'INVALID_PROVIDER_CONFIGURATION'],
    [
      'a next CA that ends before it takes over',
      { takeOverDate: soon(400 * dayMs), configuration: '{"issuingValidityYears":1}' },
      'INVALID_PROVIDER_CONFIGURATION',
    ],
    [
      'one of a new root that ends before it takes over',
      {
        takeOverDate: soon(400 * dayMs),
        newRoot: true,
        configuration: '{"rootValidityYears":1,"issuingValidityYears":1}',
      },
      'INVALID_PROVIDER_CONFIGURATION',
    ],
  ])('%s', async (...[, members, apiError]) => {
    const provider = await newProvider(admin, { rootValidityYears: 19 })
    expect(refusalOf(await rollOver(admin, provider, members))).toEqual([422, apiError])
    expect(await service.em().count(Ca, { certificateProviderId: provider.id })).toBe(2)
    expect((await admin.get(provider.url)).body).toMatchObject({ nextIssuingCaId: null, takeOverDate: null })
  })

  test.each([(name: string) => `cn = ${name} Issuing CA`, (name: string) => `CN=${name.toUpperCase()}  issuing CA`])(
    'a name that a CA of the provider has, or had (%#)',
    async spelled => {
      const provider = await newProvider(admin)
      const configuration = JSON.stringify({ issuingSubjectDn: spelled(provider.name) })
      const first = await rollOver(admin, provider, { configuration })
      expect([...refusalOf(first), first.body.errorMessage]).toEqual([
        422,
        'INVALID_PROVIDER_CONFIGURATION',
        expect.stringContaining('already'),
      ])
      await rollOver(admin, provider)
      expect(refusalOf(await rollOver(admin, provider, { configuration }))[0]).toBe(422)
    },
  )

  test('a call without the version, and one with a former version', async () => {
    const provider = await newProvider(admin)
    expect(refusalOf(await admin.post(provider.url, {}))).toEqual([400, 'INVALID_REQUEST'])
    expect(refusalOf(await rollOver(admin, provider, { version: 0 }))).toEqual([409, 'VERSION_CONFLICT'])
  })

  test('calls of others than administrators, and unknown providers', async () => {
    const { url } = await newProvider(admin)
    const user = await service.user({ GLOBAL: ['REALMS_FULL_READ'] })
    for (const [caller, status] of [
      [service.anonymous, 401],
      [user, 403],
    ] as const) {
      const replies = [await caller.get(url), await caller.post(url, { version: 1 }), await caller.delete(url)]
      expect(replies.map(reply => reply.status)).toEqual([status, status, status])
    }
    const nowhere = url.replace(/[0-9a-f-]{36}/, crypto.randomUUID())
    expect(refusalOf(await admin.get(nowhere))).toEqual([404, 'CERTIFICATE_PROVIDER_NOT_FOUND'])
    expect((await admin.post(nowhere, { version: 1 })).status).toBe(404)
    expect((await admin.delete(nowhere)).status).toBe(404)
  })
})
