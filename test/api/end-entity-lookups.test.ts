// Finding end entities by dataset, PKCS#10 and certificate (contract 5.3).
import { randomUUID, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { SubjectData } from '../../domain/end-entity-rules.ts'
import type { EndEntityStrategy } from '../../domain/enums.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { bitString, bmpString, context, integer, oid, sequence, setOf, utf8String } from '../../pki/asn1/der.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Workbench } from '../pki/openssl.ts'
import { startApi, type Api, type Reply } from '../support/api.ts'
import { ecKey, pkcs10, refusalOf, spkiOf } from '../support/issuing.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'
import { signForeign, newForeignKey } from '../support/foreign-certificates.ts'

let api: Api
const bench = new Workbench()
beforeAll(async () => {
  api = await startApi()
})
afterAll(async () => {
  await bench.clear()
  await api.stop()
})

const path = '/api/v1/end-entities'
const foundBy = ({ status, body }: Reply) => [status, body.id]

/** A realm, a policy with this strategy in it, and how its reader looks for datasets and PKCS#10 requests. */
const setupWith = async (endEntityStrategy: EndEntityStrategy) => {
  const realm = await makeRealm(api.em())
  const policy = await makePolicy(api.em(), realm, { endEntityStrategy })
  const url = `${path}/policies/${policy.id}`
  const reader = await api.user({ REALM: { [realm.id]: ['FULL_READ'] } })
  const make = async (
    { alias, ...members }: SubjectData & { alias?: string; archived?: boolean },
    where = realm,
  ): Promise<string> => {
    const { id } = await makeEndEntity(api.em(), where, { commonName: `cn ${randomUUID()}`, ...members })
    if (alias !== undefined) await api.em().nativeUpdate(EndEntity, { id }, { alias })
    return id
  }
  const byDataset = (dataset: object, by = reader) => by.post(`${url}/by-end-entity-dataset`, dataset)
  const byPkcs10 = async (subject: string, names = '', by = reader) =>
    by.post(`${url}/by-pkcs10`, { pkcs10ReqBase64: await pkcs10(bench, ecKey(), { subject, names }) })
  return { realm, policy, make, byDataset, byPkcs10 }
}

test.each([
  [`${path}/policies/${randomUUID()}/by-end-entity-dataset`, { commonName: 'a' }],
  [`${path}/policies/${randomUUID()}/by-pkcs10`, { pkcs10ReqBase64: 'AAAA' }],
  [`${path}/find-by-cert-bytes`, { certBytes: 'AAAA' }],
])('%s asks for a token', async (url, body) => {
  expect((await api.anonymous.post(url, body)).status).toBe(401)
})

const dn = 'CN=Web 01,OU=Ops,O=Example,C=DE'

/** A strategy, what an end entity has, the same written otherwise, its alias, and a PKCS#10 request that says it. */
type Case = [EndEntityStrategy, SubjectData, SubjectData, string, [string, string?]]
const strategies: Case[] = [
  ['COMMON_NAME', { commonName: 'Web  01' }, { commonName: ' WEB 01' }, 'web 01', ['/CN=wEB 01']],
  ['EMAIL', { email: 'Ops@b.example' }, { email: 'oPS@B.example' }, 'OPS@b.example', ['/', 'email:ops@b.EXAMPLE']],
  ['DOMAIN', { domains: ['a.example', 'z.example'] }, { domains: ['A.example'] }, 'A.EXAMPLE', ['/', 'DNS:A.Example']],
  ['IP', { ips: ['2001:db8::1'] }, { ips: ['2001:DB8:0::1', '::2'] }, '2001:DB8::1', ['/', 'IP:2001:db8::1']],
  [
    'SUBJECT_DN',
    { commonName: 'Web 01', organizationalUnit: 'Ops', organization: 'Example', country: 'DE' },
    { commonName: 'web  01', organizationalUnit: 'OPS', organization: 'EXAMPLE', country: 'de', email: 'x@y.example' },
    dn.toLowerCase(),
    ['/C=DE/O=Example/OU=Ops/CN=WEB 01'],
  ],
]

describe.each(strategies)('with strategy %s', (...[strategy, subject, otherwise, alias, [name, names]]) => {
  test('an end entity is found by the field, without case and with white space collapsed', async () => {
    const { make, byDataset, byPkcs10 } = await setupWith(strategy)
    await make({})
    const id = await make(subject)
    expect(foundBy(await byDataset(subject))).toEqual([200, id])
    expect(foundBy(await byDataset(otherwise))).toEqual([200, id])
    expect(foundBy(await byPkcs10(name, names))).toEqual([200, id])
  })

  test('an alias goes before the field, and makes it unambiguous', async () => {
    const { make, byDataset, byPkcs10 } = await setupWith(strategy)
    const known = await make({ alias })
    expect(foundBy(await byDataset(subject))).toEqual([200, known])
    await make(subject)
    await make(subject)
    expect(foundBy(await byDataset(otherwise))).toEqual([200, known])
    expect(foundBy(await byPkcs10(name, names))).toEqual([200, known])
  })

  test('several with the field are ambiguous, archived ones aside', async () => {
    const { make, byDataset, byPkcs10 } = await setupWith(strategy)
    const id = await make(subject)
    await make({ ...subject, archived: true })
    expect(foundBy(await byDataset(subject))).toEqual([200, id])
    await make(otherwise)
    expect(refusalOf(await byDataset(subject))).toEqual([409, 'AMBIGUOUS_RESULT'])
    expect(refusalOf(await byPkcs10(name, names))).toEqual([409, 'AMBIGUOUS_RESULT'])
  })

  test('an archived one alone is told as archived, by alias and by field', async () => {
    const { make, byDataset, byPkcs10 } = await setupWith(strategy)
    await make({ alias, archived: true })
    expect(refusalOf(await byDataset(subject))).toEqual([409, 'ENTITY_ARCHIVED'])
    await make({ ...subject, archived: true })
    expect(refusalOf(await byPkcs10(name, names))).toEqual([409, 'ENTITY_ARCHIVED'])
  })

  test('one of another realm is never found', async () => {
    const { make, byDataset, byPkcs10 } = await setupWith(strategy)
    const other = await makeRealm(api.em())
    await make(subject, other)
    await make({ alias }, other)
    expect(refusalOf(await byDataset(subject))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    expect(refusalOf(await byPkcs10(name, names))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
  })

  test('an input without the key is refused', async () => {
    const { byDataset, byPkcs10 } = await setupWith(strategy)
    expect(refusalOf(await byDataset({ externalId: 'x' }))).toEqual([422, 'VALIDATION_FAILED'])
    expect(refusalOf(await byPkcs10('/O=Example'))).toEqual([422, 'VALIDATION_FAILED'])
  })
})

test('only the first domain and the first address count', async () => {
  const [domains, ips] = [await setupWith('DOMAIN'), await setupWith('IP')]
  await domains.make({ domains: ['first.example', 'second.example'] })
  await ips.make({ ips: ['192.0.2.1', '192.0.2.2'] })
  expect((await domains.byDataset({ domains: ['second.example', 'first.example'] })).status).toBe(404)
  expect((await ips.byDataset({ ips: ['192.0.2.2', '192.0.2.1'] })).status).toBe(404)
})

test('a subject DN is the whole of it: another unit, or none, is another one', async () => {
  const { make, byDataset } = await setupWith('SUBJECT_DN')
  await make({ commonName: 'a', organizationalUnit: 'Ops' })
  const id = await make({ commonName: 'a' })
  expect(foundBy(await byDataset({ commonName: 'A' }))).toEqual([200, id])
  expect((await byDataset({ commonName: 'a', organizationalUnit: 'Sales' })).status).toBe(404)
})

test('an external id is looked for in datasets, and no PKCS#10 request has one', async () => {
  const { make, byDataset, byPkcs10 } = await setupWith('EXTERNAL_ID')
  const id = await make({ externalId: 'A-4711' })
  expect(foundBy(await byDataset({ externalId: 'a-4711' }))).toEqual([200, id])
  const known = await make({ alias: 'A-4711' })
  expect(foundBy(await byDataset({ externalId: 'A-4711' }))).toEqual([200, known])
  expect(refusalOf(await byPkcs10('/CN=A-4711'))).toEqual([422, 'VALIDATION_FAILED'])
})

test('with strategy UUID nothing matches', async () => {
  const { make, byDataset, byPkcs10 } = await setupWith('UUID')
  await make({ commonName: 'web-01', alias: 'web-01' })
  expect(refusalOf(await byDataset({ commonName: 'web-01' }))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
  expect(refusalOf(await byPkcs10('/CN=web-01'))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
})

test('both the policy and the end entity that is found must be readable', async () => {
  const { realm, policy, make, byDataset, byPkcs10 } = await setupWith('COMMON_NAME')
  const id = await make({ commonName: 'web-01' })
  const exact = await api.user({ POLICY: { [policy.id]: ['SIGN'] }, END_ENTITY: { [id]: ['READ'] } })
  const outsiders = [
    await api.user({ REALM: { [realm.id]: ['ENDENTITIES_READ'] } }),
    await api.user({ REALM: { [realm.id]: ['POLICIES_READ'] } }),
    await api.user({ REALM: { [(await makeRealm(api.em())).id]: ['FULL_READ'] } }),
  ]
  expect(foundBy(await byDataset({ commonName: 'web-01' }, exact))).toEqual([200, id])
  expect(foundBy(await byPkcs10('/CN=web-01', '', exact))).toEqual([200, id])
  for (const outsider of outsiders) {
    expect(refusalOf(await byDataset({ commonName: 'web-01' }, outsider))).toEqual([403, 'ACCESS_DENIED'])
    expect(refusalOf(await byPkcs10('/CN=web-01', '', outsider))).toEqual([403, 'ACCESS_DENIED'])
  }
})

test('an archived policy is not used, an unknown one is not found, and its input must be sound', async () => {
  const { realm, byDataset } = await setupWith('COMMON_NAME')
  const user = await api.user({ REALM: { [realm.id]: ['FULL_READ'] } })
  const gone = await makePolicy(api.em(), realm, { archived: true })
  const send = async (policyId: string) =>
    refusalOf(await user.post(`${path}/policies/${policyId}/by-end-entity-dataset`, { commonName: 'a' }))
  expect(await send(gone.id)).toEqual([409, 'ENTITY_ARCHIVED'])
  expect(await send(randomUUID())).toEqual([404, 'POLICY_NOT_FOUND'])
  expect(refusalOf(await byDataset({ commonName: 'a', country: 'XX' }))).toEqual([422, 'VALIDATION_FAILED'])
})

test('a PKCS#10 request must be readable and its signature right', async () => {
  const { realm, policy } = await setupWith('COMMON_NAME')
  const user = await api.user({ REALM: { [realm.id]: ['FULL_READ'] } })
  const url = `${path}/policies/${policy.id}/by-pkcs10`
  const forged = Buffer.from(await pkcs10(bench, ecKey(), { subject: '/CN=Zebra' }), 'base64')
  forged.write('Xebra', forged.indexOf('Zebra'))
  const send = async (body: object) => refusalOf(await user.post(url, body))
  expect(await send({ pkcs10ReqBase64: 'AAAA' })).toEqual([422, 'INVALID_PKCS10'])
  expect(await send({ pkcs10ReqBase64: forged.toString('base64') })).toEqual([422, 'INVALID_PKCS10'])
  expect(await send({})).toEqual([400, 'INVALID_REQUEST'])
})

/** A PKCS#10 request whose common name is this DER value, rightly signed. */
const namedBy = (commonName: Buffer): string => {
  const key = ecKey()
  const subject = sequence(setOf(sequence(oid('2.5.4.3'), commonName)))
  const info = sequence(integer(0), subject, Buffer.from(spkiOf(key), 'base64'), context(0))
  const signature = bitString(sign('sha256', info, key))
  return sequence(info, sequence(oid('1.2.840.10045.4.3.2')), signature).toString('base64')
}

test.each([
  ['a text with NUL', utf8String('a\0b'), false],
  ['half a surrogate pair', bmpString('a\uD800'), false],
  ['an ordinary text', utf8String('sound'), true],
])('a PKCS#10 request whose name is %s is looked for like any other', async (...[, commonName, isFound]) => {
  for (const strategy of ['COMMON_NAME', 'SUBJECT_DN'] as const) {
    const { realm, policy, make } = await setupWith(strategy)
    const id = await make({ commonName: 'sound' })
    const user = await api.user({ REALM: { [realm.id]: ['FULL_READ'] } })
    const reply = await user.post(`${path}/policies/${policy.id}/by-pkcs10`, { pkcs10ReqBase64: namedBy(commonName) })
    expect([reply.status, reply.body.id]).toEqual(isFound ? [200, id] : [404, undefined])
  }
})

test('a dataset with half a surrogate pair has the wrong shape', async () => {
  const { byDataset } = await setupWith('COMMON_NAME')
  expect(refusalOf(await byDataset({ commonName: 'a\uD800' }))).toEqual([400, 'INVALID_REQUEST'])
})

describe('findEeByCertBytes', () => {
  const url = `${path}/find-by-cert-bytes`

  /** An end entity with a certificate, its PEM, and who may read the realm. */
  const certified = async () => {
    const realm = await makeRealm(api.em())
    const endEntity = await makeEndEntity(api.em(), realm)
    const pem = await signForeign(newForeignKey(), 'web-01')
    const { der, fingerprint } = parseCertificatePem(pem)
    const policy = await makePolicy(api.em(), realm)
    const certificate = await makeCertificate(api.em(), policy, { endEntity, der, fingerprint })
    return { realm, endEntity, certificate, pem, der, reader: await api.user({ REALM: { [realm.id]: ['FULL_READ'] } }) }
  }

  test('finds the end entity of a known certificate, from DER and from PEM', async () => {
    const { endEntity, pem, der, reader } = await certified()
    for (const certBytes of [der.toString('base64'), pem])
      expect(foundBy(await reader.post(url, { certBytes }))).toEqual([200, endEntity.id])
  })

  test('asks for the right to read the end entity; that to read the certificate is neither needed nor enough', async () => {
    const { realm, endEntity, certificate, pem } = await certified()
    const mine = await api.user({ END_ENTITY: { [endEntity.id]: ['READ'] } })
    expect((await mine.post(url, { certBytes: pem })).status).toBe(200)
    const near = await api.user({ CERTIFICATE: { [certificate.id]: ['READ'] }, REALM: { [realm.id]: ['CERTS_READ'] } })
    expect(refusalOf(await near.post(url, { certBytes: pem }))).toEqual([403, 'ACCESS_DENIED'])
    const far = await api.user({ REALM: { [(await makeRealm(api.em())).id]: ['FULL_READ'] } })
    expect(refusalOf(await far.post(url, { certBytes: pem }))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
  })

  test('an unknown certificate is 404, an unreadable one 400', async () => {
    const { reader, der } = await certified()
    const send = async (certBytes: string) => refusalOf(await reader.post(url, { certBytes }))
    expect(await send(await signForeign(newForeignKey(), 'web-02'))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    expect(await send(der.subarray(0, -1).toString('base64'))).toEqual([400, 'INVALID_CERTIFICATE'])
    expect(await send('AAAA')).toEqual([400, 'INVALID_CERTIFICATE'])
    expect(await send('§')).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each([
    ['certificate', Certificate],
    ['end entity', EndEntity],
  ] as const)('an archived %s is told as archived', async (what, entity) => {
    const { endEntity, certificate, pem, reader } = await certified()
    const { id } = what === 'certificate' ? certificate : endEntity
    await api.em().nativeUpdate<Certificate | EndEntity>(entity, { id }, { archived: true })
    expect(refusalOf(await reader.post(url, { certBytes: pem }))).toEqual([409, 'ENTITY_ARCHIVED'])
  })
})
