// ML-DSA through the interface: CAs, keys of end entities, restrictions and refusals (contract 2, 10.1, 10.2).
import { createPrivateKey, createPublicKey, verify, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { MlDsaParameterSet } from '../../domain/enums.ts'
import { bitString, derNull, oid, sequence } from '../../pki/asn1/der.ts'
import { readSigned } from '../../pki/certificate/signed.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { encodeOcspRequest } from '../../pki/ocsp/request.ts'
import { verifyOcspResponse } from '../../pki/ocsp/verify.ts'
import { checkPkcs10, createPkcs10 } from '../../pki/pkcs10.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { blocksOf, issueFor, issueNew, refusalOf, setSetting } from '../support/issuing.ts'
import { issuingCaOf, newLocalProvider } from '../support/local-providers.ts'
import { newProvider, readProvider, rollOver } from '../support/rollover.ts'
import { gatewayOf } from '../support/scep.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  await setSetting(service, 'pki.base-url', `${service.url}/pki`)
  scene = await makeScene(service)
})
afterAll(() => service.stop())

const lattice = (mlDsaParameterSet?: MlDsaParameterSet) => ({
  keyGenParamsDto: { cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet },
})
const pemOf = async ({ owner }: Scene, id: string, what = 'download'): Promise<string> =>
  (await owner.get(`/api/v1/certificates/${id}/${what}`)).body.pemCertificate
const keysOf = (mlDsaParameterSet: MlDsaParameterSet) =>
  generateKeyPair({ cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet })
const oids = { ML_DSA_44: '2.16.840.1.101.3.4.3.17', ML_DSA_65: '2.16.840.1.101.3.4.3.18' } as const

describe('a CA', () => {
  test.each<[MlDsaParameterSet, object, number]>([
    ['ML_DSA_65', {}, 3],
    ['ML_DSA_44', { curve: 'ML_DSA_44', hierarchy: 'SINGLE' }, 2],
    ['ML_DSA_87', { curve: 'ML_DSA_87', ocspSigner: false }, 3],
  ])('with %s and %j issues, lists and answers', async (set, configuration, length) => {
    const certificateProviderId = await newLocalProvider(service, { keyAlgorithm: 'ML_DSA', ...configuration })
    const { id: caId, publicKeyAlgorithm, der } = await issuingCaOf(service, certificateProviderId)
    expect(publicKeyAlgorithm).toBe('ML_DSA')
    const own = await makeScene(service, { certificateProviderId })
    const issued = await issueFor(own, undefined, lattice(set))
    const chain = blocksOf(await pemOf(own, issued.id, 'download-chain?casFirst=false')).map(
      pem => new X509Certificate(pem),
    )
    expect(chain).toHaveLength(length)
    for (const [at, one] of chain.entries()) {
      const issuer = chain[at + 1] ?? one
      expect(one.verify(issuer.publicKey) && one.checkIssued(issuer)).toBe(true)
      expect(one.publicKey.asymmetricKeyType).toBe(set.toLowerCase().replaceAll('_', '-'))
    }
    const issuer = parseCertificate(der)
    expect((await own.owner.get(`/api/v1/certificates/${issued.id}`)).body).toMatchObject({
      certPublicKeyAlgorithm: 'ML_DSA',
      certPublicKeySize: null,
      namedCurve: set,
      signatureAlgorithm: set,
      keyUsages: ['digitalSignature'],
    })
    await own.owner.post(`/api/v1/certificates/revoke?id=${issued.id}&revocationReason=SUPERSEDED`)
    const nonce = Buffer.from('0123456789abcdef')
    const question = { serialNumber: issued.serialNumber, issuer, nonce }
    const answer = await fetch(`${service.url}/pki/ocsp/${caId}`, {
      method: 'POST',
      body: new Uint8Array(encodeOcspRequest(question)),
    })
    const verdict = verifyOcspResponse(Buffer.from(await answer.arrayBuffer()), { ...question, now: new Date() })
    expect(verdict).toMatchObject({ status: 'REVOKED', revocationReason: 'SUPERSEDED' })
    const signers = await service.em().find(OcspSigner, { caId })
    expect(signers.map(signer => parseCertificate(signer.der).namedCurve)).toEqual(
      'ocspSigner' in configuration ? [] : [set],
    )
    const list = await fetch(`${service.url}/pki/crl/${caId}.crl`)
    const { contents, signature, algorithmOid } = readSigned(Buffer.from(await list.arrayBuffer()))
    expect(verify(null, contents.raw, new X509Certificate(der).publicKey, signature)).toBe(true)
    expect(algorithmOid).toBe(readSigned(der).algorithmOid)
  })

  test('takes over from one with another kind of key, below the same root', async () => {
    const admin = await service.user({ GLOBAL: ['ADMIN'] })
    const provider = await newProvider(admin)
    const { body } = await rollOver(admin, provider, { configuration: '{"keyAlgorithm":"ML_DSA"}' })
    expect((await readProvider(admin, provider.id)).configuration).toMatchObject({ curve: 'ML_DSA_65' })
    const own = await makeScene(service, { certificateProviderId: provider.id })
    const { id } = await issueFor(own)
    const chain = blocksOf(await pemOf(own, id, 'download-chain?casFirst=false')).map(pem => new X509Certificate(pem))
    expect(chain.map(({ publicKey }) => publicKey.asymmetricKeyType)).toEqual(['ec', 'ml-dsa-65', 'ec'])
    const pairs = chain.slice(1).map((issuer, at) => [chain[at], issuer] as const)
    for (const [one, issuer] of pairs) expect(one?.verify(issuer.publicKey)).toBe(true)
    const ca = await service.em().findOneOrFail(Ca, body.issuingCaId)
    expect(ca.publicKeyAlgorithm).toBe('ML_DSA')
  })

  test('signs data without a digest, and refuses one', async () => {
    const certificateProviderId = await newLocalProvider(service, { keyAlgorithm: 'ML_DSA' })
    await issuingCaOf(service, certificateProviderId)
    const { policyId } = await makeScene(service, { certificateProviderId })
    const gateway = await gatewayOf(service, policyId)
    const asked = { policyId, dataBase64: Buffer.from('hello').toString('base64') }
    const { body } = await gateway.post('/api/v1/sign/sign-with-ca', asked)
    expect(body.signatureAlgorithm).toBe('ML_DSA_65')
    const { publicKey } = new X509Certificate(body.signerCertificatePem)
    expect(verify(null, Buffer.from('hello'), publicKey, Buffer.from(body.signatureBase64, 'base64'))).toBe(true)
    const refused = await gateway.post('/api/v1/sign/sign-with-ca', { ...asked, digestAlgorithm: 'SHA-512' })
    expect(refusalOf(refused)).toEqual([422, 'SIGNING_REFUSED'])
  })

  test('serves SCEP through an RSA signer, and never by its own key', async () => {
    const certificateProviderId = await newLocalProvider(service, { keyAlgorithm: 'ML_DSA' })
    await issuingCaOf(service, certificateProviderId)
    const own = await makeScene(service, { certificateProviderId, scepConfiguration: {} })
    const gateway = await gatewayOf(service, own.policyId)
    const { body } = await gateway.get(`/api/v1/scep/policies/${own.policyId}/configuration`)
    const [signer, issuer] = blocksOf(body.signerCertificatePem + body.caChainPem)
    const made = new X509Certificate(signer ?? '')
    expect(made.publicKey.asymmetricKeyType).toBe('rsa')
    expect(made.verify(new X509Certificate(issuer ?? '').publicKey)).toBe(true)
    const { body: policy } = await own.owner.get(`/api/v1/policies/${own.policyId}`)
    const refused = await own.owner.patch(`/api/v1/policies/${own.policyId}`, {
      version: policy.metadata.version,
      scepConfiguration: { signerMode: 'CA' },
    })
    expect(refusalOf(refused)).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
    expect(refused.body.fieldErrors[0].message).toContain('RSA')
  })

  test.each([
    [{ keyAlgorithm: 'ML_DSA', curve: 'ED25519' }],
    [{ keyAlgorithm: 'ML_DSA', curve: 'ML_DSA_45' }],
    [{ keyAlgorithm: 'EC', curve: 'ML_DSA_65' }],
    [{ keyAlgorithm: 'EDDSA', curve: 'ML_DSA_65' }],
    [{ keyAlgorithm: 'MLDSA' }],
  ])('is refused as %j', async configuration => {
    const admin = await service.user({ GLOBAL: ['ADMIN'] })
    const given = { name: JSON.stringify(configuration), certificateProviderType: 'LOCAL' }
    const members = { ...given, configuration: JSON.stringify(configuration) }
    const reply = await admin.post('/api/v1/certificate-providers', members)
    expect(refusalOf(reply)).toEqual([422, 'INVALID_PROVIDER_CONFIGURATION'])
  })
})

describe('the key of an end entity', () => {
  test.each<[MlDsaParameterSet | undefined, MlDsaParameterSet]>([
    [undefined, 'ML_DSA_44'],
    ['ML_DSA_65', 'ML_DSA_65'],
    ['ML_DSA_87', 'ML_DSA_87'],
  ])('is made with %s as %s, kept and handed out', async (asked, made) => {
    const { id } = await issueNew(scene, lattice(asked))
    const { publicKey } = new X509Certificate(await pemOf(scene, id))
    const spki = publicKey.export({ type: 'spki', format: 'der' })
    const { body: own } = await scene.owner.get(`/api/v1/certificates/${id}`)
    expect(own).toMatchObject({ certPublicKeyAlgorithm: 'ML_DSA', namedCurve: made, hasPrivateKey: true })
    const { body } = await scene.owner.get(`/api/v1/certificates/${id}/download-private-key`)
    const key = createPrivateKey(body.pemPrivateKey)
    expect(createPublicKey(key).export({ type: 'spki', format: 'der' }).equals(spki)).toBe(true)
    const { body: store } = await scene.owner.get(`/api/v1/certificates/${id}/pkcs12`)
    createSecureContext({ pfx: Buffer.from(store.keystore, 'base64'), passphrase: store.password })
  })

  test('and a request with it are made for a caller who keeps both', async () => {
    const { body } = await scene.owner.post('/api/v1/pkcs10', { subject: { commonName: 'a' }, ...lattice('ML_DSA_87') })
    const { publicKeySpki } = checkPkcs10(Buffer.from(body.pkcs10ReqBase64, 'base64'))
    const key = createPublicKey(createPrivateKey(body.pemPrivateKey))
    expect(key.export({ type: 'spki', format: 'der' }).equals(publicKeySpki)).toBe(true)
    expect(key.asymmetricKeyType).toBe('ml-dsa-87')
  })

  test('comes in a PKCS#10 request or bare', async () => {
    const keys = await keysOf('ML_DSA_65')
    const request = await createPkcs10({ subject: { commonName: 'a.example.org' }, sans: [], keys })
    const { body: read } = await scene.owner.post('/api/v1/pkcs10/parse', {
      pkcs10ReqBase64: request.toString('base64'),
    })
    expect(read).toMatchObject({ cryptoAlgorithm: 'ML_DSA', namedCurve: 'ML_DSA_65', keySize: null })
    expect(read).toMatchObject({ signatureAlgorithm: 'ML_DSA_65', signatureValid: true })
    const ways = [
      { keyPairMode: 'PKCS10', pkcs10ReqBase64: request.toString('base64') },
      { keyPairMode: 'PUBLIC_KEY', publicKeyBase64: (await keysOf('ML_DSA_44')).publicKeySpki.toString('base64') },
    ]
    for (const way of ways) {
      const { id } = await issueFor(scene, 'a.example.org', { keyGenParamsDto: null, ...way })
      const { body } = await scene.owner.get(`/api/v1/certificates/${id}`)
      expect(body).toMatchObject({ certPublicKeyAlgorithm: 'ML_DSA', hasPrivateKey: false })
    }
  })

  const bare = async () => (await keysOf('ML_DSA_44')).publicKeySpki
  const made = (octets: Buffer, ...parameters: Buffer[]) =>
    sequence(sequence(oid(oids.ML_DSA_44), ...parameters), bitString(octets))
  const ofOtherSet = async () => {
    const [keys, other] = [await keysOf('ML_DSA_65'), await keysOf('ML_DSA_44')]
    const mixed = { publicKeySpki: keys.publicKeySpki, privateKeyPkcs8: other.privateKeyPkcs8 }
    return createPkcs10({ subject: { commonName: 'a' }, sans: [], keys: mixed })
  }

  test.each<[string, () => Buffer | Promise<Buffer>, number, string]>([
    ['publicKeyBase64', () => made(Buffer.alloc(1311, 7)), 422, 'INVALID_PUBLIC_KEY'],
    ['publicKeyBase64', () => made(Buffer.alloc(1952, 7)), 422, 'INVALID_PUBLIC_KEY'],
    ['publicKeyBase64', () => made(Buffer.alloc(1312, 7), derNull), 422, 'INVALID_PUBLIC_KEY'],
    ['publicKeyBase64', () => made(Buffer.alloc(1312)), 422, 'WEAK_KEY'],
    ['publicKeyBase64', async () => Buffer.concat([await bare(), Buffer.of(0)]), 422, 'INVALID_PUBLIC_KEY'],
    ['pkcs10ReqBase64', ofOtherSet, 422, 'INVALID_PKCS10'],
  ])('is refused as %s (%#)', async (...[member, make, status, apiError]) => {
    const keyPairMode = member === 'pkcs10ReqBase64' ? 'PKCS10' : 'PUBLIC_KEY'
    const given = { policyId: scene.policyId, endEntityId: scene.endEntityId, validFor: 'SIX_MONTHS', keyPairMode }
    const key = { [member]: (await make()).toString('base64') }
    expect(refusalOf(await scene.owner.post('/api/v1/cert-requests', { ...given, ...key }))).toEqual([status, apiError])
  })
})

describe('restrictions', () => {
  const restricted = (cryptoRestrictions: object) => makeScene(service, { cryptoRestrictions })
  const asked = ({ owner, policyId, endEntityId }: Scene, set?: MlDsaParameterSet) => {
    const given = { policyId, endEntityId, validFor: 'SIX_MONTHS', keyPairMode: 'SERVER_GEN', ...lattice(set) }
    return owner.post('/api/v1/cert-requests', given)
  }

  test('of the sets bind keys that are made and brought', async () => {
    const own = await restricted({
      allowedCryptoAlgorithms: ['ML_DSA'],
      allowedMlDsaParameterSets: ['ML_DSA_87', 'ML_DSA_65'],
    })
    expect(refusalOf(await asked(own, 'ML_DSA_44'))).toEqual([422, 'CRYPTO_RESTRICTION_VIOLATION'])
    const { id } = await issueNew(own, lattice())
    expect((await own.owner.get(`/api/v1/certificates/${id}`)).body.namedCurve).toBe('ML_DSA_65')
    const publicKeyBase64 = (await keysOf('ML_DSA_44')).publicKeySpki.toString('base64')
    const { owner, policyId, endEntityId } = own
    const given = { policyId, endEntityId, validFor: 'SIX_MONTHS', keyPairMode: 'PUBLIC_KEY', publicKeyBase64 }
    expect(refusalOf(await owner.post('/api/v1/cert-requests', given))).toEqual([422, 'CRYPTO_RESTRICTION_VIOLATION'])
  })

  test('without ML_DSA let none in, and those that say nothing every one', async () => {
    const none = await restricted({ allowedCryptoAlgorithms: ['RSA', 'EC', 'EDDSA'] })
    expect(refusalOf(await asked(none))).toEqual([422, 'CRYPTO_RESTRICTION_VIOLATION'])
    expect((await asked(await restricted({ allowedCryptoAlgorithms: [] }), 'ML_DSA_87')).status).toBe(201)
  })

  test('of an unknown set are refused', async () => {
    const { owner, policyId } = scene
    const cryptoRestrictions = { allowedCryptoAlgorithms: ['ML_DSA'], allowedMlDsaParameterSets: ['ML_DSA_45'] }
    const reply = await owner.patch(`/api/v1/policies/${policyId}`, { cryptoRestrictions })
    expect(refusalOf(reply)).toEqual([400, 'INVALID_REQUEST'])
  })
})
