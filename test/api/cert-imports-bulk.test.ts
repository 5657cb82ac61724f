// Large and concurrent certificate imports.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { internalTemplates } from '../../pki/certificate/templates.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { makePolicy, makeRealm } from '../support/records.ts'
import { startApi, type Api } from '../support/api.ts'
import { nameDer } from '../pki/hierarchy.ts'
import { importPath } from '../support/importing.ts'
import { signForeign, newForeignKey } from '../support/foreign-certificates.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const some = 2000
const scene = async () => {
  const realm = await makeRealm(api.em())
  const policy = await makePolicy(api.em(), realm, { certificateImportAllowed: true })
  const rights = { REALM: { [realm.id]: ['ENDENTITIES_CREATE'] }, POLICY: { [policy.id]: ['CERTS_CREATE'] } }
  const user = await api.user(rights)
  const importPem = (pemCertificates: string, end = '') =>
    user.post(`${importPath}${end}`, { policyId: policy.id, pemCertificates })
  return { realm, importPem, user }
}

const makeMany = async (count: number): Promise<string> => {
  const key = newForeignKey()
  const root = await signForeign(key, '', {
    subjectDer: nameDer({ commonName: 'A CA that nobody knows' }),
    template: internalTemplates.ROOT_CA,
  })
  const names = Array.from({ length: count }, (_, index) => `device-${index}.bulk.example`)
  const pems: string[] = [root]
  for (const name of names) pems.push(await signForeign(key, name))
  return pems.join('')
}

test(`an import of ${some} certificates is one call, during which others are served`, async () => {
  const { realm, importPem, user } = await scene()
  const pem = await makeMany(some - 1)
  const progress = { running: true }
  let served = 0
  const importing = importPem(pem).finally(() => (progress.running = false))
  while (progress.running) {
    expect((await user.get(`/api/v1/realms/${realm.id}`)).status).toBe(200)
    served += 1
  }
  const { status, body } = await importing
  expect(served).toBeGreaterThan(20)
  expect(status).toBe(201)
  expect(body).toMatchObject({ total: some, errors: [], alreadyKnownCertificateIds: [] })
  expect(body.importedCertificates).toHaveLength(some - 1)
  expect(await api.em().count(Certificate, { realmId: realm.id, imported: true })).toBe(some - 1)
  expect(await api.em().count(EndEntity, { realmId: realm.id })).toBe(some - 1)
  expect(await api.em().count(Certificate, { realmId: realm.id, issuerCaId: null })).toBe(0)
  const again = (await importPem(pem)).body
  expect(again.importedCertificates).toEqual([])
  expect(again.alreadyKnownCertificateIds).toHaveLength(some - 1)
})

test('of imports of the same certificates at once, in one realm and in others, each is made by one', async () => {
  const [here, there] = [await scene(), await scene()]
  const pem = await makeMany(20)
  const replies = await Promise.all([here, here, there, here, there].map(({ importPem }) => importPem(pem)))
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  const made = replies.map(({ body }) => body.importedCertificates.length)
  expect(made.toSorted((one, other) => one - other)).toEqual([0, 0, 0, 0, 20])
  const { fingerprint } = parseCertificatePem(pem)
  expect(await api.em().count(Ca, { fingerprint })).toBe(1)
  const owners = await api.em().count(EndEntity, { realmId: { $in: [here.realm.id, there.realm.id] } })
  expect(owners).toBe(20)
})
