// `openssl verify` beside our own judgement: random hierarchies, whole and broken, and every algorithm of signatures.
import { readFile } from 'node:fs/promises'
import { afterAll, describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { derNull, implicit, oid, sequence, tlv } from '../../pki/asn1/der.ts'
import {
  authorityKeyIdentifier,
  basicConstraints,
  extension,
  keyUsage,
  subjectKeyIdentifier,
} from '../../pki/certificate/extensions.ts'
import { encodePem, encodePemChain, findObject } from '../../pki/pem.ts'
import { type PathCertificate, readPathCertificate } from '../../pki/path/path-certificate.ts'
import { attime, caOf, judge, keyOf, later, listExtension, named, read, saidOf } from './path-parties.ts'
import { openssl, tryOpenssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

const dns = (value: string) => implicit(2, Buffer.from(value))
const email = (value: string) => implicit(1, Buffer.from(value))
const uri = (value: string) => implicit(6, Buffer.from(value))
const ip = (octets: readonly number[]) => implicit(7, Buffer.from(octets))
const directory = (...texts: string[]) => tlv(0xa4, named(...texts))

// A few names that are often within, and sometimes without.
const bases = [
  dns('example.org'),
  dns('a.example.org'),
  email('example.org'),
  email('.example.org'),
  email('jane@example.org'),
  uri('www.example.org'),
  uri('.example.org'),
  ip([10, 0, 0, 0, 255, 0, 0, 0]),
  ip([10, 1, 0, 0, 255, 255, 0, 0]),
  directory('Leaf'),
  directory('CA'),
]
const names = [
  dns('example.org'),
  dns('b.a.example.org'),
  dns('example.com'),
  email('jane@example.org'),
  email('jane@www.example.org'),
  uri('https://www.example.org/x'),
  uri('https://example.org'),
  ip([10, 1, 2, 3]),
  ip([11, 1, 2, 3]),
  directory('Leaf', 'below'),
]

const seldom = (ratio: number) => fc.nat(ratio).map(drawn => drawn === 0)
const few = <T>(values: readonly T[], maxLength: number) => fc.subarray([...values], { maxLength })

const caShape = fc.record({
  isCa: seldom(12).map(broken => !broken),
  pathLength: fc.option(fc.nat(3), { freq: 2, nil: null }),
  usages: fc.constantFrom(null, null, ['keyCertSign'], ['keyCertSign', 'cRLSign'], ['cRLSign']),
  hasExpired: seldom(20),
  isForged: seldom(20),
  isOdd: seldom(20),
  /** Named as its issuer is, with another key. */
  isSelfIssued: seldom(4),
  permitted: few(bases, 2),
  excluded: seldom(3).chain(some => few(bases, some ? 1 : 0)),
  isConstrained: seldom(2),
})
const hierarchy = fc.record({
  cas: fc.array(caShape, { minLength: 0, maxLength: 4 }),
  names: few(names, 3),
  isForged: seldom(20),
  hasExpired: seldom(20),
})
type CaShape = Parameters<Parameters<typeof caShape.map>[0]>[0]
type Hierarchy = Parameters<Parameters<typeof hierarchy.map>[0]>[0]

const odd = extension('1.3.6.1.4.1.99999.1', derNull, true)
const subtrees = (tag: number, found: readonly Buffer[]) =>
  found.length > 0 ? [tlv(tag, ...found.map(base => sequence(base)))] : []

const extensionsOf = ({ isCa, pathLength, usages, isOdd, permitted, excluded, isConstrained }: CaShape): Buffer[] => [
  basicConstraints(isCa, isCa ? pathLength : null),
  ...(usages ? [keyUsage(usages as Parameters<typeof keyUsage>[0])] : []),
  ...(isOdd ? [odd] : []),
  ...(isConstrained && permitted.length + excluded.length > 0
    ? [listExtension('2.5.29.30', [...subtrees(0xa0, permitted), ...subtrees(0xa1, excluded)])]
    : []),
]

const stranger = 90

/** openssl tries one issuer of a name alone: the key identifiers lead it. */
const identifiers = (key: number, issuer: number): Buffer[] => [
  subjectKeyIdentifier(Buffer.of(key)),
  authorityKeyIdentifier(Buffer.of(issuer)),
]

/** Root, CAs and leaf, in this order. */
const make = async ({ cas, names: sans, isForged, hasExpired }: Hierarchy): Promise<PathCertificate[]> => {
  const chain = [
    await caOf(['CA', 40], ['CA', 40], { extensions: [basicConstraints(true, null), ...identifiers(40, 40)] }),
  ]
  let [issuer, key] = ['CA', 40]
  for (const [place, shape] of cas.entries()) {
    const subject = shape.isSelfIssued ? issuer : `CA ${place}`
    const by = shape.isForged ? stranger : key
    const over = {
      extensions: [...extensionsOf(shape), ...identifiers(41 + place, key)],
      ...(shape.hasExpired ? { notAfter: later(-0.5) } : {}),
    }
    chain.push(await caOf([subject, 41 + place], [issuer, by], over))
    issuer = subject
    key = 41 + place
  }
  const extensions = [...(sans.length > 0 ? [listExtension('2.5.29.17', sans, false)] : []), ...identifiers(80, key)]
  const signer = keyOf(isForged ? stranger : key)
  const over = hasExpired ? { notAfter: later(-0.5) } : {}
  chain.push(await read({ issuer: named(issuer), signer, key: keyOf(80), extensions, ...over }))
  return chain
}

const verdictOf = async (chain: readonly PathCertificate[]): Promise<{ valid: boolean; text: string }> => {
  const [root, ...below] = chain.map(({ der }) => der)
  const leaf = below.pop()
  const files = await Promise.all([
    bench.file(encodePem('CERTIFICATE', root ?? Buffer.alloc(0))),
    bench.file(encodePemChain('CERTIFICATE', below)),
    bench.file(encodePem('CERTIFICATE', leaf ?? Buffer.alloc(0))),
  ])
  const untrusted = below.length > 0 ? ['-untrusted', files[1]] : []
  const { code, text } = await tryOpenssl('verify', '-attime', attime, '-CAfile', files[0], ...untrusted, files[2])
  return { valid: code === 0, text }
}

test('random hierarchies are valid here when openssl says so', async () => {
  const counts = { valid: 0, invalid: 0 }
  const property = fc.asyncProperty(hierarchy, async shape => {
    const chain = await make(shape)
    const ours = judge(chain.at(-1) as PathCertificate, chain.slice(0, -1))
    const theirs = await verdictOf(chain)
    counts[ours.valid ? 'valid' : 'invalid']++
    expect(`${ours.valid} (${saidOf(ours)} / ${theirs.text})`).toMatch(new RegExp(`^${theirs.valid} `))
  })
  await fc.assert(property, { numRuns: 300 })
  expect(Math.min(counts.valid, counts.invalid)).toBeGreaterThan(60)
}, 300_000)

describe('signatures', () => {
  const pss = (digest: string, mask = digest) => [
    '-sigopt',
    'rsa_padding_mode:pss',
    '-sigopt',
    'rsa_pss_saltlen:-1',
    '-sigopt',
    `rsa_mgf1_md:${mask}`,
    `-${digest}`,
  ]
  const ec = (curve: string) => ['ec', '-pkeyopt', `ec_paramgen_curve:${curve}`]

  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['RSA', ['rsa:2048'], ['-sha256']],
    ['RSA with SHA-512', ['rsa:2048'], ['-sha512']],
    ['RSA with SHA3-256', ['rsa:2048'], ['-sha3-256']],
    ['RSASSA-PSS with SHA-256', ['rsa:2048'], pss('sha256')],
    ['RSASSA-PSS with SHA-384', ['rsa:2048'], pss('sha384')],
    ['RSASSA-PSS with another mask', ['rsa:2048'], pss('sha512', 'sha256')],
    ['P-256', ec('P-256'), ['-sha256']],
    ['P-384', ec('P-384'), ['-sha384']],
    ['P-521', ec('P-521'), ['-sha512']],
    ['Ed25519', ['ed25519'], []],
    ['Ed448', ['ed448'], []],
  ])('of %s are checked', async (_, key, digest) => {
    const [rootFile, rootKey, leafFile, leafKey] = await Promise.all([1, 2, 3, 4].map(() => bench.newPath()))
    const from = ['req', '-x509', '-nodes', '-days', '30', '-newkey']
    const ca = ['-addext', 'basicConstraints=critical,CA:TRUE']
    const [rootPath = '', keyPath = '', leafPath = '', otherPath = ''] = [rootFile, rootKey, leafFile, leafKey]
    await openssl(...from, ...key, ...digest, '-subj', '/CN=Root', ...ca, '-keyout', keyPath, '-out', rootPath)
    const by = ['-CA', rootPath, '-CAkey', keyPath]
    const leafKind = ['-addext', 'basicConstraints=critical,CA:FALSE']
    await openssl(
      ...from,
      ...ec('P-256'),
      ...digest,
      '-subj',
      '/CN=Leaf',
      ...by,
      ...leafKind,
      '-keyout',
      otherPath,
      '-out',
      leafPath,
    )
    const derOf = async (path: string) => findObject('CERTIFICATE', await readFile(path, 'utf8')) ?? Buffer.alloc(0)
    const [root, leafDer] = [readPathCertificate(await derOf(rootPath)), await derOf(leafPath)]
    const at = { now: new Date() }
    expect(saidOf(judge(readPathCertificate(leafDer), [root], at))).toBe('valid')
    const changed = Buffer.from(leafDer)
    changed[changed.indexOf(oid('2.5.4.3')) + 7] = 0x61
    expect(saidOf(judge(readPathCertificate(changed), [root], at))).toMatch(/is wrong|is not known/)
    const end = Buffer.from(leafDer)
    end[end.length - 1] = (end.at(-1) ?? 0) ^ 1
    expect(saidOf(judge(readPathCertificate(end), [root], at))).toMatch(/is wrong/)
  })
})
