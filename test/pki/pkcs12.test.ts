// PKCS#12 files as openssl reads them (contract 10.3).
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { issueCertificate } from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { DerError, type DerValue, readDer } from '../../pki/asn1/der-reader.ts'
import { tags } from '../../pki/asn1/der.ts'
import { decodePem } from '../../pki/pem.ts'
import { createPkcs12, generatePassword } from '../../pki/pkcs12.ts'
import { type Authority, leafInput, makeIssuing, makeRoot } from './hierarchy.ts'
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

test.each(rows)('openssl finds the %s key, the leaf and the chain in the file', async (_, { spec }) => {
  const keys = await generateKeyPair(spec)
  const leaf = await issueCertificate(leafInput(issuing, keys.publicKeySpki), issuing.key)
  const certificates = [leaf, issuing.certificate.der, root.certificate.der]
  const password = generatePassword()
  const pfx = await createPkcs12({
    privateKeyPkcs8: keys.privateKeyPkcs8,
    certificates,
    friendlyName: 'Žofie',
    password,
  })
  const path = await bench.file(pfx)
  const open = ['pkcs12', '-in', path, '-passin', `pass:${password}`, '-noenc']
  const all = await openssl(...open)
  const blocks = decodePem(all.output.toString())
  const found = blocks.filter(({ label }) => label === 'CERTIFICATE').map(({ der }) => der)
  expect(found.map(der => new X509Certificate(der).fingerprint256)).toEqual(
    certificates.map(der => new X509Certificate(der).fingerprint256),
  )
  expect(blocks.find(({ label }) => label === 'PRIVATE KEY')?.der.equals(keys.privateKeyPkcs8)).toBe(true)
  const client = decodePem((await openssl(...open, '-clcerts', '-nokeys')).output.toString())
  expect(client.map(({ der }) => der.equals(leaf))).toEqual([true])
})

test('the file is made with the algorithms of the contract', async () => {
  const keys = await generateKeyPair(p256)
  const leaf = await issueCertificate(leafInput(issuing, keys.publicKeySpki), issuing.key)
  const input = { privateKeyPkcs8: keys.privateKeyPkcs8, certificates: [leaf], friendlyName: 'x', password: 'secret' }
  const path = await bench.file(await createPkcs12(input))
  const { text } = await openssl('pkcs12', '-in', path, '-passin', 'pass:secret', '-info', '-noout')
  expect(text).toContain('MAC: sha256')
  expect(text.match(/PBES2, PBKDF2, AES-256-CBC, Iteration 100000, PRF hmacWithSHA256/g)).toHaveLength(2)
  const wrong = await tryOpenssl('pkcs12', '-in', path, '-passin', 'pass:wrong', '-noout')
  expect(wrong.code).not.toBe(0)
})

// Long OCTET STRINGs hold DER again or what is encrypted; short ones are salts, digests and names.
const inside = (value: DerValue): DerValue[] => {
  if ((value.tag & 0x20) !== 0) return value.children
  if (value.tag !== tags.octetString || value.content.length < 100) return []
  try {
    return [readDer(value.content, tags.sequence)]
  } catch (error) {
    if (error instanceof DerError) return []
    throw error
  }
}

const everyValue = (value: DerValue): DerValue[] => [value, ...inside(value).flatMap(everyValue)]

test('the file is DER: strings in one piece, attributes in their order', async () => {
  const keys = await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 4096 })
  const leaf = await issueCertificate(leafInput(issuing, keys.publicKeySpki), issuing.key)
  const certificates = [leaf, issuing.certificate.der, root.certificate.der]
  for (const friendlyName of ['x', 'a longer name 😀']) {
    const input = { privateKeyPkcs8: keys.privateKeyPkcs8, certificates, friendlyName, password: 'secret' }
    const values = everyValue(readDer(await createPkcs12(input)))
    expect(values.filter(({ tag }) => tag === (tags.octetString | 0x20))).toEqual([])
    expect(values.filter(({ tag }) => tag === 0x80)).toHaveLength(1)
    const names = values.find(value => value.tag === tags.set && value.children.length === 2)
    const attributes = names?.children.map(({ raw }) => raw) ?? []
    expect(attributes).toHaveLength(2)
    expect(attributes).toEqual(attributes.toSorted((one, other) => Buffer.compare(one, other)))
    expect(Buffer.concat(attributes).includes(Buffer.from(friendlyName, 'utf16le').swap16())).toBe(true)
  }
})

test('passwords are 20 letters and digits, and every one of the 62 appears', () => {
  const passwords = Array.from({ length: 500 }, generatePassword)
  for (const password of passwords) expect(password).toMatch(/^[A-Za-z0-9]{20}$/)
  expect(new Set(passwords).size).toBe(500)
  expect(new Set(passwords.join('')).size).toBe(62)
})
