// How each PEM block of a certificate import is judged (contract 10.4).
import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { oid, printableString, sequence, tags, tlv, utf8String } from '../../pki/asn1/der.ts'
import { parseCertificatePem, type CertificateDescription } from '../../pki/certificate/certificate.ts'
import { getKeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { encodePem } from '../../pki/pem.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { getTemplate } from '../pki/hierarchy.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { importPem, newHost, prepareImports, verifyPem, verdictOn, type ImportSetup } from '../support/importing.ts'
import { factsOf, issueFor, refusalOf } from '../support/issuing.ts'
import { startService, type Scene, type Service } from '../support/service.ts'
import { makeForeignCertificate, signForeign, newForeignKey } from '../support/foreign-certificates.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let importing: ImportSetup
const leaf: ImportSetup['leaf'] = (...options) => importing.leaf(...options)
const sceneWith: ImportSetup['sceneWith'] = members => importing.sceneWith(members)

beforeAll(async () => {
  service = await startService()
  importing = await prepareImports(service, bench)
  scene = importing.scene
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

describe('by block', () => {
  test.each<[string, object, () => Promise<string> | string, string | null]>([
    [
      'self-signed',
      {},
      async () => (await makeForeignCertificate(bench, { subject: `/CN=${newHost()}` })).pem,
      'SELF_SIGNED_NOT_ALLOWED',
    ],
    [
      'self-signed where allowed',
      { selfSignedAllowed: true },
      async () => (await makeForeignCertificate(bench, { subject: `/CN=${newHost()}` })).pem,
      null,
    ],
    ['a CA that issued nothing here', { selfSignedAllowed: true }, () => importing.root.pem, null],
    [
      'no e-mail address under EMAIL',
      { endEntityStrategy: 'EMAIL' },
      async () => (await leaf()).pem,
      'END_ENTITY_RULE_VIOLATION',
    ],
    [
      'an e-mail address under EMAIL',
      { endEntityStrategy: 'EMAIL' },
      async () => (await leaf({ names: 'email:a@b.example' })).pem,
      null,
    ],
    [
      'strategy EXTERNAL_ID',
      { endEntityStrategy: 'EXTERNAL_ID' },
      async () => (await leaf()).pem,
      'END_ENTITY_RULE_VIOLATION',
    ],
    [
      'a forbidden property',
      { endEntityRules: [{ property: 'ORGANIZATION', requirement: 'FORBIDDEN' }] },
      async () => (await leaf()).pem,
      'END_ENTITY_RULE_VIOLATION',
    ],
    [
      'a host that is none',
      {},
      async () => (await leaf({ names: 'DNS:under_score.example' })).pem,
      'VALIDATION_FAILED',
    ],
    [
      'a country that is none',
      { endEntityStrategy: 'SUBJECT_DN' },
      async () => (await leaf({ subject: `/C=XX/CN=${newHost()}` })).pem,
      'VALIDATION_FAILED',
    ],
    [
      'no name at all under UUID',
      { endEntityStrategy: 'UUID' },
      async () => (await leaf({ subject: '/O=Nobody' })).pem,
      'VALIDATION_FAILED',
    ],
  ])('%s', async (...[, members, make, code]) => {
    expect(await verdictOn(await sceneWith(members), await make())).toBe(code)
  })

  test('an algorithm that the service does not know', async () => {
    const key = await bench.newPath()
    await openssl('genpkey', '-algorithm', 'X25519', '-out', key)
    const publicKey = await openssl('pkey', '-in', key, '-pubout')
    const file = await bench.file(publicKey.output)
    const by = ['-CA', importing.issuing.certificateFile, '-CAkey', importing.issuing.keyFile]
    const made = await openssl('x509', '-new', '-force_pubkey', file, '-subj', `/CN=${newHost()}`, ...by)
    expect(await verdictOn(scene, made.output.toString())).toBe('CRYPTO_RESTRICTION_VIOLATION')
  })

  test('what the end entity breaks, and what the certificate holds against the rules', async () => {
    const rules = [
      { property: 'EMAIL', requirement: 'REQUIRED' },
      { property: 'DOMAIN', requirement: 'OPTIONAL', pattern: '.+\\.foreign\\.example' },
    ]
    const at = await sceneWith({ endEntityRules: rules })
    const endEntityId = await at.newEndEntity({ commonName: newHost(), email: 'a@b.example' })
    const bare = await at.newEndEntity({ commonName: newHost() })
    const [good, odd] = [await leaf({ names: 'DNS:a.foreign.example' }), await leaf({ names: 'DNS:a.example' })]
    expect(await verdictOn(at, odd.pem, { endEntityId })).toBe('END_ENTITY_RULE_VIOLATION')
    expect(await verdictOn(at, good.pem, { endEntityId: bare })).toBe('END_ENTITY_RULE_VIOLATION')
    expect(await verdictOn(at, good.pem, { endEntityId })).toBe(null)
  })

  test('several matching end entities, and one that is archived', async () => {
    const [common, resting] = [newHost(), newHost()]
    for (const organization of ['A', 'B']) await scene.newEndEntity({ commonName: common, organization })
    const id = await scene.newEndEntity(resting)
    await service.em().nativeUpdate(EndEntity, { id }, { archived: true })
    expect(await verdictOn(scene, (await leaf({}, common)).pem)).toBe('AMBIGUOUS_RESULT')
    expect(await verdictOn(scene, (await leaf({}, resting)).pem)).toBe('ENTITY_ARCHIVED')
  })

  test('the end entity of a user takes no import, named or matched', async () => {
    const name = newHost()
    const endEntityId = await scene.newEndEntity(name)
    await service.em().nativeUpdate(EndEntity, { id: endEntityId }, { userId: scene.owner.id })
    const { pem } = await leaf({}, name)
    expect(await verdictOn(scene, pem)).toBe('VALIDATION_FAILED')
    expect(refusalOf(await importPem(scene, pem, { endEntityId }))).toEqual([422, 'VALIDATION_FAILED'])
  })

  test.each<[string, (input: { der: Buffer; spki: Buffer }) => Buffer]>([
    ['NUL in a name', ({ der }) => Buffer.from(der.toString('latin1').replace('nul-', 'nu\0-'), 'latin1')],
    [
      'half a surrogate pair',
      ({ der }) => Buffer.from(der.toString('latin1').replace('\x0c\x14nul-', '\x1e\x14\xd8\x00l-'), 'latin1'),
    ],
    ['a serial number without end', ({ der }) => der],
  ])('what cannot be stored is unreadable: %s', async (what, spoil) => {
    const serialNumber = what.startsWith('a serial') ? 'ab'.repeat(40) : '1234'
    const pem = await signForeign(newForeignKey(), `nul-${'x'.repeat(16)}`, { serialNumber })
    const { der } = parseCertificatePem(pem)
    const spoilt = encodePem('CERTIFICATE', spoil({ der, spki: der }))
    expect(refusalOf(await importPem(scene, spoilt))).toEqual([422, 'INVALID_CERTIFICATE'])
  })
})

describe('issuers', () => {
  const ourCa = async (): Promise<CertificateDescription> => {
    const issued = await issueFor(scene)
    const { issuerCaId } = await service.em().findOneOrFail(Certificate, issued.id)
    const { der } = await service.em().findOneOrFail(Ca, issuerCaId ?? '')
    return parseCertificatePem(encodePem('CERTIFICATE', der))
  }
  /** An issuer that claims to be this one. */
  const claiming = ({ subjectNameDer, ski }: CertificateDescription) => ({
    nameDer: subjectNameDer,
    keyIdentifier: ski ?? Buffer.alloc(0),
    algorithm: getKeyAlgorithm({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' }),
    validity: { notBefore: new Date(0), notAfter: new Date('2045-01-01T00:00:00Z') },
  })
  const client = getTemplate('CLIENT')
  /** A certificate of another key below a CA. */
  const below = (issuer: CertificateDescription) => ({
    issuer: claiming(issuer),
    publicKeySpki: createPublicKey(newForeignKey()).export({ type: 'spki', format: 'der' }),
  })
  const codesOf = ({ errors }: { errors: { apiError: string }[] }) => errors.map(({ apiError }) => apiError)

  test('a certificate with issuer and serial number of one of ours, but another key, is a forgery', async () => {
    const { serialNumber } = await issueFor(scene)
    const issuer = claiming(await ourCa())
    const pem = await signForeign(newForeignKey(), newHost(), { issuer, serialNumber })
    expect(await verdictOn(scene, pem)).toBe('INVALID_CERTIFICATE')
  })

  /** The name of a CA in another string type, case or white space. */
  const writtenOtherwise = (name: string): Buffer[] =>
    [printableString(name), utf8String(name.toUpperCase()), utf8String(name.replaceAll(' ', '  '))].map(value =>
      sequence(tlv(tags.set, sequence(oid('2.5.4.3'), value))),
    )

  test('so it is when the name of the issuer is written otherwise: in another string type, case or white space', async () => {
    const ours = await ourCa()
    for (const nameDer of writtenOtherwise(ours.subjectCommonName ?? '')) {
      const issuer = { ...claiming(ours), nameDer }
      expect(await verdictOn(scene, await signForeign(newForeignKey(), newHost(), { issuer }))).toBe(
        'INVALID_CERTIFICATE',
      )
    }
  })

  test('it is none when the CA has signed it, however it writes its name', async () => {
    const key = newForeignKey()
    const root = parseCertificatePem(await signForeign(key, 'Careless Root', { template: { ...client, isCa: true } }))
    await importPem(scene, encodePem('CERTIFICATE', root.der) + (await signForeign(key, newHost(), below(root))))
    const where = { fingerprint: root.fingerprint }
    expect(await service.em().nativeUpdate(Ca, where, { trusted: true })).toBe(1)
    for (const nameDer of writtenOtherwise('Careless Root')) {
      const pem = await signForeign(key, newHost(), below({ ...root, subjectNameDer: nameDer }))
      expect(await verdictOn(scene, pem)).toBeNull()
    }
  })

  test('a CA that poses as ours becomes no record, and what it issued is a forgery', async () => {
    const ours = await ourCa()
    const extension = `subjectKeyIdentifier=${ours.ski?.toString('hex').replace(/..(?=.)/g, '$&:')}`
    const poser = await makeForeignCertificate(bench, {
      subject: `/CN=${ours.subjectCommonName}`,
      isCa: true,
      extension,
    })
    const { subjectNameDer, ski, fingerprint } = parseCertificatePem(poser.pem)
    expect([subjectNameDer, ski]).toEqual([ours.subjectNameDer, ours.ski])
    const { body } = await importPem(scene, poser.pem + (await leaf({ issuer: poser })).pem)
    expect(codesOf(body)).toEqual(['INVALID_CERTIFICATE', 'INVALID_CERTIFICATE'])
    expect(await service.em().count(Ca, { fingerprint })).toBe(0)
  })

  test('a chain becomes CA records that nobody trusts, linked from the certificate to the root', async () => {
    const own = await makeForeignCertificate(bench, { subject: '/CN=Chain Root', isCa: true })
    const below = await makeForeignCertificate(bench, { subject: '/CN=Chain CA', isCa: true, issuer: own })
    const { pem } = await leaf({ issuer: below })
    const told = await verifyPem(scene, pem + below.pem + own.pem)
    expect(told.body).toMatchObject({ total: 3, importable: 1 })
    expect(told.body.results).toMatchObject([
      { importable: true, issuerKnown: true },
      { importable: false, issuerKnown: true, apiError: null, message: expect.stringContaining('CA record') },
      { importable: false, issuerKnown: false, selfSigned: true, message: expect.stringContaining('CA record') },
    ])
    const { body } = await importPem(scene, pem + below.pem + own.pem)
    expect(body).toMatchObject({ total: 3, errors: [], alreadyKnownCertificateIds: [] })
    expect(body.importedCertificates).toHaveLength(1)
    const [{ id }] = body.importedCertificates
    const { issuerCaId } = await service.em().findOneOrFail(Certificate, id)
    const ca = await service.em().findOneOrFail(Ca, issuerCaId ?? '')
    expect(ca).toMatchObject({ subjectDn: 'CN=Chain CA', trusted: false, root: false })
    const top = await service.em().findOneOrFail(Ca, ca.issuerCaId ?? '')
    expect(top).toMatchObject({ subjectDn: 'CN=Chain Root', trusted: false, root: true, issuerCaId: null })
    const chain = await scene.owner.get(`/api/v1/certificates/${id}/download-chain?casFirst=false`)
    expect(chain.body.pemCertificate).toBe(pem + below.pem + own.pem)
    expect(await factsOf(service, ca.id)).toEqual(['ENTITY_CREATED'])
    const later = await leaf({ issuer: below })
    const next = (await importPem(scene, later.pem + below.pem)).body
    expect(next).toMatchObject({ total: 2, errors: [], importedCertificates: [{ issuerDn: 'CN=Chain CA' }] })
    expect(await service.em().count(Ca, { subjectDn: 'CN=Chain CA' })).toBe(1)
  })
})
