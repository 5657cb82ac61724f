import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as templateSigners from '../../api/resources/certificate-providers/template-signers.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { startApi, type Api } from '../support/api.ts'
import { makeProvider, makeRealm } from '../support/records.ts'

let api: Api
beforeAll(async () => {
  api = await startApi({ operations: templateSigners })
})
afterAll(() => api.stop())

const at = (id: string, part: string) => `/api/v1/certificate-providers-templates/${id}/${part}`
const maker = async () => api.user({ REALM: { [(await makeRealm(api.em())).id]: ['POLICIES_CREATE'] } })
const withTemplates = async (...names: string[]) => {
  const em = api.em()
  const provider = await makeProvider(em)
  const settings = { ...provider.settings, templates: names.map(name => ({ name })) }
  await em.nativeUpdate(CertificateProvider, { id: provider.id }, { settings })
  return provider.id
}
interface Signer {
  id: number
  name: string
}
const signersOf = async (id: string, part: string): Promise<Signer[]> =>
  (await (await maker()).get(at(id, part))).body.caTemplateSignerList

const parts = ['ca-template-signers', 'all-ca-template-signers', 'directory-ca-templates']

test.each(parts)('%s asks for a token and for the right to shape policies', async part => {
  const { id } = await makeProvider(api.em())
  expect((await api.anonymous.get(at(id, part))).status).toBe(401)
  const realm = await makeRealm(api.em())
  const reader = await api.user({ REALM: { [realm.id]: ['FULL_READ', 'UPDATE'] } })
  expect((await reader.get(at(id, part))).status).toBe(403)
  const unknown = await (await maker()).get(at(randomUUID(), part))
  expect([unknown.status, unknown.body.apiError]).toEqual([404, 'CERTIFICATE_PROVIDER_NOT_FOUND'])
})

test('there is one template signer a template; only the all-operation names those for RA', async () => {
  const id = await withTemplates('KIOSK')
  const few = await signersOf(id, 'ca-template-signers')
  expect(few.map(({ name }) => name)).toEqual([
    'SERVER',
    'CLIENT',
    'SERVER_AND_CLIENT',
    'PERSON',
    'CODE_SIGNING',
    'DEVICE',
    'KIOSK',
  ])
  const all = await signersOf(id, 'all-ca-template-signers')
  expect(all).toHaveLength(10)
  expect(new Set(all.map(signer => signer.id)).size).toBe(10)
})

test('the id of a template signer stays when others come and go', async () => {
  const idOf = async (...names: string[]) =>
    (await signersOf(await withTemplates(...names), 'ca-template-signers')).find(({ name }) => name === 'B')?.id
  expect(await idOf('A', 'B')).toBe(await idOf('B'))
})

test('LOCAL has no templates of a directory', async () => {
  const { id } = await makeProvider(api.em())
  const { status, body } = await (await maker()).get(at(id, 'directory-ca-templates'))
  expect([status, body.apiError]).toEqual([422, 'NOT_SUPPORTED_BY_PROVIDER'])
})
