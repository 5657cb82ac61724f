// Retiring a master key, and what has the old form, on real PostgreSQL.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { issueCertificate, parseCertificate } from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { caColumns, certificateColumns } from '../../storage/certificate-row.ts'
import {
  caKeyUse,
  certificateKeyUse,
  mailTokenUse,
  passwordUse,
  providerSecretUse,
  settingSecretUse,
  signerKeyUse,
} from '../../storage/key-uses.ts'
import { openStorage } from '../../storage/orm.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { signerKinds } from '../../domain/signer-rules.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { PolicySigner } from '../../storage/rows/policy-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { rewrapKeys } from '../../storage/rewrap.ts'
import { Seal } from '../../storage/seal.ts'
import { Settings } from '../../storage/settings.ts'
import { importKey, leafInput, makeRoot, type Authority } from '../pki/hierarchy.ts'
import { freshDatabase } from '../support/database.ts'
import { sealAsBefore } from '../support/old-seal.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeProvider, makeRealm } from '../support/records.ts'

const [old, next] = [randomBytes(32), randomBytes(32)]
const before = new Seal(new Map([['old', old]]))
const both = new Seal(
  new Map([
    ['new', next],
    ['old', old],
  ]),
)
const after = new Seal(new Map([['new', next]]))
const spec = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' } as const
const provider = { id: '', name: '' }

const makeLeaf = async (issuer: Authority): Promise<Authority> => {
  const keys = await generateKeyPair(spec)
  const der = await issueCertificate(leafInput(issuer, keys.publicKeySpki), issuer.key)
  return { certificate: parseCertificate(der), keys, key: importKey(keys) }
}

let orm: MikroORM
let root: Authority
let leaf: Authority

beforeAll(async () => {
  root = await makeRoot(spec)
  leaf = await makeLeaf(root)
})
beforeEach(async () => {
  orm = await openStorage({ url: await freshDatabase() })
  Object.assign(provider, await makeProvider(orm.em.fork()))
})
afterEach(() => orm.close())

const keyRow = async (sealedFor: (id: string) => Buffer): Promise<string> => {
  const em = orm.em.fork()
  const id = randomUUID()
  em.create(PrivateKey, { id, sealed: sealedFor(id) })
  await em.flush()
  return id
}

const makeCa = async (id: string, privateKeyId: string | null) => {
  const em = orm.em.fork()
  em.create(Ca, {
    id,
    ...caColumns(root.certificate),
    filename: 'root.pem',
    root: true,
    trusted: true,
    certificateProviderId: provider.id,
    privateKeyId,
  })
  await em.flush()
}

const makeLeafRow = async (id: string, privateKeyId: string, { certificate } = leaf) => {
  const em = orm.em.fork()
  const realm = await makeRealm(em)
  const policy = await makePolicy(em, realm, { certificateProviderId: provider.id })
  const columns = certificateColumns(certificate, publicKeyHash(certificate.publicKeySpki))
  const own = { id, privateKeyId, fingerprint: randomBytes(32).toString('hex') }
  await makeCertificate(em, policy, { endEntity: await makeEndEntity(em, realm), ...columns, ...own })
  return { realm, policy }
}

const useOfCa = (id: string) =>
  caKeyUse({ id, certificateProviderId: provider.id }, publicKeyHash(root.certificate.publicKeySpki))
const useOfLeaf = (id: string) => certificateKeyUse(id, publicKeyHash(leaf.certificate.publicKeySpki))
const sealedOf = async (id: string) => (await orm.em.fork().findOneOrFail(PrivateKey, id)).sealed
const asBefore = (authority: Authority) => (id: string) =>
  sealAsBefore(old, 'old', { plain: authority.keys.privateKeyPkcs8, id })

test('after rewrapping, the new master key alone opens everything that is sealed', async () => {
  const [caId, leafId] = [randomUUID(), randomUUID()]
  const caKey = await keyRow(() => before.seal(root.keys.privateKeyPkcs8, useOfCa(caId)))
  const leafKey = await keyRow(() => before.seal(leaf.keys.privateKeyPkcs8, useOfLeaf(leafId)))
  await makeCa(caId, caKey)
  const { realm, policy } = await makeLeafRow(leafId, leafKey)
  const em = orm.em.fork()
  const endEntity = await makeEndEntity(em, realm)
  const names = { endEntityId: endEntity.id, policyId: policy.id }
  const password = em.create(EndEntityPassword, {
    ...names,
    sealed: before.seal(Buffer.from('word'), passwordUse(names)),
    verifier: 'none',
  })
  await em.flush()
  const sealedSecrets = before.seal(Buffer.from('{}'), providerSecretUse(provider))
  await em.nativeUpdate(CertificateProvider, { id: provider.id }, { sealedSecrets })
  const settingsKey = 'mail.password'
  em.create(Setting, {
    settingsKey,
    value: null,
    sealed: before.seal(Buffer.from('relay'), settingSecretUse(settingsKey)),
  })
  em.create(Setting, { settingsKey: 'mail.host', value: 'mx.example.org' })
  const mail = { id: randomUUID(), groupId: randomUUID() }
  em.create(MailGroup, { id: mail.groupId, kind: 'VERIFICATION', facts: { count: 1, items: [] } })
  const sealedToken = before.seal(Buffer.from('token'), mailTokenUse(mail))
  em.create(Mail, { ...mail, address: 'x@example.org', status: 'QUEUED', sealedToken })
  await em.flush()
  expect(await rewrapKeys(orm.em, both)).toEqual({ wrapped: 6, refused: [] })
  expect(await rewrapKeys(orm.em, both)).toEqual({ wrapped: 0, refused: [] })
  expect(after.unseal(await sealedOf(caKey), useOfCa(caId))).toEqual(root.keys.privateKeyPkcs8)
  expect(after.unseal(await sealedOf(leafKey), useOfLeaf(leafId))).toEqual(leaf.keys.privateKeyPkcs8)
  const fresh = orm.em.fork()
  const { sealed } = await fresh.findOneOrFail(EndEntityPassword, password.id)
  expect(after.unseal(sealed, passwordUse(names)).toString()).toBe('word')
  const row = await fresh.findOneOrFail(CertificateProvider, provider.id, { populate: ['sealedSecrets'] })
  expect(after.unseal(Buffer.from(row.sealedSecrets ?? []), providerSecretUse(provider)).toString()).toBe('{}')
  expect(await new Settings(orm.em, { seal: after }).secret(settingsKey)).toBe('relay')
  expect(await new Settings(orm.em, { seal: after }).secret('mail.username')).toBe(null)
  const waiting = await fresh.findOneOrFail(Mail, mail.id)
  expect(after.unseal(Buffer.from(waiting.sealedToken ?? []), mailTokenUse(mail)).toString()).toBe('token')
})

test('what has the old form is sealed for its use, and stays so when it is done again', async () => {
  const [caId, leafId] = [randomUUID(), randomUUID()]
  const [caKey, leafKey] = [await keyRow(asBefore(root)), await keyRow(asBefore(leaf))]
  await makeCa(caId, caKey)
  await makeLeafRow(leafId, leafKey)
  expect(() => before.unseal(Buffer.from(asBefore(root)(caKey)), useOfCa(caId))).toThrow('old form')
  expect(await rewrapKeys(orm.em, both)).toEqual({ wrapped: 2, refused: [] })
  expect(await rewrapKeys(orm.em, both)).toEqual({ wrapped: 0, refused: [] })
  expect(after.unseal(await sealedOf(caKey), useOfCa(caId))).toEqual(root.keys.privateKeyPkcs8)
  expect(after.unseal(await sealedOf(leafKey), useOfLeaf(leafId))).toEqual(leaf.keys.privateKeyPkcs8)
})

test('the old form of a CA key does not become the key of a certificate that names it', async () => {
  const [caId, leafId] = [randomUUID(), randomUUID()]
  const caKey = await keyRow(asBefore(root))
  await makeCa(caId, caKey)
  await makeLeafRow(leafId, caKey)
  expect(await rewrapKeys(orm.em, both)).toEqual({ wrapped: 1, refused: [] })
  const asItsOwn = certificateKeyUse(leafId, publicKeyHash(root.certificate.publicKeySpki))
  const sealed = await sealedOf(caKey)
  expect(() => after.unseal(sealed, asItsOwn)).toThrow('sealed for another use')
  expect(after.unseal(await sealedOf(caKey), useOfCa(caId))).toEqual(root.keys.privateKeyPkcs8)
})

test('a certificate that names the key of another, or is that of a CA, is refused and its key left as it is', async () => {
  const [wrong, ca] = [randomUUID(), randomUUID()]
  const keys = [await keyRow(asBefore(root)), await keyRow(asBefore(root))] as const
  await makeLeafRow(wrong, keys[0])
  await makeLeafRow(ca, keys[1], root)
  const sealed = await Promise.all(keys.map(sealedOf))
  const { wrapped, refused } = await rewrapKeys(orm.em, both)
  expect(wrapped).toBe(0)
  expect(refused.toSorted()).toEqual(
    [
      `certificate ${wrong}: its private key is not that of its certificate`,
      `certificate ${ca}: it is the certificate of a CA`,
    ].toSorted(),
  )
  expect(await Promise.all(keys.map(sealedOf))).toEqual(sealed)
})

test.each(signerKinds)('the key of a %s signer that was made for a policy is wrapped for it', async kind => {
  const [certificateId, keyId] = [randomUUID(), randomUUID()]
  const { policy } = await makeLeafRow(certificateId, await keyRow(asBefore(leaf)))
  await orm.em.fork().nativeUpdate(Certificate, { id: certificateId }, { privateKeyId: null })
  const use = signerKeyUse({ policyId: policy.id, kind, certificateId }, publicKeyHash(leaf.certificate.publicKeySpki))
  const em = orm.em.fork()
  em.create(PrivateKey, { id: keyId, sealed: before.seal(leaf.keys.privateKeyPkcs8, use) })
  await em.flush()
  em.create(PolicySigner, { policyId: policy.id, kind, certificateId, privateKeyId: keyId })
  await em.flush()
  expect(await rewrapKeys(orm.em, both)).toEqual({ wrapped: 1, refused: [] })
  expect(after.unseal(await sealedOf(keyId), use)).toEqual(leaf.keys.privateKeyPkcs8)
})

test('a process that was quicker wins, and both end well', async () => {
  const leafIds = Array.from({ length: 8 }, () => randomUUID())
  for (const id of leafIds) await makeLeafRow(id, await keyRow(asBefore(leaf)))
  const results = await Promise.all([rewrapKeys(orm.em, both), rewrapKeys(orm.em, both)])
  expect(results.flatMap(({ refused }) => refused)).toEqual([])
  const rows = await orm.em.fork().find(Certificate, { privateKeyId: { $ne: null } })
  expect(results.reduce((sum, { wrapped }) => sum + wrapped, 0)).toBe(leafIds.length)
  for (const { id, privateKeyId } of rows)
    expect(after.unseal(await sealedOf(privateKeyId ?? ''), useOfLeaf(id))).toEqual(leaf.keys.privateKeyPkcs8)
})
