// RA certificates through HTTP (contract 6.7, 7.4, 12): made and renewed, read, downloaded, revoked; openssl is the stranger
// that judges what comes out.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { User } from '../../storage/rows/user.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { giveGrants } from '../support/api.ts'
import { binariesIn, ecKey, expectVerified, factsOf, pkcs10, refusalOf, spkiOf, until } from '../support/issuing.ts'
import { makeScene, startService, type Service } from '../support/service.ts'

type Person = Awaited<ReturnType<Service['user']>>

const bench = new Workbench()
let service: Service
/** Updates users, and reads them. */
let clerk: Person
/** Holds nothing but a token. */
let stranger: Person

beforeAll(async () => {
  service = await startService()
  clerk = await service.user({ GLOBAL: ['USERS_READ', 'USERS_UPDATE'] })
  stranger = await service.user()
}, 120_000)
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const path = ({ id }: { id: string }, more = '') => `/api/v1/ra-certificates/users/${id}${more}`
const wish = (members: object = {}) => ({
  validFor: 'SIX_MONTHS',
  keyPairMode: 'SERVER_GEN',
  keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
  ...members,
})
const make = async (user: Person, { by = user, members = {} }: { by?: Person; members?: object } = {}) => {
  const reply = await by.post(path(user), wish(members))
  expect([reply.status, reply.body.apiError]).toEqual([200, undefined])
  return reply.body
}
const rowOf = ({ id }: { id: string }) => service.em().findOneOrFail(User, id)
const certificateRow = (id: string) => service.em().findOneOrFail(Certificate, id)
const endEntitiesOf = ({ id }: { id: string }) => service.em().find(EndEntity, { userId: id })
/** A policy of the system realm like that of RA certificates, with differences. */
const systemPolicy = async (members: object) => {
  const em = service.em()
  const { id: _, ...like } = await em.findOneOrFail(Policy, { name: 'User certificates' })
  const made = em.create(Policy, {
    realmId: like.realmId,
    certificateProviderId: like.certificateProviderId,
    name: `Another ${crypto.randomUUID()}`,
    certificateProviderConfiguration: like.certificateProviderConfiguration,
    allowedKeyPairModes: like.allowedKeyPairModes,
    allowedValidForValues: like.allowedValidForValues,
    cryptoRestrictions: like.cryptoRestrictions,
    endEntityStrategy: like.endEntityStrategy,
    endEntityRules: [],
    ...members,
  })
  await em.flush()
  return made.id
}

describe('createRaCertificateForSingleUser', () => {
  test('gives a user who holds nothing a certificate of the own name and address', async () => {
    const user = await service.user()
    const made = await make(user)
    const { email } = await rowOf(user)
    expect(made).toMatchObject({ userId: user.id, certRequestStatus: 'ISSUED', certificateId: expect.any(String) })
    expect(made.raCertificate).toMatchObject({
      id: made.certificateId,
      userId: user.id,
      certRequestId: made.certRequestId,
      subjectCommonName: 'Test User',
      certStatus: 'ACTIVE',
      extendedKeyUsages: ['clientAuth'],
    })
    expect((await rowOf(user)).raCertificateId).toBe(made.certificateId)
    const chain = await user.get(path(user, '/download-chain?casFirst=false'))
    await expectVerified(bench, chain.body.pemCertificate)
    const { text } = await openssl('x509', '-in', await bench.file(chain.body.pemCertificate), '-noout', '-text')
    expect(text).toContain(`email:${email}`)
    expect(await factsOf(service, made.certificateId)).toEqual(['CERTIFICATE_ISSUED', 'CERTIFICATE_DOWNLOADED'])
  })

  test('renews with the same end entity, and with another one when the details have changed', async () => {
    const user = await service.user()
    const first = await make(user)
    const second = await make(user, { by: clerk })
    expect(await endEntitiesOf(user)).toHaveLength(1)
    const em = service.em()
    await em.nativeUpdate(User, { id: user.id }, { certificateDetails: { organization: 'Example Ltd' } })
    const third = await make(user)
    expect(await endEntitiesOf(user)).toHaveLength(2)
    expect(third.raCertificate.subjectDn).toContain('O=Example Ltd')
    expect((await rowOf(user)).raCertificateId).toBe(third.certificateId)
    for (const { certificateId } of [first, second])
      expect(await certificateRow(certificateId)).toMatchObject({ revocationDate: null, revocationRunId: null })
  })

  test('revokes the one before where that is wished, and not the one before that', async () => {
    const user = await service.user()
    const first = await make(user)
    const second = await make(user)
    const third = await make(user, { members: { revokePrevious: true } })
    const revoked = await until('the previous one is revoked', async () => {
      const row = await certificateRow(second.certificateId)
      return row.revocationDate ? row : null
    })
    expect(revoked.revocationReason).toBe('SUPERSEDED')
    for (const { certificateId } of [first, third])
      expect((await certificateRow(certificateId)).revocationDate).toBeNull()
    expect((await rowOf(user)).supersedingRequestId).toBeNull()
  })

  test('takes a PKCS#10 request and a public key; then nobody holds the private key', async () => {
    const user = await service.user()
    const { email } = await rowOf(user)
    const pkcs10ReqBase64 = await pkcs10(bench, ecKey(), { subject: `/CN=Test User/emailAddress=${email}` })
    await make(user, { members: { keyPairMode: 'PKCS10', keyGenParamsDto: null, pkcs10ReqBase64 } })
    expect(refusalOf(await user.get(path(user, '/pkcs12')))).toEqual([422, 'PRIVATE_KEY_NOT_AVAILABLE'])
    await make(user, {
      members: { keyPairMode: 'PUBLIC_KEY', keyGenParamsDto: null, publicKeyBase64: spkiOf(ecKey()) },
    })
    expect((await user.get(path(user))).body.hasPrivateKey).toBe(false)
  })

  test('waits for approval where the policy says so, and takes the certificate that comes then', async () => {
    const policyId = await systemPolicy({ requiresManualApproval: true })
    const user = await service.user({ POLICY: { [policyId]: ['CERTS_CREATE'] } })
    const before = await make(user)
    const made = await make(user, { members: { policyId } })
    expect(made).toMatchObject({ certRequestStatus: 'PENDING_APPROVAL', certificateId: null, raCertificate: null })
    const approver = await service.user({ POLICY: { [policyId]: ['CERTREQS_APPROVE'] } })
    expect((await rowOf(user)).raCertificateId).toBe(before.certificateId)
    expect((await approver.patch(`/api/v1/cert-requests/${made.certRequestId}/approve`)).status).toBe(200)
    const after = await until('the new one is theirs', async () => {
      const { raCertificateId } = await rowOf(user)
      return raCertificateId === before.certificateId ? null : raCertificateId
    })
    expect((await user.get(path(user))).body).toMatchObject({ id: after, certRequestId: made.certRequestId })
  })

  test('is refused to others, under policies that they may not use, and leaves nothing behind', async () => {
    const user = await service.user()
    const another = await systemPolicy({})
    const scene = await makeScene(service)
    expect(refusalOf(await stranger.post(path(user), wish()))).toEqual([403, 'ACCESS_DENIED'])
    expect(refusalOf(await service.anonymous.post(path(user), wish()))).toEqual([401, 'AUTHENTICATION_FAILED'])
    expect(refusalOf(await user.post(path(user), wish({ policyId: another })))).toEqual([403, 'ACCESS_DENIED'])
    await giveGrants(service.em(), user.id, {
      POLICY: { [another]: ['CERTS_CREATE'], [scene.policyId]: ['CERTS_CREATE'] },
    })
    expect(refusalOf(await user.post(path(user), wish({ policyId: scene.policyId })))).toEqual([422, 'REALM_MISMATCH'])
    expect(refusalOf(await user.post(path(user), wish({ validFor: 'TEN_YEARS' })))[0]).toBe(422)
    expect(refusalOf(await user.post(path(user), wish({ pkcs10ReqBase64: 'AAAA' })))).toEqual([
      422,
      'VALIDATION_FAILED',
    ])
    await service.em().nativeUpdate(User, { id: user.id }, { email: null })
    expect(refusalOf(await user.post(path(user), wish()))).toEqual([422, 'END_ENTITY_RULE_VIOLATION'])
    expect(await endEntitiesOf(user)).toEqual([])
    await service.em().nativeUpdate(User, { id: user.id }, { enabled: false })
    expect(refusalOf(await clerk.post(path(user), wish()))).toEqual([409, 'INVALID_STATE'])
    const nobody = { id: crypto.randomUUID() }
    expect(refusalOf(await clerk.post(path(nobody), wish()))).toEqual([404, 'USER_NOT_FOUND'])
  })

  test('is the only way to certificates of the end entity', async () => {
    const user = await service.user()
    const { raCertificate } = await make(user)
    const admin = await service.user({ GLOBAL: ['ADMIN'] })
    const { policyId, endEntityId } = raCertificate
    const reply = await admin.post('/api/v1/cert-requests', { policyId, endEntityId, ...wish() })
    expect(refusalOf(reply)).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('makes one end entity for two calls at once', async () => {
    const user = await service.user()
    const [one, other] = await Promise.all([make(user), make(user)])
    expect(await endEntitiesOf(user)).toHaveLength(1)
    expect([one.certificateId, other.certificateId]).toContain((await rowOf(user)).raCertificateId)
  })
})

describe('reading the RA certificate', () => {
  test('is for the user and who reads users, and 404 where there is none', async () => {
    const user = await service.user()
    const parts = ['', '/download', '/download-chain?casFirst=true', '/crl']
    for (const part of parts) {
      expect(refusalOf(await user.get(path(user, part)))).toEqual([404, 'RA_CERTIFICATE_NOT_FOUND'])
      expect(refusalOf(await stranger.get(path(user, part)))).toEqual([403, 'ACCESS_DENIED'])
      expect(refusalOf(await service.anonymous.get(path(user, part)))).toEqual([401, 'AUTHENTICATION_FAILED'])
      expect(refusalOf(await clerk.get(path({ id: crypto.randomUUID() }, part)))).toEqual([404, 'USER_NOT_FOUND'])
    }
    const { certificateId } = await make(user)
    for (const by of [user, clerk]) {
      expect((await by.get(path(user))).body).toMatchObject({ id: certificateId, userId: user.id })
      expect((await by.get(path(user, '/download'))).body).toMatchObject({ id: user.id, fileName: /\.pem$/ })
    }
    await until('there is a list', async () => (await user.get(path(user, '/crl'))).status === 200)
    const { body } = await user.get(path(user, '/crl'))
    const { text } = await openssl(
      'crl',
      '-inform',
      'DER',
      '-in',
      await bench.file(Buffer.from(body.crl, 'base64')),
      '-noout',
      '-issuer',
    )
    expect(text).toContain('issuer')
  })
})

const opened = async (keystore: string, password: string): Promise<string> => {
  const file = await bench.file(Buffer.from(keystore, 'base64'))
  return (await openssl('pkcs12', '-in', file, '-passin', `pass:${password}`, '-noenc')).output.toString()
}

describe('retrieveRaCertificateP12', () => {
  test('is for the user and who made the certificate alone, and opens with its password', async () => {
    const user = await service.user()
    expect(refusalOf(await user.get(path(user, '/pkcs12')))).toEqual([404, 'RA_CERTIFICATE_NOT_FOUND'])
    const { certificateId } = await make(user, { by: clerk })
    for (const by of [user, clerk]) {
      const { status, body } = await by.get(path(user, '/pkcs12'))
      expect([status, body.id]).toEqual([200, certificateId])
      expect(await opened(body.keystore, body.password)).toContain('PRIVATE KEY')
    }
    const reader = await service.user({ GLOBAL: ['USERS_READ', 'USERS_UPDATE'] })
    for (const by of [reader, stranger])
      expect(refusalOf(await by.get(path(user, '/pkcs12')))).toEqual([403, 'ACCESS_DENIED'])
    const none = await service.user()
    expect(refusalOf(await stranger.get(path(none, '/pkcs12')))).toEqual([403, 'ACCESS_DENIED'])
    expect(await factsOf(service, certificateId)).toEqual([
      'CERTIFICATE_ISSUED',
      'PKCS12_DOWNLOADED',
      'PKCS12_DOWNLOADED',
    ])
  })
})

describe('revokeRaCertificate', () => {
  test('lets a user hold, release and revoke the own one, whoever made it', async () => {
    const user = await service.user()
    const { certificateId } = await make(user, { by: clerk })
    const revoke = (by: Person, reason: string) => by.post(path(user, `/revoke?revReason=${reason}`))
    expect(refusalOf(await revoke(stranger, 'KEY_COMPROMISE'))).toEqual([403, 'ACCESS_DENIED'])
    expect((await revoke(user, 'CERTIFICATE_HOLD')).body).toEqual({
      userId: user.id,
      certificateId,
      certStatus: 'REVOKED',
      revocationReason: 'CERTIFICATE_HOLD',
      revocationDate: expect.any(String),
    })
    expect((await revoke(user, 'REMOVE_FROM_CRL')).body.certStatus).toBe('ACTIVE')
    expect((await revoke(clerk, 'KEY_COMPROMISE')).body.revocationReason).toBe('KEY_COMPROMISE')
    expect(refusalOf(await revoke(user, 'KEY_COMPROMISE'))).toEqual([422, 'ALREADY_REVOKED'])
    expect((await user.get(path(user))).body).toMatchObject({ id: certificateId, certStatus: 'REVOKED' })
  })

  test('is 404 without one, and leaves the ordinary way closed but to those whose it is', async () => {
    const user = await service.user()
    expect(refusalOf(await user.post(path(user, '/revoke')))).toEqual([404, 'RA_CERTIFICATE_NOT_FOUND'])
    const { certificateId } = await make(user, { by: clerk })
    const ordinary = (by: Person) => by.post(`/api/v1/certificates/revoke?id=${certificateId}`)
    const { policyId } = await certificateRow(certificateId)
    const revoker = await service.user({ POLICY: { [policyId]: ['CERTS_REVOKE'] } })
    for (const by of [stranger, user]) expect(refusalOf(await ordinary(by))).toEqual([403, 'ACCESS_DENIED'])
    expect((await ordinary(revoker)).body).toMatchObject({ id: certificateId, certStatus: 'REVOKED' })
  })
})

describe('createBatchRaCertificateForUsers', () => {
  const batch = '/api/v1/ra-certificates/users/batch'
  const body = (users: readonly { id: string }[], more: object = {}) => ({
    userIds: users.map(({ id }) => id),
    validFor: 'ONE_YEAR',
    keyGenParamsDto: { cryptoAlgorithm: 'EC' },
    ...more,
  })

  test('answers a keystore for each user, with the passwords, and why others have none', async () => {
    const [one, other, disabled] = [await service.user(), await service.user(), await service.user()]
    await service.em().nativeUpdate(User, { id: disabled.id }, { enabled: false })
    const reply = await clerk.post(batch, body([one, disabled, other]))
    expect([reply.status, reply.body.errors]).toEqual([200, [{ failedUserId: disabled.id, apiError: 'INVALID_STATE' }]])
    const files = binariesIn(reply.body.zippedBytes)
    const [header, ...lines] = (files.get('passwords.csv')?.toString() ?? '').trim().split('\r\n')
    expect(header).toBe('userId;email;fileName;password')
    const rows = lines.map(line => line.split(';'))
    expect(new Set(rows.map(([id]) => id))).toEqual(new Set([one.id, other.id]))
    for (const [id = '', email, fileName = '', password = ''] of rows) {
      expect(email).toBe((await rowOf({ id })).email)
      const text = await opened((files.get(fileName) ?? Buffer.alloc(0)).toString('base64'), password)
      expect(text).toContain('PRIVATE KEY')
      const { raCertificateId } = await rowOf({ id })
      expect(await factsOf(service, raCertificateId ?? '')).toEqual(['CERTIFICATE_ISSUED', 'PKCS12_DOWNLOADED'])
    }
    expect([...files.keys()]).toHaveLength(3)
  })

  test('is refused as a whole without the right, for unknown users, and where nobody gets one', async () => {
    const user = await service.user()
    const unknown = { id: crypto.randomUUID() }
    expect(refusalOf(await service.anonymous.post(batch, body([user])))).toEqual([401, 'AUTHENTICATION_FAILED'])
    expect(refusalOf(await user.post(batch, body([user])))).toEqual([403, 'ACCESS_DENIED'])
    expect(refusalOf(await clerk.post(batch, body([user, unknown])))).toEqual([404, 'USER_NOT_FOUND'])
    expect(refusalOf(await clerk.post(batch, body([])))[0]).toBe(400)
    const policyId = await systemPolicy({ requiresManualApproval: true })
    expect(refusalOf(await clerk.post(batch, body([user], { policyId })))).toEqual([403, 'ACCESS_DENIED'])
    await giveGrants(service.em(), clerk.id, { POLICY: { [policyId]: ['CERTS_CREATE'] } })
    expect(refusalOf(await clerk.post(batch, body([user], { policyId })))).toEqual([409, 'INVALID_STATE'])
    const refused = await clerk.post(
      batch,
      body([user], { keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 1024 } }),
    )
    expect(refusalOf(refused)).toEqual([422, 'CRYPTO_RESTRICTION_VIOLATION'])
    expect(await endEntitiesOf(user)).toEqual([])
  })
})
