// Who can write a column of the database, and nothing else, gets no key that is not his: every column that leads to a key.
import { createPrivateKey, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makePolicySigner } from '../../authority/making-signers.ts'
import { signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { PolicySigner } from '../../storage/rows/policy-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { protectedPart } from '../support/cmp-messages.ts'
import { makeCmpScene } from '../support/cmp.ts'
import { issueFor, refusalOf, until, type Issued } from '../support/issuing.ts'
import { gatewayOf } from '../support/scep.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let mine: Issued
let other: Issued

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  mine = await issueFor(scene, 'mine.example.org')
  other = await issueFor(scene, 'other.example.org')
})
afterAll(() => service.stop())

const row = (id: string) => service.em().findOneOrFail(Certificate, id)
const issuingCa = async () => service.em().findOneOrFail(Ca, (await service.builtInCa()).issuingCaId ?? '')
const keys = (id: string) =>
  Promise.all(['download-private-key', 'pkcs12'].map(what => scene.owner.get(`/api/v1/certificates/${id}/${what}`)))

/** Writes columns of a certificate as a thief would, looks, and puts them back. */
const withColumns = async <T>(id: string, columns: Partial<Certificate>, look: () => Promise<T>): Promise<T> => {
  const { privateKeyId, der } = await row(id)
  await service.em().nativeUpdate(Certificate, { id }, columns)
  try {
    return await look()
  } finally {
    await service.em().nativeUpdate(Certificate, { id }, { privateKeyId: privateKeyId ?? null, der })
  }
}

const expectNothing = (replies: Awaited<ReturnType<typeof keys>>) => {
  for (const reply of replies) {
    expect(refusalOf(reply)).toEqual([500, 'INTERNAL_ERROR'])
    expect(JSON.stringify(reply.body)).not.toMatch(/PRIVATE KEY|keystore|password/)
  }
}

test('in peace, the key of a certificate is handed out to whom it belongs', async () => {
  const [pem, p12] = await keys(mine.id)
  expect([pem?.status, p12?.status]).toEqual([200, 200])
  const { der } = await row(mine.id)
  expect(createPrivateKey(pem?.body.pemPrivateKey).asymmetricKeyType).toBe('ec')
  expect(der.length).toBeGreaterThan(0)
})

describe('a certificate', () => {
  test('that names the key of a CA does not get it', async () => {
    const { privateKeyId } = await issuingCa()
    expectNothing(await withColumns(mine.id, { privateKeyId: privateKeyId ?? null }, () => keys(mine.id)))
  })

  test('that names the key of a CA and has its certificate as well does not get it', async () => {
    const { privateKeyId, der } = await issuingCa()
    expectNothing(await withColumns(mine.id, { privateKeyId: privateKeyId ?? null, der }, () => keys(mine.id)))
  })

  test('that names the key of another certificate does not get it, with its octets or without', async () => {
    const { privateKeyId = null, der } = await row(other.id)
    expectNothing(await withColumns(mine.id, { privateKeyId }, () => keys(mine.id)))
    expectNothing(await withColumns(mine.id, { privateKeyId, der }, () => keys(mine.id)))
  })

  test('with other octets does not get its own key', async () => {
    expectNothing(await withColumns(mine.id, { der: (await row(other.id)).der }, () => keys(mine.id)))
  })

  test('whose key row holds the sealed bytes of a CA key does not get them', async () => {
    const { sealed } = await service.em().findOneOrFail(PrivateKey, (await issuingCa()).privateKeyId ?? '')
    const copy = randomUUID()
    await service.em().insert(PrivateKey, { id: copy, sealed, createdDate: new Date() })
    expectNothing(await withColumns(mine.id, { privateKeyId: copy }, () => keys(mine.id)))
  })
})

describe('a provider', () => {
  const path = '/api/v1/certificate-providers'
  const makeProvider = async () => {
    const admin = await service.user({ GLOBAL: ['ADMIN'] })
    const body = { name: `Provider ${randomUUID()}`, certificateProviderType: 'LOCAL', configuration: '{}' }
    const { id } = (await admin.post(path, body)).body as { id: string }
    const made = await until('the provider has its CA', () =>
      service.em().findOne(CertificateProvider, { id, issuingCaId: { $ne: null } }),
    )
    const check = async () => (await admin.post(`${path}/${id}/check-connection`)).body as { result: boolean }
    return { id, issuingCaId: made.issuingCaId ?? '', check }
  }

  test('in peace is in order', async () => {
    expect(await (await makeProvider()).check()).toMatchObject({ result: true })
  })

  test('that names the CA of another one does not sign with its key', async () => {
    const { id, check } = await makeProvider()
    await service.em().nativeUpdate(CertificateProvider, { id }, { issuingCaId: (await issuingCa()).id })
    expect(await check()).toMatchObject({
      result: false,
      errorMessage: 'The CA of the provider belongs to another provider.',
    })
  })

  test('whose CA was given to it, or names the key of a certificate or of another CA, does not sign', async () => {
    const [donor, thief] = [await makeProvider(), await makeProvider()]
    const columns = [
      { id: thief.issuingCaId, privateKeyId: (await row(other.id)).privateKeyId ?? null },
      { id: thief.issuingCaId, privateKeyId: (await issuingCa()).privateKeyId ?? null },
      { id: donor.issuingCaId, certificateProviderId: thief.id },
    ]
    await service.em().nativeUpdate(CertificateProvider, { id: thief.id }, { issuingCaId: donor.issuingCaId })
    for (const { id, ...changed } of columns) {
      await service.em().nativeUpdate(Ca, { id }, changed)
      await service.em().nativeUpdate(CertificateProvider, { id: thief.id }, { issuingCaId: id })
      expect(await thief.check()).toMatchObject({ result: false })
    }
  })
})

describe('a signer that was made for a policy', () => {
  const part = protectedPart({ protectionAlg: signatureAlgorithms.SHA256_WITH_RSA.identifier })
  /** A policy with a signer that no process has opened yet. */
  const unopened = async () => {
    const cmp = await makeCmpScene(service, { signatureAlgorithm: 'SHA256_WITH_RSA' })
    const wanted = { policyId: cmp.policyId, kind: 'CMP' } as const
    await makePolicySigner(service.services.orm.em.fork(), service.services, wanted)
    return cmp
  }
  const rewrite = (policyId: string, columns: Partial<PolicySigner>) =>
    service.em().nativeUpdate(PolicySigner, { policyId }, columns)

  test('in peace signs for it', async () => {
    expect((await (await unopened()).sign(part)).status).toBe(200)
  })

  test('does not sign for another', async () => {
    const [from, to] = [await unopened(), await makeCmpScene(service, { signatureAlgorithm: 'SHA256_WITH_RSA' })]
    await rewrite(from.policyId, { policyId: to.policyId })
    expect(refusalOf(await to.sign(part))).toEqual([500, 'INTERNAL_ERROR'])
  })

  test('does not serve another protocol', async () => {
    const { policyId, owner } = await unopened()
    await owner.patch(`/api/v1/policies/${policyId}`, { scepConfiguration: {} })
    await rewrite(policyId, { kind: 'SCEP' })
    const gateway = await gatewayOf(service, policyId)
    const told = await gateway.get(`/api/v1/scep/policies/${policyId}/configuration`)
    expect(refusalOf(told)).toEqual([500, 'INTERNAL_ERROR'])
  })

  test.each([
    ['a CA', async () => (await issuingCa()).privateKeyId],
    ['a certificate', async () => (await row(mine.id)).privateKeyId],
    [
      'another signer',
      async () => {
        const { policyId } = await unopened()
        return (await service.em().findOneOrFail(PolicySigner, { policyId })).privateKeyId
      },
    ],
  ])('does not get the key of %s', async (_, keyOf) => {
    const cmp = await unopened()
    await rewrite(cmp.policyId, { privateKeyId: (await keyOf()) ?? '' })
    expect(refusalOf(await cmp.sign(part))).toEqual([500, 'INTERNAL_ERROR'])
  })
})
