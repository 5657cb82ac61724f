// What PKITS leaves open of path validation: several paths, loops, floods, trusted CAs below untrusted roots, forms of names.
import { beforeAll, describe, expect, test } from '@jest/globals'
import { bitString, context, derNull, implicit, integer, oid, sequence, setOf, tags, tlv } from '../../pki/asn1/der.ts'
import {
  authorityKeyIdentifier,
  basicConstraints,
  extension,
  keyUsage,
  subjectKeyIdentifier,
} from '../../pki/certificate/extensions.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import type { PathCertificate } from '../../pki/path/path-certificate.ts'
import { leastWork } from '../support/stretches.ts'
import { caOf, judge, keyOf, later, listExtension, named, now, read, saidOf } from './path-parties.ts'

const isCa = basicConstraints(true, null)
const id = (text: string): Buffer => Buffer.from(text)
const pathOf = (verdict: ReturnType<typeof judge>): string[] => verdict.path.map(({ subjectDn }) => subjectDn)

let root: PathCertificate
beforeAll(async () => {
  root = await caOf(['Root', 1], ['Root', 1])
})

describe('of several paths', () => {
  test('the one that is whole is found, whichever key of a name comes first', async () => {
    const wrong = await caOf(['CA', 3], ['Root', 1])
    const right = await caOf(['CA', 2], ['Root', 1])
    const leaf = await read({ signer: keyOf(2) })
    expect(pathOf(judge(leaf, [root, wrong, right]))).toEqual(['CN=Leaf', 'CN=CA', 'CN=Root'])
    expect(saidOf(judge(leaf, [root, wrong]))).toBe('The signature of CN=Leaf by CN=CA is wrong.')
  })

  test('the one that holds is found: of cross certificates one has expired, one is too long, one revoked', async () => {
    const expired = await caOf(['CA', 2], ['Root', 1], { notAfter: later(-0.5) })
    const short = await caOf(['Middle', 4], ['Root', 1], { extensions: [basicConstraints(true, 0)] })
    const long = await caOf(['CA', 2], ['Middle', 4])
    const revoked = await caOf(['CA', 2], ['Root', 1])
    const good = await caOf(['CA', 2], ['Root', 1])
    const leaf = await read({ signer: keyOf(2) })
    const standingOf = (one: PathCertificate) =>
      one === revoked
        ? ({ status: 'REVOKED', reason: 'CA_COMPROMISE', date: now } as const)
        : ({ status: 'UNKNOWN' } as const)
    const others = [root, expired, short, long, revoked]
    expect(judge(leaf, [...others, good], { standingOf }).path).toEqual([leaf, good, root])
    expect(saidOf(judge(leaf, [root, expired]))).toBe(
      `The certificate of CN=CA expired at ${later(-0.5).toISOString().slice(0, 19)}Z.`,
    )
    expect(saidOf(judge(leaf, [root, short, long]))).toMatch(/path length/)
    expect(saidOf(judge(leaf, [root, revoked], { standingOf }))).toBe(
      `The certificate of CN=CA was revoked at ${now.toISOString().slice(0, 19)}Z (CA_COMPROMISE).`,
    )
  })

  test('the one up to the root is told, and a trusted CA needs none above it', async () => {
    const ca = await caOf(['CA', 2], ['Root', 1])
    const leaf = await read({ signer: keyOf(2) })
    const anchors = new Set([root.fingerprint, ca.fingerprint])
    expect(judge(leaf, [root, ca], { anchors }).path).toEqual([leaf, ca, root])
    expect(judge(leaf, [ca], { anchors }).path).toEqual([leaf, ca])
    const expiredRoot = await caOf(['Root', 1], ['Root', 1], { notAfter: later(-0.5) })
    expect(judge(leaf, [expiredRoot, ca], { anchors }).path).toEqual([leaf, ca])
    expect(judge(ca, [root, ca], { anchors }).path).toEqual([ca, root])
    expect(judge(root, [root]).path).toEqual([root])
  })

  test('a trusted CA that is revoked is not to be trusted, by whoever may know', async () => {
    const ca = await caOf(['CA', 2], ['Root', 1])
    const leaf = await read({ signer: keyOf(2) })
    const anchors = new Set([root.fingerprint, ca.fingerprint])
    const byIssuer = (one: PathCertificate, issuer: PathCertificate | null) =>
      one === ca && issuer === root
        ? ({ status: 'REVOKED', reason: 'CERTIFICATE_HOLD', date: now } as const)
        : ({ status: 'UNKNOWN' } as const)
    expect(saidOf(judge(leaf, [root, ca], { anchors, standingOf: byIssuer }))).toMatch(
      /^The certificate of CN=CA is on hold/,
    )
    const byRow = (one: PathCertificate) => byIssuer(one, one === ca ? root : null)
    expect(saidOf(judge(leaf, [ca], { anchors, standingOf: byRow }))).toMatch(/^The certificate of CN=CA is on hold/)
  })
})

describe('a path is not valid', () => {
  test('by a signature of SHA-1, a key that may not sign, an anchor that has expired', async () => {
    const noSigner = await caOf(['CA', 2], ['Root', 1], { extensions: [isCa, keyUsage(['cRLSign'])] })
    const leaf = await read({ signer: keyOf(2) })
    expect(saidOf(judge(leaf, [root, noSigner]))).toMatch(/keyCertSign/)
    const expired = await caOf(['CA', 2], ['CA', 2], { notAfter: later(-0.1) })
    expect(saidOf(judge(leaf, [expired]))).toMatch(/expired/)
    const weak = await read({ signer: keyOf(2), isWeak: true })
    expect(saidOf(judge(weak, [await caOf(['CA', 2], ['CA', 2])]))).toMatch(/SHA-1, which can be forged/)
    const weakRoot = await caOf(['CA', 2], ['CA', 2], { isWeak: true })
    expect(saidOf(judge(leaf, [weakRoot]))).toBe('valid')
  })

  test('by more certificates than are looked at, which is what is told', async () => {
    const places = Array.from({ length: 12 }, (_, place) => place)
    const cas = await Promise.all(
      places.map(place => caOf([`L${place}`, 20 + place], place === 0 ? ['Root', 1] : [`L${place - 1}`, 19 + place])),
    )
    const below = (place: number) => read({ issuer: named(`L${place}`), signer: keyOf(20 + place) })
    expect(saidOf(judge(await below(9), [root, ...cas]))).toBe('valid')
    const why = 'The path of CN=Leaf has more than the 12 certificates that are looked at.'
    expect(saidOf(judge(await below(10), [root, ...cas]))).toBe(why)
    expect(saidOf(judge(await below(11), [root, ...cas]))).toBe(why)
  })

  test('by a critical extension that is unknown, in any certificate of it', async () => {
    const odd = extension('1.3.6.1.4.1.99999.1', derNull, true)
    const ca = await caOf(['CA', 2], ['Root', 1], { extensions: [isCa, odd] })
    const harmless = extension('1.3.6.1.4.1.99999.1', derNull)
    const plain = await caOf(['CA', 2], ['Root', 1], { extensions: [isCa, harmless] })
    const leaf = await read({ signer: keyOf(2), extensions: [harmless] })
    expect(saidOf(judge(leaf, [root, ca]))).toMatch(/critical extension 1\.3\.6\.1\.4\.1\.99999\.1/)
    expect(saidOf(judge(leaf, [root, plain]))).toBe('valid')
    expect(saidOf(judge(await read({ signer: keyOf(2), extensions: [odd] }), [root, plain]))).toMatch(
      /of CN=Leaf .* critical/,
    )
  })
})

const nameConstraints = (permitted: readonly Buffer[], excluded: readonly Buffer[] = []): Buffer => {
  const subtrees = (tag: number, bases: readonly Buffer[]) =>
    bases.length > 0 ? [tlv(0xa0 | tag, ...bases.map(base => sequence(base)))] : []
  return listExtension('2.5.29.30', [...subtrees(0, permitted), ...subtrees(1, excluded)])
}
const san = (...names: readonly Buffer[]): Buffer => listExtension('2.5.29.17', names, false)
const text = (tag: number) => (value: string) => implicit(tag, Buffer.from(value))
const [email, dns, uri] = [text(1), text(2), text(6)]
const ip = (...octets: number[]) => implicit(7, Buffer.from(octets))
const other = (value: string) =>
  tlv(0xa0, oid('1.3.6.1.4.1.311.20.2.3'), context(0, tlv(tags.utf8String, Buffer.from(value))))
const directory = (...texts: string[]) => context(4, named(...texts))

describe('names', () => {
  const verdictOn = async (constraints: Buffer, names: Buffer, subject = named('Leaf')): Promise<boolean> => {
    const ca = await caOf(['CA', 2], ['Root', 1], { extensions: [isCa, constraints] })
    const verdict = judge(await read({ subject, signer: keyOf(2), extensions: [names] }), [root, ca])
    if (!verdict.valid) expect(verdict.reason).toMatch(/does not allow|malformed/)
    return verdict.valid
  }
  const within = (base: Buffer, name: Buffer) => verdictOn(nameConstraints([base]), san(name))
  const outside = (base: Buffer, name: Buffer) => verdictOn(nameConstraints([], [base]), san(name))

  test.each<readonly [Buffer, Buffer, boolean]>([
    [dns('example.org'), dns('example.org'), true],
    [dns('example.org'), dns('WWW.Example.ORG'), true],
    [dns('example.org'), dns('notexample.org'), false],
    [dns('.example.org'), dns('www.example.org'), true],
    [dns('.example.org'), dns('example.org'), false],
    [dns('example.org'), dns('*.example.org'), true],
    [dns('www.example.org'), dns('*.example.org'), false],
    [dns(''), dns('www.example.org'), true],
    [dns('example.org'), dns('www.example.org.'), true],
    [email('example.org'), email('jane@example.org'), true],
    [email('example.org'), email('jane@www.example.org'), false],
    [email('.example.org'), email('jane@www.example.org'), true],
    [email('.example.org'), email('jane@example.org'), false],
    [email('jane@example.org'), email('jane@EXAMPLE.org'), true],
    [email('jane@example.org'), email('john@example.org'), false],
    [email('example.org'), email('"a@evil.org"@example.org'), true],
    [email('evil.org'), email('"a@evil.org"@example.org'), false],
    [email('example.org'), email('example.org'), false],
    [uri('example.org'), uri('https://example.org/path'), true],
    [uri('example.org'), uri('https://user@example.org:8443/?a@evil.org'), true],
    [uri('example.org'), uri('https://www.example.org'), false],
    [uri('.example.org'), uri('https://www.example.org'), true],
    [uri('example.org'), uri('https://evil.org/@example.org'), false],
    [uri('example.org'), uri('https://evil.org#@example.org'), false],
    [uri('example.org'), uri('https://evil.org\\@example.org'), false],
    [uri(''), uri('https://192.0.2.1/'), false],
    [uri(''), uri('https://[2001:db8::1]/'), false],
    [uri(''), uri('urn:example:org'), false],
    [ip(192, 0, 2, 0, 255, 255, 255, 0), ip(192, 0, 2, 77), true],
    [ip(192, 0, 2, 0, 255, 255, 255, 0), ip(192, 0, 3, 77), false],
    [ip(192, 0, 2, 0, 255, 255, 255, 0), ip(...Array.from({ length: 16 }, () => 0)), false],
    [ip(...Array.from({ length: 32 }, () => 0)), ip(...Array.from({ length: 16 }, () => 7)), true],
    [ip(192, 0, 2), ip(192, 0, 2, 1), false],
    [directory('Leaf'), directory('leaf', 'below'), true],
    [directory('Leaf', 'below'), directory('Leaf'), false],
    [other('a'), other('a'), false],
  ])('%# within what is permitted', async (base, name, expected) => {
    expect(await within(base, name)).toBe(expected)
  })

  test.each<readonly [Buffer, Buffer, boolean]>([
    [dns('evil.org'), dns('www.evil.org'), false],
    [dns('evil.org'), dns('www.evil.org.'), false],
    [dns('evil.org'), dns('good.org'), true],
    [dns('www.evil.org'), dns('*.evil.org'), false],
    [dns('a.www.evil.org'), dns('*.evil.org'), true],
    [email('evil.org'), email('jane@EVIL.org'), false],
    [email('evil.org'), email('jane@good.org'), true],
    [uri('evil.org'), uri('https://evil.org./'), false],
    [uri('evil.org'), uri('urn:unreadable'), false],
    [ip(192, 0, 2, 0, 255, 255, 255, 0), ip(192, 0, 2, 77), false],
    [ip(192, 0, 2, 0, 255, 255, 255, 0), ip(192, 0, 3, 77), true],
    [directory('evil'), directory(' EVIL ', 'below'), false],
    [other('a'), other('b'), false],
    [other('a'), dns('good.org'), true],
  ])('%# outside of what is excluded', async (base, name, expected) => {
    expect(await outside(base, name)).toBe(expected)
  })

  test('of a form that nothing constrains are free', async () => {
    expect(await within(dns('example.org'), email('jane@evil.org'))).toBe(true)
    expect(await within(dns('example.org'), other('a'))).toBe(true)
  })

  test('in the subject are constrained as well: the name itself and its addresses', async () => {
    const address = sequence(
      setOf(sequence(oid('1.2.840.113549.1.9.1'), tlv(tags.ia5String, Buffer.from('jane@evil.org')))),
    )
    expect(await verdictOn(nameConstraints([email('example.org')]), san(dns('a.org')), address)).toBe(false)
    expect(await verdictOn(nameConstraints([directory('Leaf')]), san(dns('a.org')), named('Other'))).toBe(false)
    expect(await verdictOn(nameConstraints([directory('Leaf')]), san(dns('a.org')), named('LEAF  ', 'x'))).toBe(true)
  })

  test('bounds of a subtree, and forms of nothing, are refused', async () => {
    const bounded = listExtension('2.5.29.30', [context(0, sequence(dns('a.org'), implicit(0, Buffer.of(1))))])
    expect(await verdictOn(bounded, san(dns('a.org')))).toBe(false)
    expect(await verdictOn(listExtension('2.5.29.30', [integer(1)]), san(dns('a.org')))).toBe(false)
  })

  test('are constrained by each CA above, also by the trusted one', async () => {
    const anchor = await caOf(['Root', 1], ['Root', 1], { extensions: [isCa, nameConstraints([], [dns('evil.org')])] })
    const ca = await caOf(['CA', 2], ['Root', 1], { extensions: [isCa, nameConstraints([dns('org')])] })
    const on = async (name: string) =>
      judge(await read({ signer: keyOf(2), extensions: [san(dns(name))] }), [anchor, ca]).valid
    expect([await on('good.org'), await on('a.evil.org'), await on('good.com')]).toEqual([true, false, false])
  })
})

describe('what is hostile takes little time', () => {
  const timed = (work: () => ReturnType<typeof judge>): string => {
    let said = ''
    expect(leastWork(() => (said = saidOf(work())), 1000)).toBeLessThan(1000)
    return said
  }

  test('a loop, and CAs that all signed each other', async () => {
    const [one, two] = [await caOf(['A', 2], ['B', 3]), await caOf(['B', 3], ['A', 2])]
    const leaf = await read({ issuer: named('A'), signer: keyOf(2) })
    expect(timed(() => judge(leaf, [root, one, two]))).toBe(
      'The issuer of CN=B, CN=A, stands below it: a circle is not trusted.',
    )
    const keys = Array.from({ length: 8 }, (_, place) => place + 10)
    const mesh = await Promise.all(
      keys.flatMap(key => keys.map(signer => caOf([`M${key}`, key], [`M${signer}`, signer]))),
    )
    const below = await read({ issuer: named('M10'), signer: keyOf(10) })
    expect(timed(() => judge(below, [root, ...mesh]))).toMatch(/not trusted|not known|too many/)
  })

  test('thousands of CAs of one name, the right one named by its key', async () => {
    const ski = subjectKeyIdentifier(id('right'))
    const right = await caOf(['CA', 2], ['Root', 1], { extensions: [isCa, ski] })
    const wrong = await caOf(['CA', 3], ['Root', 1], { extensions: [isCa, subjectKeyIdentifier(id('wrong'))] })
    const flood = Array.from({ length: 20_000 }, (_, place) => ({ ...wrong, fingerprint: `wrong ${place}` }))
    const leaf = await read({ signer: keyOf(2), extensions: [authorityKeyIdentifier(id('right'))] })
    expect(timed(() => judge(leaf, [root, ...flood, right]))).toBe('valid')
    const nameless = await read({ signer: keyOf(2) })
    expect(timed(() => judge(nameless, [root, ...flood, right]))).toMatch(/more signatures than|is wrong/)
  })

  test('keys that take long: an exponent as long as its modulus, a modulus of thousands of digits', async () => {
    const rsa = (bits: number, exponentOctets: number): Buffer => {
      const number = (octets: number) =>
        Buffer.concat([Buffer.of(0, 0xff), Buffer.alloc(octets - 2, 0x55), Buffer.of(0x55)])
      const key = sequence(tlv(tags.integer, number(bits / 8)), tlv(tags.integer, number(exponentOctets)))
      return sequence(sequence(oid('1.2.840.113549.1.1.1'), derNull), bitString(key))
    }
    const leaf = await read({ signer: keyOf(2) })
    // Under such keys openssl would be asked for a signature by RSA.
    const identifier = readDer(sequence(oid('1.2.840.113549.1.1.11'), derNull))
    const signed = { ...leaf.signed, algorithmIdentifier: identifier, algorithmOid: '1.2.840.113549.1.1.11' }
    for (const publicKeySpki of [rsa(3072, 384), rsa(131_072, 3)]) {
      const ca = { ...(await caOf(['CA', 2], ['Root', 1])), publicKeySpki }
      const cas = Array.from({ length: 100 }, (_, place) => ({ ...ca, fingerprint: `slow ${place}` }))
      expect(timed(() => judge({ ...leaf, signed }, [root, ...cas]))).toMatch(/cannot be checked here/)
    }
  })

  test('thousands of names and of constraints', async () => {
    const bases = Array.from({ length: 3000 }, (_, place) => dns(`${place}.example.org`))
    const ca = await caOf(['CA', 2], ['Root', 1], { extensions: [isCa, nameConstraints([], bases)] })
    const names = Array.from({ length: 3000 }, (_, place) => dns(`${place}.example.com`))
    const leaf = await read({ signer: keyOf(2), extensions: [san(...names)] })
    expect(timed(() => judge(leaf, [root, ca]))).toBe(
      'There are more names and constraints of names than are compared.',
    )
    expect(timed(() => judge(leaf, [root, ca]))).not.toBe('valid')
  })

  test('thousands of policies in many paths', async () => {
    const policies = Array.from({ length: 3000 }, (_, place) => sequence(oid(`1.3.6.1.4.1.99999.${place}`)))
    const extensions = [
      isCa,
      listExtension('2.5.29.32', policies),
      listExtension('2.5.29.36', [implicit(0, Buffer.of(0))]),
    ]
    const tops = await Promise.all([3, 4, 5, 6].map(key => caOf([`T${key}`, key], ['Root', 1], { extensions })))
    const cas = await Promise.all([3, 4, 5, 6].map(key => caOf(['CA', 2], [`T${key}`, key], { extensions })))
    const leaf = await read({ signer: keyOf(2) })
    expect(timed(() => judge(leaf, [root, ...tops, ...cas]))).toMatch(/policies/)
    expect(timed(() => judge(leaf, [root, ...tops, ...cas]))).not.toBe('valid')
  })

  test('policies that double at each step', async () => {
    const policy = (place: number) => oid(`1.3.6.1.4.1.99999.${place}`)
    const policies = listExtension(
      '2.5.29.32',
      [1, 2].map(place => sequence(policy(place))),
    )
    const pairs = [1, 2].flatMap(from => [1, 2].map(to => sequence(policy(from), policy(to))))
    const extensions = [isCa, policies, listExtension('2.5.29.33', pairs)]
    const cas = await Promise.all(
      Array.from({ length: 9 }, (_, place) =>
        caOf([`P${place + 1}`, place + 20], [place ? `P${place}` : 'Root', place ? place + 19 : 1], { extensions }),
      ),
    )
    const leaf = await read({ issuer: named('P9'), signer: keyOf(28), extensions: [policies] })
    expect(timed(() => judge(leaf, [root, ...cas]))).toBe('valid')
  })
})
