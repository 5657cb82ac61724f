// Certificates as openssl reads and verifies them.
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { validity } from '../../domain/validity.ts'
import {
  generateSerialNumber,
  issueCertificate,
  issuerOf,
  parseCertificate,
  parseCertificatePem,
  type TbsInput,
} from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { encodePem, encodePemChain } from '../../pki/pem.ts'
import { mergeTemplates } from '../../pki/certificate/template-configuration.ts'
import { internalTemplates } from '../../pki/certificate/templates.ts'
import { failureCode } from './failing.ts'
import { attime, type Authority, getTemplate, leafInput, makeIssuing, makeRoot, nameDer, now } from './hierarchy.ts'
import { judgedByOpenssl, openssl, tryOpenssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

const p256 = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' } as const
let root: Authority
let issuing: Authority
beforeAll(async () => {
  root = await makeRoot(p256)
  issuing = await makeIssuing(root, p256)
})

const rows = judgedByOpenssl.map(algorithm => [algorithm.name, algorithm] as const)

const verify = async (chain: readonly Buffer[], ...args: readonly string[]) => {
  const [leaf = Buffer.alloc(0), ...issuers] = chain
  const trusted = await bench.file(encodePemChain('CERTIFICATE', issuers.slice(-1)))
  const untrusted = await bench.file(encodePemChain('CERTIFICATE', issuers))
  const path = await bench.file(encodePem('CERTIFICATE', leaf))
  const options = ['-x509_strict', '-check_ss_sig', '-attime', attime, '-CAfile', trusted, '-untrusted', untrusted]
  return tryOpenssl('verify', ...options, ...args, path)
}

const show = async (der: Buffer) => {
  const { text } = await openssl('x509', '-inform', 'DER', '-in', await bench.file(der), '-noout', '-text')
  return text
}

const issue = (over: Partial<TbsInput>, publicKeySpki = issuing.keys.publicKeySpki) =>
  issueCertificate(leafInput(issuing, publicKeySpki, over), issuing.key)

test.each(rows)('openssl verifies a whole %s hierarchy strictly', async (_, { spec, signature }) => {
  const ownRoot = await makeRoot(spec)
  const ownIssuing = await makeIssuing(ownRoot, spec)
  const { publicKeySpki } = await generateKeyPair(spec)
  const leaf = await issueCertificate(leafInput(ownIssuing, publicKeySpki), ownIssuing.key)
  const chain = [leaf, ownIssuing.certificate.der, ownRoot.certificate.der]
  expect(await verify(chain, '-purpose', 'sslserver', '-verify_hostname', 'www.example.test')).toMatchObject({
    code: 0,
  })
  expect((await verify(chain, '-verify_hostname', 'other.test')).code).not.toBe(0)
  const parsed = parseCertificate(leaf)
  expect(parsed.signatureAlgorithm).toBe(signature.name)
  expect(parsed.keyAlgorithm?.spec).toEqual(spec)
  expect(parsed.publicKeySpki.equals(publicKeySpki)).toBe(true)
})

test('openssl reads from a server certificate what went in', async () => {
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  const text = await show(await issue({ serialNumber: 'f0'.repeat(16) }, publicKeySpki))
  for (const line of [
    'Version: 3 (0x2)',
    'f0:f0:f0:f0:f0:f0:f0:f0:f0:f0:f0:f0:f0:f0:f0:f0',
    'Not Before: Jan 31 10:14:30 2031 GMT',
    'Not After : Jan 31 10:15:29 2032 GMT',
    'X509v3 Basic Constraints: critical\n                CA:FALSE',
    'X509v3 Key Usage: critical\n                Digital Signature, Key Encipherment\n',
    'X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n',
    'DNS:www.example.test, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1',
    'Full Name:\n                  URI:http://pki.example.test/crl/1.crl',
    'OCSP - URI:http://pki.example.test/ocsp/1',
    'CA Issuers - URI:http://pki.example.test/ca/1.cer',
  ])
    expect(text).toContain(line)
})

test('the CAs say what they may', async () => {
  expect(await show(root.certificate.der)).toContain('CA:TRUE\n')
  const text = await show(issuing.certificate.der)
  expect(text).toContain('CA:TRUE, pathlen:0')
  expect(text).toContain('X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign')
})

test.each([
  ['CLIENT', ['clientAuth'], 'sslclient'],
  ['PERSON', ['clientAuth', 'emailProtection'], 'smimesign'],
  ['DEVICE', ['clientAuth', 'ipsecIKE'], 'sslclient'],
  ['CODE_SIGNING', ['codeSigning'], 'any'],
  ['CMP_SIGNER', ['cmcRA'], 'any'],
  ['SCEP_SIGNER', [], 'any'],
])('a %s certificate has the extended key usages %j and serves for %s', async (name, usages, purpose) => {
  const email = [{ type: 'EMAIL', value: 'ann@example.test' }] as const
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  const sans = getTemplate(name).sanAllowed.includes('EMAIL') ? email : []
  const der = await issue({ template: getTemplate(name), sans }, publicKeySpki)
  expect(parseCertificate(der)).toMatchObject({ extendedKeyUsages: usages, sans })
  const chain = [der, issuing.certificate.der, root.certificate.der]
  expect(await verify(chain, '-purpose', purpose)).toMatchObject({ code: 0 })
})

test('the OCSP signer has no-check, a custom template its policies', async () => {
  const signer = await issue({ template: internalTemplates.OCSP_SIGNER, sans: [] })
  expect(await show(signer)).toMatch(/OCSP Signing[^]*OCSP No Check/)
  const template = mergeTemplates([{ name: 'X', policyOids: ['1.3.6.1.4.1.99999.1'] }]).at(-1)
  expect(await show(await issue({ ...(template && { template }), sans: [] }))).toContain('Policy: 1.3.6.1.4.1.99999.1')
})

test('an empty subject makes the alternative names critical', async () => {
  const der = await issue({ subjectDer: nameDer({}) })
  expect(await show(der)).toContain('X509v3 Subject Alternative Name: critical')
  expect(await verify([der, issuing.certificate.der, root.certificate.der])).toMatchObject({ code: 0 })
  expect(parseCertificate(der)).toMatchObject({ subjectDn: '', subjectCommonName: null })
})

test('our description is that of node and openssl', async () => {
  const der = await issue({ serialNumber: '00ab0c' })
  const x509 = new X509Certificate(der)
  const parsed = parseCertificate(der)
  expect(parsed).toMatchObject({
    serialNumber: x509.serialNumber.toLowerCase().replace(/^0+/, ''),
    subjectDn: 'CN=www.example.test,C=DE',
    subjectCommonName: 'www.example.test',
    issuerDn: 'CN=Test Issuing CA,O=Žluť & Söhne,C=DE',
    issuerCommonName: 'Test Issuing CA',
    validNotBefore: new Date(x509.validFrom),
    validNotAfter: new Date(x509.validTo),
    cryptoAlgorithm: 'EC',
    keySize: null,
    namedCurve: 'SECP256R1',
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['serverAuth'],
    crlDistributionPoints: ['http://pki.example.test/crl/1.crl'],
    ocspUrls: ['http://pki.example.test/ocsp/1'],
    isCa: false,
    pathLength: null,
    fingerprint: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
    selfSigned: false,
  })
  expect(parsed.sans.map(({ value }) => value)).toEqual(['www.example.test', '192.0.2.1', '2001:db8::1'])
  expect(root.certificate).toMatchObject({
    selfSigned: true,
    isCa: true,
    pathLength: null,
    keyUsages: ['keyCertSign', 'cRLSign'],
  })
  expect(parsed.aki?.equals(issuing.certificate.ski ?? Buffer.alloc(0))).toBe(true)
})

test('certificates of openssl, also of other algorithms, are described', async () => {
  const key = await bench.newPath()
  const self = ['-nodes', '-keyout', key, '-subj', '/DC=test/CN=Old', '-days', '3', '-outform', 'DER']
  const rsa = await openssl('req', '-x509', '-newkey', 'rsa:1024', '-sha1', ...self)
  expect(parseCertificate(rsa.output)).toMatchObject({
    subjectDn: 'CN=Old,DC=test',
    cryptoAlgorithm: 'RSA',
    keySize: 1024,
    keyAlgorithm: null,
    signatureAlgorithm: 'SHA1_WITH_RSA',
    selfSigned: true,
    isCa: true,
  })
  const parameters = await bench.newPath()
  await openssl('genpkey', '-genparam', '-algorithm', 'DSA', '-pkeyopt', 'dsa_paramgen_bits:1024', '-out', parameters)
  const dsa = await openssl('req', '-x509', '-newkey', `dsa:${parameters}`, ...self)
  expect(parseCertificate(dsa.output)).toMatchObject({ cryptoAlgorithm: null, keySize: null, subjectCommonName: 'Old' })
})

test('PEM and bare base64 are described', () => {
  const { der, fingerprint } = root.certificate
  for (const text of [encodePem('CERTIFICATE', der), der.toString('base64')])
    expect(parseCertificatePem(text).fingerprint).toBe(fingerprint)
})

test('every truncation and every flipped octet ends with an answer or INVALID_CERTIFICATE', async () => {
  const der = await issue({})
  for (let index = 0; index < der.length; index++) {
    const changed = Buffer.from(der)
    changed[index] = (der[index] ?? 0) ^ 0xff
    try {
      parseCertificate(changed)
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_CERTIFICATE' })
    }
    expect(failureCode(() => parseCertificate(der.subarray(0, index)))).toBe('INVALID_CERTIFICATE')
  }
  expect(failureCode(() => parseCertificate(Buffer.concat([der, Buffer.of(0)])))).toBe('INVALID_CERTIFICATE')
})

test('a leaf cannot be made an issuer', async () => {
  const leaf = parseCertificate(await issue({}))
  expect(failureCode(() => issuerOf(leaf))).toBe('NOT_A_CA')
})

test('serial numbers are of 128 bits and differ', () => {
  const serials = Array.from({ length: 1000 }, generateSerialNumber)
  expect(new Set(serials).size).toBe(1000)
  for (const serial of serials) expect(serial).toMatch(/^[1-9a-f][0-9a-f]{25,31}$/)
})

test('a validity behind 2049 is written as GeneralizedTime and read back', async () => {
  expect(root.certificate.validNotAfter).toEqual(new Date('2051-01-31T10:15:29Z'))
  expect(await show(root.certificate.der)).toContain('Not After : Jan 31 10:15:29 2051 GMT')
  expect(validity('TEN_YEARS', now, 0).notAfter < root.certificate.validNotAfter).toBe(true)
})
