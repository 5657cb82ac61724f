// GetCert and GetCRL (RFC 8894 3.3.4, 3.3.5): who may ask, what is found, how large it may be.
import { createHash, createPrivateKey, randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { integer, oid, sequence, setOf, tags, tlv, utf8String } from '../../pki/asn1/der.ts'
import { issuerOf, parseCertificate } from '../../pki/certificate/certificate.ts'
import { encodeEntries, signCrl } from '../../pki/crl.ts'
import { decodePem } from '../../pki/pem.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { issuerAndSerialNumber } from '../../pki/scep/client.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Crl } from '../../storage/rows/crl.ts'
import { Workbench } from '../pki/openssl.ts'
import { closing } from '../support/closing.ts'
import { makeForeignCertificate } from '../support/foreign-certificates.ts'
import { importPem } from '../support/importing.ts'
import { until } from '../support/issuing.ts'
import { certificatesIn, connect, lookupContent, newDevice, rsaKeys, type Device } from '../support/scep-device.ts'
import { makeScepScene, startGateway } from '../support/scep-gateway.ts'
import { enrolAt, refusal, startScep, unauthorised, type Owner, type ScepSetting } from '../support/scep-setting.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let setting: ScepSetting
let mine: Owner
let theirs: Owner
const bench = new Workbench()

beforeAll(async () => {
  kept({ stop: () => bench.clear() })
  setting = kept(await startScep({ certificateImportAllowed: true }))
  const { gateway, scene } = setting
  mine = await enrolAt(gateway.scepUrl, scene)
  theirs = await enrolAt(gateway.scepUrl, scene)
})

type Kind = 'GetCert' | 'GetCRL'
const askAt = async (url: string, device: Device, draft: { messageType: Kind; content: Buffer }) =>
  (await connect(url, device)).ask(draft)
const ask = (device: Device, messageType: Kind, content: Buffer) =>
  askAt(setting.gateway.scepUrl, device, { messageType, content })
const nothing = ['FAILURE', 'badCertId']
const serialOf = (certificate: Buffer): string => parseCertificate(certificate).serialNumber
const rowOf = (certificate: Buffer) => setting.service.em().findOneOrFail(Certificate, { der: certificate })

describe('GetCert', () => {
  test('answers the own certificate, and another one of the realm, alone and octet by octet', async () => {
    for (const { certificate } of [mine, theirs])
      expect(certificatesIn(await ask(mine.device, 'GetCert', lookupContent(certificate)))).toEqual([certificate])
  })

  test('answers a revoked certificate to a signer that is valid', async () => {
    const gone = await enrolAt(setting.gateway.scepUrl, setting.scene)
    const { id } = await rowOf(gone.certificate)
    await setting.scene.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=SUPERSEDED`)
    expect(certificatesIn(await ask(mine.device, 'GetCert', lookupContent(gone.certificate)))).toHaveLength(1)
  })

  test('scep case 40: a foreign certificate, an unknown serial number and an unknown issuer are badCertId', async () => {
    const { issuerNameDer, subjectNameDer } = parseCertificate(mine.certificate)
    const foreign = await newDevice('foreign.example.org')
    for (const content of [
      lookupContent(foreign.certificate),
      issuerAndSerialNumber(issuerNameDer, randomBytes(15).toString('hex')),
      issuerAndSerialNumber(issuerNameDer, '00'),
      issuerAndSerialNumber(subjectNameDer, serialOf(mine.certificate)),
    ])
      for (const kind of ['GetCert', 'GetCRL'] as const)
        expect(refusal(await ask(mine.device, kind, content)).slice(0, 2)).toEqual(nothing)
  })
})

test('a certificate that was imported without its issuer is delivered, and has no list', async () => {
  const issuer = await makeForeignCertificate(bench, { subject: '/CN=Nobody Knows', isCa: true })
  const leaf = await makeForeignCertificate(bench, { subject: '/CN=alone.example', issuer })
  expect((await importPem(setting.scene, leaf.pem)).body.importedCertificates).toHaveLength(1)
  const der = Buffer.from(decodePem(leaf.pem)[0]?.der ?? [])
  expect(certificatesIn(await ask(mine.device, 'GetCert', lookupContent(der)))).toEqual([der])
  expect(refusal(await ask(mine.device, 'GetCRL', lookupContent(der))).slice(0, 2)).toEqual(nothing)
})

const commonName = (value: Buffer): Buffer => sequence(setOf(sequence(oid('2.5.4.3'), value)))

/** What no certificate has: issuer and serial number. */
const impossible: Readonly<Record<string, (issuer: Buffer) => readonly [Buffer, Buffer]>> = {
  'a serial number of 21 octets': issuer => [issuer, integer('7f'.repeat(21))],
  'a serial number of 2,000 octets': issuer => [issuer, integer('7f'.repeat(2000))],
  'a serial number of no octets': issuer => [issuer, tlv(tags.integer)],
  'an issuer that is no Name': () => [sequence(integer(1)), integer(1)],
  'an issuer of bad UTF-8': () => [commonName(tlv(tags.utf8String, Buffer.of(0xc3, 0x28))), integer(1)],
  'an issuer of 90 kB': () => [commonName(utf8String('x'.repeat(90_000))), integer(1)],
  'an issuer without a name': () => [sequence(), integer(1)],
  'an issuer with an empty name': () => [commonName(utf8String('')), integer(1)],
  'an issuer shorter than any': () => [sequence(setOf(sequence(oid('1.2'), utf8String('a')))), integer(1)],
}

test.each(Object.entries(impossible))('%s is badMessageCheck, as what cannot be decrypted', async (_, make) => {
  const content = sequence(...make(parseCertificate(mine.certificate).issuerNameDer))
  for (const kind of ['GetCert', 'GetCRL'] as const)
    expect(refusal(await ask(mine.device, kind, content))).toEqual(
      refusal(await ask(mine.device, kind, randomBytes(99))),
    )
})

/** What none has that we know. */
const unheardOf: Readonly<Record<string, (issuer: Buffer) => readonly [Buffer, Buffer]>> = {
  'a negative serial number': issuer => [issuer, tlv(tags.integer, Buffer.of(0x80, 1))],
  'an issuer that holds NUL': () => [commonName(utf8String('a\u0000b')), integer(1)],
  'an issuer of one letter': () => [commonName(utf8String('a')), integer(1)],
}

test.each(Object.entries(unheardOf))('%s is badCertId', async (_, make) => {
  const content = sequence(...make(parseCertificate(mine.certificate).issuerNameDer))
  for (const kind of ['GetCert', 'GetCRL'] as const)
    expect(refusal(await ask(mine.device, kind, content)).slice(0, 2)).toEqual(nothing)
})

test('a certificate of another realm is badCertId, as one that does not exist', async () => {
  const other = await makeScepScene(setting.service)
  const elsewhere = opened(await startGateway(setting.service, other))
  const stranger = await enrolAt(elsewhere.scepUrl, other)
  const unknown = issuerAndSerialNumber(parseCertificate(mine.certificate).issuerNameDer, '0123456789')
  for (const kind of ['GetCert', 'GetCRL'] as const) {
    const refused = refusal(await ask(mine.device, kind, lookupContent(stranger.certificate)))
    expect(refused).toEqual(refusal(await ask(mine.device, kind, unknown)))
    expect(refused.slice(0, 2)).toEqual(nothing)
    // And the other way round: a valid certificate of one realm asks nothing in another.
    const asked = await askAt(elsewhere.scepUrl, mine.device, {
      messageType: kind,
      content: lookupContent(stranger.certificate),
    })
    expect(refusal(asked)).toEqual(unauthorised)
  }
})

const past = (days: number): Date => new Date(Date.now() - days * 86_400_000)
const revoke = async (certificate: Buffer) => {
  const { id } = await rowOf(certificate)
  return setting.scene.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=SUPERSEDED`)
}
const expire = ({ certificate }: Owner) =>
  setting.service
    .em()
    .nativeUpdate(Certificate, { der: certificate }, { validNotBefore: past(9), validNotAfter: past(1) })

describe('a signer that may not ask', () => {
  test.each<[string, (owner: Owner) => Promise<unknown>]>([
    ['expired', expire],
    ['revoked', ({ certificate }) => revoke(certificate)],
    [
      'archived',
      ({ certificate }) => setting.service.em().nativeUpdate(Certificate, { der: certificate }, { archived: true }),
    ],
  ])('because it is %s gets neither', async (_, end) => {
    const owner = await enrolAt(setting.gateway.scepUrl, setting.scene)
    await end(owner)
    for (const kind of ['GetCert', 'GetCRL'] as const)
      expect(refusal(await ask(owner.device, kind, lookupContent(mine.certificate)))).toEqual(unauthorised)
  })

  test('because it is self-signed gets neither, whether there is such a certificate or not', async () => {
    const stranger = await newDevice('stranger.example.org')
    for (const certificate of [mine.certificate, stranger.certificate])
      for (const kind of ['GetCert', 'GetCRL'] as const)
        expect(refusal(await ask(stranger, kind, lookupContent(certificate)))).toEqual(unauthorised)
  })

  test('because it was imported gets neither', async () => {
    const issuer = await makeForeignCertificate(bench, { subject: '/CN=Foreign', isCa: true })
    const leaf = await makeForeignCertificate(bench, { subject: '/CN=imported.example', key: ['rsa:2048'], issuer })
    expect((await importPem(setting.scene, leaf.pem)).body.importedCertificates).toHaveLength(1)
    const [block] = decodePem(leaf.pem)
    const imported: Device = {
      name: 'imported.example',
      keys: await rsaKeys(),
      key: createPrivateKey(await readFile(leaf.keyFile)),
      certificate: Buffer.from(block?.der ?? []),
    }
    for (const kind of ['GetCert', 'GetCRL'] as const)
      expect(refusal(await ask(imported, kind, lookupContent(mine.certificate)))).toEqual(unauthorised)
  })
})

describe('GetCRL', () => {
  test('answers the latest list of the CA, as it is published, and no certificates', async () => {
    const { issuerCaId } = await rowOf(mine.certificate)
    const published = await fetch(`${setting.service.url}/pki/crl/${issuerCaId}.crl`)
    const { status, bag } = await ask(mine.device, 'GetCRL', lookupContent(mine.certificate))
    expect(status).toBe('SUCCESS')
    expect(bag?.certificates).toEqual([])
    expect(bag?.crls).toEqual([Buffer.from(await published.arrayBuffer())])
  })

  /** A device under a CA of its own, where nobody else revokes. */
  const underOwnCa = async () => {
    const admin = await setting.service.user({ GLOBAL: ['ADMIN'] })
    const body = { name: `EC ${randomUUID()}`, certificateProviderType: 'LOCAL', configuration: '{}' }
    const provider = await admin.post('/api/v1/certificate-providers', body)
    expect(provider.status).toBe(201)
    const scene = await makeScepScene(setting.service, { certificateProviderId: provider.body.id })
    const own = opened(await startGateway(setting.service, scene))
    const owner = await enrolAt(own.scepUrl, scene)
    const caId = (await rowOf(owner.certificate)).issuerCaId as string
    const { number } = await until('the CA has its first list', () => setting.service.em().findOne(Crl, { caId }))
    return { own, owner, caId, number: number + 1 }
  }

  /** A list of so many entries, which nobody signed that a device would believe. */
  const longList = async (caId: string, number: number, ca: Buffer) => {
    const { privateKeyPkcs8 } = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
    const key = createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' })
    const dates = { thisUpdate: new Date(), nextUpdate: past(-1) }
    const all = Array.from({ length: 50_000 }, (_, index) => ({
      serialNumber: (0x1000_0000_0000 + index).toString(16),
      revocationDate: dates.thisUpdate,
      reason: 'SUPERSEDED' as const,
    }))
    const input = { issuer: issuerOf(parseCertificate(ca)), number, ...dates, entries: [encodeEntries(all)] }
    const der = await signCrl(input, key)
    const fingerprint = createHash('sha256').update(der).digest('hex')
    const em = setting.service.em()
    em.create(Crl, { caId, number, ...dates, entries: all.length, fingerprint, der })
    await em.flush()
    return der
  }

  test('scep case 40: a list of 50,000 entries is delivered as it is', async () => {
    const { own, owner, caId, number } = await underOwnCa()
    const [, issuing] = (await connect(own.scepUrl, owner.device)).signers
    const der = await longList(caId, number, issuing as Buffer)
    expect(der.length).toBeGreaterThan(1_500_000)
    const { status, bag } = await askAt(own.scepUrl, owner.device, {
      messageType: 'GetCRL',
      content: lookupContent(owner.certificate),
    })
    expect([status, bag?.crls.length]).toEqual(['SUCCESS', 1])
    expect([bag?.crls[0]?.length, bag?.crls[0]?.equals(der)]).toEqual([der.length, true])
  })

  test('a CA without a list is badCertId', async () => {
    const { own, owner, caId } = await underOwnCa()
    await setting.service.em().nativeDelete(Crl, { caId })
    expect(
      refusal(
        await askAt(own.scepUrl, owner.device, { messageType: 'GetCRL', content: lookupContent(owner.certificate) }),
      ),
    ).toEqual([...nothing, 'The CA of the certificate has no revocation list.'])
  })
})
