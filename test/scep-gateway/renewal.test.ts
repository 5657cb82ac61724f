// Renewal over SCEP: who signs with a certificate of the service; numbers of ../shared/reference/scep.md section 7.
import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { context, integer, octetString, oid, printableString, sequence, setOf, utf8String } from '../../pki/asn1/der.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { signDer } from '../../pki/certificate/signed.ts'
import type { KeyPair } from '../../pki/keys/key-pair.ts'
import { decodePem } from '../../pki/pem.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { craftRequest } from '../pki/scep-exchange.ts'
import { Workbench } from '../pki/openssl.ts'
import { giveGrants } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { makeForeignCertificate } from '../support/foreign-certificates.ts'
import { importPem } from '../support/importing.ts'
import { certificatesIn, connect, csrOf, enrolled, lookupContent } from '../support/scep-device.ts'
import { newDevice, postMessage, rsaKeys } from '../support/scep-device.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { makeScepScene, scepClient, startGateway, type TestGateway } from '../support/scep-gateway.ts'
import {
  enrolAt,
  enrolment,
  newName,
  partyOf,
  refusal,
  startScep,
  twinOf,
  unauthorised,
} from '../support/scep-setting.ts'
import type { Owner, ScepSetting } from '../support/scep-setting.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let setting: ScepSetting
let fresh: KeyPair

beforeAll(async () => {
  setting = kept(await startScep({ certificateImportAllowed: true }))
  fresh = await rsaKeys()
})

const enrol = (subject: object = {}): Promise<Owner> => enrolAt(setting.gateway.scepUrl, setting.scene, subject)
const at = (owner: Owner, url = setting.gateway.scepUrl) => connect(url, owner.device)
const rowOf = (certificate: Buffer) => setting.service.em().findOneOrFail(Certificate, { der: certificate })
const change = async (certificate: Buffer, members: Partial<Certificate>): Promise<void> =>
  void (await setting.service.em().nativeUpdate(Certificate, { der: certificate }, members))
const issuedTo = ({ endEntityId }: Owner): Promise<number> => setting.service.em().count(Certificate, { endEntityId })
const renew = async (owner: Owner, keys = fresh, messageType: 'PKCSReq' | 'RenewalReq' = 'RenewalReq') =>
  (await at(owner)).ask(await enrolment(owner.name, keys, { messageType }))

describe.each([
  ['scep case 13', 'RenewalReq'],
  ['scep case 14', 'PKCSReq'],
] as const)('%s: %s signed with the issued certificate', (_, messageType) => {
  test('gives the new key a certificate that the old key unpacks; the old certificate stays valid', async () => {
    const owner = await enrol()
    const [leaf, ...chain] = certificatesIn(await renew(owner, fresh, messageType))
    const [old, made] = [parseCertificate(owner.certificate), parseCertificate(leaf as Buffer)]
    expect(made.publicKeySpki).toEqual(fresh.publicKeySpki)
    expect([made.subjectDn, made.issuerNameDer]).toEqual([old.subjectDn, old.issuerNameDer])
    expect(made.serialNumber).not.toBe(old.serialNumber)
    expect(chain).toHaveLength(2)
    const [before, after] = [await rowOf(owner.certificate), await rowOf(leaf as Buffer)]
    expect(before.revocationDate ?? null).toBeNull()
    expect(after.endEntityId).toBe(owner.endEntityId)
    // And the new one renews in its turn.
    const next: Owner = { ...owner, keys: fresh, device: enrolled(owner.name, fresh, leaf as Buffer) }
    expect(certificatesIn(await renew(next, await rsaKeys(), messageType))).toHaveLength(3)
  })

  test('the reply cannot be read with the new key', async () => {
    const owner = await enrol()
    const connection = await at(owner)
    const request = await connection.write(await enrolment(owner.name, fresh, { messageType }))
    const thief = await connect(setting.gateway.scepUrl, await newDevice(owner.name, fresh))
    await expect(thief.send(request)).rejects.toThrow(/cannot be|decrypt|opened/i)
    expect(certificatesIn(await connection.send(request))).toHaveLength(3)
    expect(await issuedTo(owner)).toBe(2)
  })
})

test('scep case 15: the same key gets a certificate with a new serial number, not the old one', async () => {
  const owner = await enrol()
  const [leaf] = certificatesIn(await renew(owner, owner.keys))
  expect(parseCertificate(leaf as Buffer).serialNumber).not.toBe(parseCertificate(owner.certificate).serialNumber)
  expect(parseCertificate(leaf as Buffer).publicKeySpki).toEqual(owner.keys.publicKeySpki)
})

test('scep case 15: a policy that wants one active certificate refuses a renewal before its time', async () => {
  const narrow = await makeScepScene(setting.service, { enforceActiveCertUniqueness: true, renewalWindowDays: 1 })
  const own = opened(await startGateway(setting.service, narrow))
  const owner = await enrolAt(own.scepUrl, narrow)
  const reply = await (await at(owner, own.scepUrl)).ask(await enrolment(owner.name, fresh))
  expect(refusal(reply).slice(0, 2)).toEqual(['FAILURE', 'badRequest'])
  expect(await issuedTo(owner)).toBe(1)
})

describe('scep case 15: a renewal that the policy forbids', () => {
  const forbid: readonly (readonly [string, string, object])[] = [
    ['keys of the devices', 'badRequest', { allowedKeyPairModes: ['SERVER_GEN'] }],
    ['their algorithm', 'badAlg', { cryptoRestrictions: { allowedCryptoAlgorithms: ['EC'] } }],
    ['their size', 'badAlg', { cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA'], allowedRsaKeySizes: [4096] } }],
    [
      'their names',
      'badRequest',
      { endEntityRules: [{ property: 'COMMON_NAME', requirement: 'REQUIRED', pattern: 'x.*' }] },
    ],
  ]
  test.each(forbid)('%s: %s with a reason of its own, for the old key and a new one', async (_, failInfo, members) => {
    const scene = await makeScepScene(setting.service)
    const own = await startGateway(setting.service, scene)
    try {
      const owner = await enrolAt(own.scepUrl, scene)
      const changed = await scene.owner.patch(`/api/v1/policies/${scene.policyId}`, members)
      expect([changed.status, changed.body.apiError]).toEqual([200, undefined])
      for (const keys of [owner.keys, fresh]) {
        const reply = await (await at(owner, own.scepUrl)).ask(await enrolment(owner.name, keys))
        const [status, info, text] = refusal(reply)
        expect([status, info]).toEqual(['FAILURE', failInfo])
        expect(text).not.toBe(unauthorised[2])
      }
      expect(await issuedTo(owner)).toBe(1)
      expect(await setting.service.em().count(CertRequest, { endEntityId: owner.endEntityId })).toBe(1)
    } finally {
      await own.stop()
    }
  })
})

const past = (days: number): Date => new Date(Date.now() - days * 86_400_000)
const revoke = async (certificate: Buffer, reason: string) => {
  const { id } = await rowOf(certificate)
  const path = `/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`
  expect((await setting.scene.owner.post(path)).status).toBe(200)
}

const ends: readonly (readonly [string, (owner: Owner) => Promise<unknown>])[] = [
  ['scep case 16: expired', o => change(o.certificate, { validNotBefore: past(9), validNotAfter: past(1) })],
  ['not valid yet', o => change(o.certificate, { validNotBefore: past(-1) })],
  ['scep case 17: revoked', o => revoke(o.certificate, 'KEY_COMPROMISE')],
  ['scep case 17: on hold', o => revoke(o.certificate, 'CERTIFICATE_HOLD')],
  ['scep case 17: archived', o => change(o.certificate, { archived: true })],
  ['of an archived end entity', o => setting.service.em().nativeUpdate(EndEntity, o.endEntityId, { archived: true })],
]

describe.each(ends)('%s', (_, end) => {
  test.each(['RenewalReq', 'PKCSReq'] as const)('a signer does not renew by %s', async messageType => {
    const owner = await enrol()
    await end(owner)
    expect(refusal(await renew(owner, fresh, messageType))).toEqual(unauthorised)
    expect(await issuedTo(owner)).toBe(1)
  })
})

describe('scep case 16: with days of grace', () => {
  let gracious: TestGateway
  beforeAll(async () => {
    gracious = await startGateway(setting.service, setting.scene, { properties: { 'scep.renewal-grace-days': '2' } })
  })
  afterAll(() => gracious.stop())
  const expired = async (days: number): Promise<Owner> => {
    const owner = await enrol()
    await change(owner.certificate, { validNotBefore: past(days + 9), validNotAfter: past(days) })
    return owner
  }
  const renewLate = async (owner: Owner, messageType: 'PKCSReq' | 'RenewalReq' = 'RenewalReq') =>
    (await at(owner, gracious.scepUrl)).ask(await enrolment(owner.name, fresh, { messageType }))

  test.each(['RenewalReq', 'PKCSReq'] as const)(
    'a certificate that expired a day ago renews by %s',
    async messageType => {
      const owner = await expired(1)
      const [leaf] = certificatesIn(await renewLate(owner, messageType))
      expect(parseCertificate(leaf as Buffer).validNotAfter.getTime()).toBeGreaterThan(Date.now())
      expect(refusal(await renew(owner, fresh, messageType))).toEqual(unauthorised)
    },
  )

  test('one that expired before them does not, and neither does one that was revoked before it expired', async () => {
    const [late, revoked] = [await expired(3), await enrol()]
    await revoke(revoked.certificate, 'SUPERSEDED')
    await change(revoked.certificate, { validNotBefore: past(9), validNotAfter: past(1) })
    for (const owner of [late, revoked]) expect(refusal(await renewLate(owner))).toEqual(unauthorised)
  })

  test('what is asked beside enrolments needs a certificate that is valid', async () => {
    const owner = await expired(1)
    const connection = await at(owner, gracious.scepUrl)
    const content = lookupContent(owner.certificate)
    for (const messageType of ['GetCert', 'GetCRL'] as const)
      expect(refusal(await connection.ask({ messageType, content }))).toEqual(unauthorised)
  })
})

test('scep case 17: a hold that is released renews again', async () => {
  const owner = await enrol()
  await revoke(owner.certificate, 'CERTIFICATE_HOLD')
  expect(refusal(await renew(owner))).toEqual(unauthorised)
  await revoke(owner.certificate, 'REMOVE_FROM_CRL')
  expect(certificatesIn(await renew(owner, await rsaKeys()))).toHaveLength(3)
})

test('scep case 18: a signer of another realm is refused, although the gateway may read both', async () => {
  const { service, scene } = setting
  const other = await makeScepScene(service)
  const client = await scepClient(service, scene)
  await giveGrants(service.em(), client.id, {
    REALM: { [other.realmId]: ['FULL_READ', 'ENDENTITIES_CREATE'] },
    POLICY: { [other.policyId]: ['READ', 'CERTS_CREATE', 'SIGN'] },
  })
  const both = opened(await startGateway(service, scene, { client }))
  const owner = await enrolAt(both.scepUrl, scene)
  const elsewhere = `${both.url}/${other.policyId}/scep`
  const reply = await (await at(owner, elsewhere)).ask(await enrolment(owner.name, fresh))
  expect(refusal(reply)).toEqual(unauthorised)
  expect(both.logged()).toContain('the signer is of another realm')
  expect(await issuedTo(owner)).toBe(1)
  const stranger = await enrolAt(elsewhere, other)
  expect(refusal(await (await at(stranger)).ask(await enrolment(stranger.name, fresh)))).toEqual(unauthorised)
})

test('scep case 18: a signer that was imported is refused', async () => {
  const bench = new Workbench()
  opened({ stop: () => bench.clear() })
  const name = newName()
  const ca = await makeForeignCertificate(bench, { subject: '/CN=Foreign', isCa: true })
  const leaf = await makeForeignCertificate(bench, { subject: `/CN=${name}`, key: ['rsa:2048'], issuer: ca })
  const imported = await importPem(setting.scene, leaf.pem)
  expect([imported.status, imported.body.importedCertificates.length]).toEqual([201, 1])
  const [block] = decodePem(leaf.pem)
  const key = createPrivateKey(await readFile(leaf.keyFile))
  const connection = await connect(setting.gateway.scepUrl, {
    name,
    keys: fresh,
    key,
    certificate: Buffer.from(block?.der ?? []),
  })
  expect(refusal(await connection.ask(await enrolment(name, fresh)))).toEqual(unauthorised)
  expect(setting.gateway.logged()).toContain('the signer was imported')
})

describe('scep case 19: the names of the request', () => {
  const asked = async (owner: Owner, content: Buffer) => (await at(owner)).ask({ messageType: 'RenewalReq', content })
  const written = (keys: KeyPair, text: Buffer): Promise<Buffer> => {
    const name = sequence(setOf(sequence(oid('2.5.4.3'), text)))
    const key = createPrivateKey({ key: keys.privateKeyPkcs8, format: 'der', type: 'pkcs8' })
    return signDer(sequence(integer(0), name, keys.publicKeySpki, context(0)), key)
  }

  test.each([
    ['another common name', { commonName: 'another.example.org' }, []],
    ['another organisation', { organization: 'Somebody else' }, []],
    ['another host', {}, [{ type: 'DNS' as const, value: 'another.example.org' }]],
    ['another address', {}, [{ type: 'IP' as const, value: '192.0.2.9' }]],
  ])('%s is badRequest', async (_, subject, sans) => {
    const owner = await enrol({ organization: 'Example' })
    const content = await csrOf(owner.name, fresh, { subject: { commonName: owner.name, ...subject }, sans })
    expect(refusal(await asked(owner, content)).slice(0, 2)).toEqual(['FAILURE', 'badRequest'])
    expect(await issuedTo(owner)).toBe(1)
    expect(await setting.service.em().count(CertRequest, { endEntityId: owner.endEntityId })).toBe(1)
  })

  test.each([
    ['UTF8String', utf8String],
    ['PrintableString', printableString],
  ])('the same name as %s is taken', async (_, write) => {
    const owner = await enrol()
    const [leaf] = certificatesIn(await asked(owner, await written(fresh, write(owner.name))))
    expect(parseCertificate(leaf as Buffer).subjectDn).toBe(`CN=${owner.name}`)
  })
})

describe('a twin: issuer and serial number of a real certificate, another key', () => {
  test.each(['RenewalReq', 'PKCSReq'] as const)('scep case 20: is refused by %s', async messageType => {
    const owner = await enrol()
    const keys = await rsaKeys()
    const twin = enrolled(owner.name, keys, await twinOf(owner.certificate, keys))
    const { issuerNameDer, serialNumber } = parseCertificate(twin.certificate)
    const real = parseCertificate(owner.certificate)
    expect([issuerNameDer, serialNumber]).toEqual([real.issuerNameDer, real.serialNumber])
    const connection = await connect(setting.gateway.scepUrl, twin)
    const reply = await connection.ask(await enrolment(owner.name, keys, { messageType }))
    expect(refusal(reply)).toEqual(unauthorised)
    expect(await issuedTo(owner)).toBe(1)
  })

  test.each([
    ['before', (twin: Buffer, real: Buffer) => [real, twin]],
    ['behind', (twin: Buffer, real: Buffer) => [twin, real]],
  ])('scep case 21: is refused with the real certificate %s it', async (_, order) => {
    const owner = await enrol()
    const keys = await rsaKeys()
    const twin = enrolled(owner.name, keys, await twinOf(owner.certificate, keys))
    const connection = await connect(setting.gateway.scepUrl, twin)
    const [recipient] = connection.signers
    const content = await csrOf(owner.name, keys)
    const envelope = sealEnvelopedData(content, { recipients: [recipient as Buffer], cipher: 'AES-128-CBC' })
    const senderNonce = Buffer.alloc(16, 7)
    const parts = {
      envelope,
      certificates: order(twin.certificate, owner.certificate),
      attributes: { senderNonce: [octetString(senderNonce)] },
    }
    const der = await craftRequest(parts, partyOf(twin), partyOf(twin))
    const response = await postMessage(setting.gateway.scepUrl, der)
    expect(response.status).toBe(200)
    const sent = { der, transactionId: 'transaction 1', senderNonce }
    const reply = connection.read(Buffer.from(await response.arrayBuffer()), sent)
    expect(reply.status).toBe('FAILURE')
    expect(['badRequest', 'badMessageCheck']).toContain(reply.failInfo)
    expect(await issuedTo(owner)).toBe(1)
  })
})
