// Rules are judged on the names that the certificate will hold, and templates of the infrastructure stay in the system
// realm (contract 5.1, 5.5).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeProvider } from '../support/records.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene

const ours = { property: 'DOMAIN', requirement: 'OPTIONAL', pattern: '(.*\\.)?example\\.org' }

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { endEntityRules: [ours] })
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const request = async (subject: object, at = scene) =>
  at.owner.post('/api/v1/cert-requests', {
    policyId: at.policyId,
    endEntityId: await at.newEndEntity({ ...subject }),
    validFor: 'SIX_MONTHS',
    keyPairMode: 'SERVER_GEN',
    keyGenParamsDto: { cryptoAlgorithm: 'EC' },
  })

const bank = 'www.bank-of-elsewhere.com'
const broken = [422, 'END_ENTITY_RULE_VIOLATION']

describe('a host name in the common name', () => {
  test.each([bank, bank.toUpperCase(), `*.${bank}`])('obeys the rule of DOMAIN: %s', async commonName => {
    const reply = await request({ commonName })
    expect(refusalOf(reply)).toEqual(broken)
    expect(reply.body.fieldErrors).toMatchObject([{ field: 'DOMAIN' }])
    const endEntity = { commonName, domains: ['a.example.org'] }
    expect(refusalOf(await request(endEntity))).toEqual(broken)
  })

  test('is refused by the check of rules, by a table and by the search as well', async () => {
    const good = await scene.newEndEntity('good.example.org')
    const bad = await scene.newEndEntity(bank)
    const { owner, realmId, policyId } = scene
    const rules = `/api/v1/policies/${policyId}/rules`
    expect((await owner.post(rules, { endEntity: { commonName: bank } })).body.result).toBe(false)
    expect((await owner.post(rules, { endEntityId: bad })).body.result).toBe(false)
    expect((await owner.post(rules, { endEntityId: good })).body.result).toBe(true)
    const csv = `commonName\n${bank}\nalso-good.example.org\n`
    const table = await owner.post('/api/v1/end-entities/upload-csv?dryRun=true', { realmId, policyId, csv })
    expect(table.body).toMatchObject({ total: 2, imported: 1, errors: [{ line: 2, commonName: bank }] })
    const found = await owner.post('/api/v1/end-entities/search', { realmId, policyId, endEntityIds: [good, bad] })
    expect(found.body.content).toMatchObject([{ id: good }])
  })

  test('that fits is issued as a DNS name, as openssl reads it', async () => {
    const { body } = await request({ commonName: 'calm.example.org' })
    const issued = await scene.owner.post(`/api/v1/certificates/cert-requests/${body.id}`)
    expect(issued.status).toBe(201)
    const file = await bench.file(issued.body.certificatePem.pemCertificate)
    const shown = await openssl('x509', '-in', file, '-noout', '-ext', 'subjectAltName')
    expect(shown.text).toContain('DNS:calm.example.org')
  })

  test('counts where DNS names are counted, forbidden or required', async () => {
    const withRule = (rule: object) => makeScene(service, { endEntityRules: [{ property: 'DOMAIN', ...rule }] })
    const forbidden = await withRule({ requirement: 'FORBIDDEN' })
    expect(refusalOf(await request({ commonName: 'a.example.org', ips: ['192.0.2.1'] }, forbidden))).toEqual(broken)
    expect((await request({ commonName: 'printer 1', ips: ['192.0.2.1'] }, forbidden)).status).toBe(201)
    const one = await withRule({ requirement: 'REQUIRED', maxCount: 1 })
    expect((await request({ commonName: 'a.example.org' }, one)).status).toBe(201)
    expect(refusalOf(await request({ commonName: 'a.example.org', domains: ['b.example.org'] }, one))).toEqual(broken)
  })

  test('that becomes no DNS name is no domain: CLIENT', async () => {
    const certificateProviderConfiguration = '{"templateSignerName":"CLIENT"}'
    const clients = await makeScene(service, { endEntityRules: [ours], certificateProviderConfiguration })
    expect((await request({ commonName: bank }, clients)).status).toBe(201)
    expect(refusalOf(await request({ commonName: 'x', domains: [bank] }, clients))).toEqual(broken)
  })
})

describe('templates of the infrastructure', () => {
  const own = [
    { name: 'RESPONDER', extendedKeyUsages: ['OCSPSigning'] },
    { name: 'RESPONDER_BY_OID', extendedKeyUsages: ['clientAuth', '1.3.6.1.5.5.7.3.9'] },
    { name: 'REGISTRAR', extendedKeyUsages: ['cmcRA'] },
    { name: 'KEY_MAKER', extendedKeyUsages: ['1.3.6.1.5.5.7.3.32'] },
    { name: 'VALIDATOR', extendedKeyUsages: ['1.3.6.1.5.5.7.3.15'] },
    { name: 'ENROLMENT_AGENT', extendedKeyUsages: ['clientAuth', '1.3.6.1.4.1.311.20.2.1'] },
    { name: 'KIOSK', extendedKeyUsages: ['clientAuth'] },
  ]
  const providerWith = async (templates: object[]) => {
    const { id } = await makeProvider(service.em())
    const em = service.em()
    const provider = await em.findOneOrFail(CertificateProvider, id)
    provider.settings = { ...provider.settings, templates }
    await em.flush()
    return id
  }
  const policyOf = async (templateSignerName: string, members: object = {}) => ({
    realmId: scene.realmId,
    name: randomUUID(),
    certificateProviderId: await providerWith(own),
    certificateProviderConfiguration: JSON.stringify({ templateSignerName }),
    ...members,
  })
  const reserved = ['CMP_SIGNER', 'RA_USER', ...own.map(({ name }) => name).filter(name => name !== 'KIOSK')]

  test.each(reserved)('%s is for no policy of an ordinary realm', async name => {
    const made = await scene.owner.post('/api/v1/policies', await policyOf(name))
    expect(refusalOf(made)).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
    const calm = await scene.owner.post('/api/v1/policies', await policyOf('KIOSK'))
    expect(calm.status).toBe(201)
    const { certificateProviderConfiguration } = await policyOf(name)
    const changed = await scene.owner.patch(`/api/v1/policies/${calm.body.id}`, { certificateProviderConfiguration })
    expect(refusalOf(changed)).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
  })

  test.each(reserved)('%s is for policies of the system realm', async name => {
    const admin = await service.user({ GLOBAL: ['ADMIN'] })
    const { id: realmId } = await service.em().findOneOrFail(Realm, { systemRealm: true })
    expect((await admin.post('/api/v1/policies', await policyOf(name, { realmId }))).status).toBe(201)
  })

  test('a policy that has such a template already issues nothing', async () => {
    const at = await makeScene(service)
    const id = await at.newRequest()
    const certificateProviderConfiguration = '{"templateSignerName":"CMP_SIGNER"}'
    await service.em().nativeUpdate(Policy, { id: at.policyId }, { certificateProviderConfiguration })
    const issued = await at.owner.post(`/api/v1/certificates/cert-requests/${id}`)
    expect(refusalOf(issued)).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
  })
})

test('an e-mail address that a request takes is one that is issued', async () => {
  const certificateProviderConfiguration = '{"templateSignerName":"PERSON"}'
  const people = await makeScene(service, { certificateProviderConfiguration })
  const email = '"a b"@example.org'
  const { status, body } = await request({ commonName: 'Ann', email }, people)
  expect(status).toBe(201)
  const issued = await people.owner.post(`/api/v1/certificates/cert-requests/${body.id}`)
  expect(issued.status).toBe(201)
  const { body: shown } = await people.owner.get(`/api/v1/certificates/${issued.body.certificate.id}`)
  expect(shown.subjectAlternativeNames).toEqual([{ type: 'EMAIL', value: email }])
})
