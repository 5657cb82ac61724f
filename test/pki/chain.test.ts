// Who issued whom.
import { beforeAll, expect, test } from '@jest/globals'
import { type CertificateDescription, issueCertificate, parseCertificate } from '../../pki/certificate/certificate.ts'
import { isIssuedBy, namesIssuer } from '../../pki/certificate/chain.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { leafInput, makeIssuing, makeRoot } from './hierarchy.ts'

const p256 = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' } as const
let root: CertificateDescription
let issuing: CertificateDescription
let leaf: CertificateDescription
let otherRoot: CertificateDescription

beforeAll(async () => {
  const rootAuthority = await makeRoot(p256)
  const issuingAuthority = await makeIssuing(rootAuthority, p256)
  const { publicKeySpki } = await generateKeyPair(p256)
  leaf = parseCertificate(await issueCertificate(leafInput(issuingAuthority, publicKeySpki), issuingAuthority.key))
  root = rootAuthority.certificate
  issuing = issuingAuthority.certificate
  otherRoot = (await makeRoot(p256)).certificate
})

test('a certificate is issued by who is named in it and signed it', () => {
  expect(isIssuedBy(leaf, issuing)).toBe(true)
  expect(isIssuedBy(issuing, root)).toBe(true)
  expect(isIssuedBy(root, root)).toBe(true)
  expect(isIssuedBy(leaf, root)).toBe(false)
})

test('a root of the same name but another key has issued nothing', () => {
  expect(namesIssuer({ ...issuing, aki: null }, otherRoot)).toBe(true)
  expect(isIssuedBy({ ...issuing, aki: null }, otherRoot)).toBe(false)
  expect(namesIssuer(issuing, otherRoot)).toBe(false)
})
