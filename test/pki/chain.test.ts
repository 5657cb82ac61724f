// Ordering certificates into a chain.
import { beforeAll, expect, test } from '@jest/globals'
import { type CertificateDescription, issueCertificate, parseCertificate } from '../../pki/certificate/certificate.ts'
import { buildChain, isIssuedBy, namesIssuer, orderChain } from '../../pki/certificate/chain.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { failureCode } from './failing.ts'
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

const names = (chain: readonly CertificateDescription[]) => chain.map(({ subjectCommonName }) => subjectCommonName)
const ordered = ['www.example.test', 'Test Issuing CA', 'Test Root CA']

test('a set in any order becomes leaf, issuing CA, root', () => {
  for (const set of [
    [leaf, issuing, root],
    [root, issuing, leaf],
    [issuing, root, leaf, issuing],
  ])
    expect(names(orderChain(set))).toEqual(ordered)
})

test('a root of the same name but another key is passed over', () => {
  expect(buildChain(leaf, [otherRoot, issuing, root]).at(-1)?.fingerprint).toBe(root.fingerprint)
  expect(namesIssuer({ ...issuing, aki: null }, otherRoot)).toBe(true)
  expect(isIssuedBy({ ...issuing, aki: null }, otherRoot)).toBe(false)
})

test('a self-signed certificate is its own chain', () => {
  expect(buildChain(root, [])).toEqual([root])
})

test('a missing issuer, two leaves or nothing is CHAIN_INCOMPLETE', () => {
  for (const set of [[leaf, root], [leaf, issuing], [leaf, issuing, otherRoot], [root, otherRoot], []])
    expect(failureCode(() => orderChain(set))).toBe('CHAIN_INCOMPLETE')
})
