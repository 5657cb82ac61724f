// Providers whose certificates could not be made are refused before they are stored, and never tried twice (contract 10.1).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { issueFor, refusalOf } from '../support/issuing.ts'
import { makeProvider } from '../support/records.ts'
import { surroundings } from '../activities/fixture.ts'
import { makeScene, startService, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const create = async (configuration: object, name = `Provider ${randomUUID()}`) => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const body = { name, certificateProviderType: 'LOCAL', configuration: JSON.stringify(configuration) }
  return { name, ...(await admin.post('/api/v1/certificate-providers', body)) }
}
const refused = [422, 'INVALID_PROVIDER_CONFIGURATION']

test.each<[string, object]>([
  ['a country in lower case', { issuingSubjectDn: 'CN=Small C,C=de' }],
  ['a country of the root in lower case', { rootSubjectDn: 'CN=Small C,C=de' }],
  ['a country of the single CA in lower case', { hierarchy: 'SINGLE', issuingSubjectDn: 'CN=Small C,C=de' }],
  ['one name for root and issuing CA', { rootSubjectDn: 'CN=One,O=House', issuingSubjectDn: 'cn=ONE, o=House' }],
  ['a serial number that is not printable', { rootSubjectDn: 'CN=a,serialNumber=a_b' }],
  ['a name of no text', { rootSubjectDn: 'CN=a,2.5.4.3=#020101' }],
  [
    'time stamps beside another usage',
    { templates: [{ name: 'T', extendedKeyUsages: ['timeStamping', 'clientAuth'] }] },
  ],
  [
    'time stamps by OID beside another usage',
    { templates: [{ name: 'T', extendedKeyUsages: ['codeSigning', '1.3.6.1.5.5.7.3.8'] }] },
  ],
])('%s is refused, and nothing is kept', async (_, configuration) => {
  const { name, ...reply } = await create(configuration)
  expect(refusalOf(reply)).toEqual(refused)
  expect(reply.body.errorMessage.length).toBeGreaterThan(20)
  expect(await service.em().count(CertificateProvider, { name })).toBe(0)
})

test.each<[string, unknown, string]>([
  ['crlPartitions', 257, 'crlPartitions must be a whole number from 1 to 256.'],
  ['keyAlgorithm', 'DSA', 'keyAlgorithm must be one of RSA, EC, EDDSA, ML_DSA.'],
  ['ocspSigner', 'no', 'ocspSigner must be one of true, false.'],
  ['templates', {}, 'templates must be a list of at most 1000.'],
  ['color', 1, 'A LOCAL provider has no member color.'],
])('what %s may be is told', async (member, value, message) => {
  const { body } = await create({ [member]: value })
  expect([body.errorMessage, body.fieldErrors]).toEqual([message, [{ field: `configuration.${member}`, message }]])
})

test('what could be made is: a long name of emoji, every built-in template, a template of every usage', async () => {
  const usages = ['digitalSignature', 'nonRepudiation', 'keyEncipherment', 'dataEncipherment', 'keyAgreement']
  const templates = usages.map(usage => ({ name: `ONLY_${usage}`, keyUsages: [usage] }))
  const { status, body } = await create({ templates }, `${'🦊'.repeat(60)} ${randomUUID()}`)
  expect(status).toBe(201)
  const cas = await service.em().find(Ca, { certificateProviderId: body.id })
  expect(cas.map(({ subjectDn }) => subjectDn.isWellFormed())).toEqual([true, true])
})

test('a stored provider that can never be made ready ends its preparation at once', async () => {
  const { id } = await makeProvider(service.em())
  const em = service.em()
  const provider = await em.findOneOrFail(CertificateProvider, id)
  provider.settings = { ...provider.settings, issuingSubjectDn: 'CN=Small C,C=de' }
  await em.flush()
  const prepared = surroundings(`provider-prepare/${id}`).run(service.activities.prepareProvider, { providerId: id })
  await expect(prepared).rejects.toMatchObject({ type: 'INVALID_PROVIDER_CONFIGURATION', nonRetryable: true })
})

test('certificates of clients sign, and those of time stamps say so critically and alone', async () => {
  const { body } = await create({ templates: [{ name: 'STAMPS', extendedKeyUsages: ['timeStamping'] }] })
  const shown = async (templateSignerName: string) => {
    const scene = await makeScene(service, {
      certificateProviderId: body.id,
      certificateProviderConfiguration: JSON.stringify({ templateSignerName }),
    })
    const keyGenParamsDto = { cryptoAlgorithm: 'RSA', keySize: 2048 }
    const { id } = await issueFor(scene, undefined, { keyGenParamsDto })
    const pem = await scene.owner.get(`/api/v1/certificates/${id}/download`)
    const file = await bench.file(pem.body.pemCertificate)
    return (await openssl('x509', '-in', file, '-noout', '-ext', 'keyUsage,extendedKeyUsage')).text
  }
  expect(await shown('CLIENT')).toMatch(/Key Usage: critical\s+Digital Signature\s+X509v3 Extended Key Usage:/)
  expect(await shown('STAMPS')).toMatch(/Extended Key Usage: critical\s+Time Stamping\s*$/)
})
