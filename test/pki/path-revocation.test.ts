// Revocation by lists (RFC 5280 6.3) where PKITS is not at hand: complete ones, deltas, scopes, who may sign; and mutations of
// lists and certificates, which are read or refused, and never believed.
import { beforeAll, describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { Failure } from '../../domain/failure.ts'
import { context, derNull, derTrue, implicit, oid, sequence } from '../../pki/asn1/der.ts'
import {
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoints,
  extension,
  keyUsage,
} from '../../pki/certificate/extensions.ts'
import { findEntries, findEntry } from '../../pki/crl-entries.ts'
import { readCrl } from '../../pki/crl-reader.ts'
import {
  type PathCertificate,
  readPathCertificate,
  serialInteger,
  serialText,
} from '../../pki/path/path-certificate.ts'
import { leastWork } from '../support/stretches.ts'
import { mutate, mutateValue, mutation, valueMutation } from './mutations.ts'
import { caOf, crlOf, judge, keyOf, later, type Listed, listExtension, named, read, saidOf } from './path-parties.ts'

const serial = '7f0001'
let root: PathCertificate
let ca: PathCertificate
let leaf: PathCertificate
beforeAll(async () => {
  root = await caOf(['Root', 1], ['Root', 1])
  ca = await caOf(['CA', 2], ['Root', 1])
  leaf = await read({ signer: keyOf(2), serial })
})

const by = async (
  lists: readonly Listed[],
  over: { target?: PathCertificate; others?: readonly PathCertificate[] } = {},
) => {
  const crls = (await Promise.all(lists.map(crlOf))).map(readCrl)
  const rootList = readCrl(await crlOf({ issuer: named('Root'), signer: keyOf(1) }))
  const candidates = [root, ca, ...(over.others ?? [])]
  const strict = judge(over.target ?? leaf, candidates, { crls: [...crls, rootList], needsStatus: true })
  const loose = judge(over.target ?? leaf, candidates, { crls })
  const next = () => Promise.resolve()
  const asked = await Promise.all([...crls, rootList].map(crl => findEntries(crl, [leaf, ...candidates], next)))
  expect(saidOf(judge(over.target ?? leaf, candidates, { crls: asked, needsStatus: true }))).toBe(saidOf(strict))
  if (!strict.valid && !strict.reason.startsWith('It is not known')) expect(saidOf(loose)).toBe(strict.reason)
  else expect(loose.valid).toBe(true)
  return saidOf(strict)
}
const known = /^valid$/
const unknown = /^It is not known whether the certificate of CN=Leaf is revoked\.$/
const revoked = /was revoked at .* \(KEY_COMPROMISE\)/
const hold = /is on hold since/
const point = (...members: Buffer[]) => listExtension('2.5.29.28', members)
const noKey = 4
const yesterday = { thisUpdate: later(-1) }
const today = { thisUpdate: later(-0.1) }

describe('by lists', () => {
  test.each<readonly [string, readonly Listed[], RegExp]>([
    ['there is none', [], unknown],
    ['it stands on none', [{}], known],
    ['another stands there', [{ entries: [['7f0002', 1]] }], known],
    [
      'it stands there',
      [
        {
          entries: [
            ['7f0002', 4],
            [serial, 1],
          ],
        },
      ],
      revoked,
    ],
    ['it is on hold', [{ entries: [[serial, 6]] }], hold],
    ['the list is out of date', [{ entries: [[serial, 1]], nextUpdate: later(-0.01) }], unknown],
    ['the list is of the future', [{ entries: [[serial, 1]], thisUpdate: later(0.01) }], unknown],
    ['the list is signed by another key', [{ entries: [[serial, 1]], signer: keyOf(noKey) }], unknown],
    ['the list is of another issuer', [{ entries: [[serial, 1]], issuer: named('Another') }], unknown],
    ['a later list has released it', [{ ...yesterday, entries: [[serial, 6]] }, today], known],
    ['a later list has revoked it', [yesterday, { ...today, entries: [[serial, 1]] }], revoked],
    ['the later list comes first, and has released it', [today, { ...yesterday, entries: [[serial, 6]] }], known],
    ['a delta alone', [{ entries: [[serial, 1]], number: 6, baseNumber: 5 }], unknown],
    ['a delta adds it', [{}, { entries: [[serial, 1]], number: 6, baseNumber: 5 }], revoked],
    ['a delta of a later list does not', [{}, { entries: [[serial, 1]], number: 7, baseNumber: 6 }], known],
    ['a delta releases it', [{ entries: [[serial, 6]] }, { entries: [[serial, 8]], number: 6, baseNumber: 5 }], known],
    ['an old delta does not', [{ entries: [[serial, 6]] }, { entries: [[serial, 8]], number: 4, baseNumber: 3 }], hold],
    [
      'a forged delta does not',
      [{ entries: [[serial, 6]] }, { entries: [[serial, 8]], number: 6, baseNumber: 5, signer: keyOf(noKey) }],
      hold,
    ],
    [
      'the list is of CAs only',
      [{ entries: [[serial, 1]], extensions: [point(implicit(2, Buffer.of(0xff)))] }],
      unknown,
    ],
    [
      'the list is of users only',
      [{ entries: [[serial, 1]], extensions: [point(implicit(1, Buffer.of(0xff)))] }],
      revoked,
    ],
    ['the list is of one reason', [{ extensions: [point(implicit(3, Buffer.of(6, 0x40)))] }], unknown],
    [
      'the list has an unknown extension',
      [{ entries: [[serial, 1]], extensions: [extension('1.2.3.4', derNull, true)] }],
      unknown,
    ],
    [
      'a delta by another key of the CA does not release it',
      [
        { entries: [[serial, 6]], extensions: [authorityKeyIdentifier(Buffer.of(1))] },
        { entries: [[serial, 8]], number: 6, baseNumber: 5, extensions: [authorityKeyIdentifier(Buffer.of(2))] },
      ],
      hold,
    ],
    ['an entry has an unknown extension', [{ entries: [[serial, 1, extension('1.2.3.4', derNull, true)]] }], unknown],
  ])('when %s', async (_, lists, expected) => {
    expect(await by(lists)).toMatch(expected)
  })

  test('of a CA whose key may not sign them, or of its other key that may', async () => {
    const usage = (...usages: Parameters<typeof keyUsage>[0]) => ({
      extensions: [basicConstraints(true, null), keyUsage(usages)],
    })
    const noSigner = await caOf(['CA', 2], ['Root', 1], usage('keyCertSign'))
    const crls = [readCrl(await crlOf({ entries: [[serial, 1]] }))]
    expect(saidOf(judge(leaf, [root, noSigner], { crls }))).toBe('valid')
    const signer = await caOf(['CA', 5], ['Root', 1], usage('cRLSign'))
    const bySigner = [readCrl(await crlOf({ entries: [[serial, 1]], signer: keyOf(5) }))]
    expect(saidOf(judge(leaf, [root, noSigner, signer], { crls: bySigner }))).toMatch(revoked)
    const impostor = await caOf(['CA', 5], ['Root', noKey], usage('cRLSign'))
    expect(saidOf(judge(leaf, [root, noSigner, impostor], { crls: bySigner }))).toBe('valid')
  })

  test('that cannot be checked any more make no path valid', async () => {
    const crls = [readCrl(await crlOf({ entries: [[serial, 1]] }))]
    const wrong = await caOf(['CA', 3], ['Root', 1])
    const flood = Array.from({ length: 48 }, (_, place) => ({ ...wrong, fingerprint: `wrong ${place}` }))
    const said = flood.map((_, place) => saidOf(judge(leaf, [root, ...flood.slice(0, place), ca], { crls })))
    expect(said).not.toContain('valid')
    expect(said[0]).toMatch(revoked)
  })

  test('of another who signs for the anchor of a path, not for that of another path', async () => {
    const other = await caOf(['Other Root', 6], ['Other Root', 6])
    const cas = [await caOf(['CA', 2], ['Root', 1]), await caOf(['CA', 2], ['Other Root', 6])]
    const signer = await caOf(['CA', 5], ['Other Root', 6])
    const crls = [readCrl(await crlOf({ signer: keyOf(5) }))]
    const anchors = new Set([root, other].map(({ fingerprint }) => fingerprint))
    const standingOf = ({ isCa }: PathCertificate) => ({ status: isCa ? 'GOOD' : 'UNKNOWN' }) as const
    const over = { crls, anchors, standingOf, needsStatus: true }
    for (const order of [cas, cas.toReversed()])
      expect(saidOf(judge(leaf, [root, other, ...order, signer], over))).toBe('valid')
    expect(saidOf(judge(leaf, [root, other, ...cas.slice(0, 1), signer], over))).toMatch(unknown)
  })

  test('of a distribution point, when the certificate names it', async () => {
    const url = 'http://pki.example.test/1.crl'
    const target = await read({ signer: keyOf(2), serial, extensions: [crlDistributionPoints([url])] })
    const named1 = (text: string) => point(implicitName(text))
    const entries = [[serial, 1]] as const
    expect(await by([{ entries, extensions: [named1(url)] }], { target })).toMatch(revoked)
    expect(await by([{ entries, extensions: [named1('http://other.example.test')] }], { target })).toMatch(unknown)
    expect(await by([{ entries }], { target })).toMatch(revoked)
  })
})

test.each(['00', '01', '7f', '0080', '00ff12', '80', 'ff7f', 'a1b2'])(
  'the serial number %s is looked for in a list by its own octets',
  hex => {
    const content = Buffer.from(hex, 'hex')
    expect(serialInteger(serialText(content)).toString('hex')).toBe(`020${content.length}${hex}`)
  },
)

test('a long list is looked through once, in steps', async () => {
  const entries = Array.from({ length: 2000 }, (_, place) => [(0x7f0000 + place).toString(16), 1] as const)
  const crl = readCrl(await crlOf({ entries }))
  const asked = [leaf, { ...leaf, serialNumber: '6f' }, { ...leaf, issuer: 'another' }]
  let steps = 0
  const found = await findEntries(crl, asked, async () => void steps++)
  expect(steps).toBeGreaterThan(3)
  const answers = asked.map(one => findEntry({ ...found, entries: null }, one))
  expect(answers).toEqual([expect.objectContaining({ reason: 'KEY_COMPROMISE' }), null, null])
  expect(answers).toEqual(asked.map(one => findEntry(crl, one)))
  expect(await findEntries(found, asked.slice(0, 1), () => Promise.reject(new Error('Asked again')))).toBe(found)
})

describe('that take long', () => {
  /** DistributionPointName of so many names. */
  const namesFrom = (first: number) => {
    const names = Array.from({ length: 15_000 }, (_, place) =>
      implicit(6, Buffer.of((first + place) >> 8, place & 0xff)),
    )
    return context(0, context(0, ...names))
  }

  test('thousands of names of distribution points, none of which a list has', async () => {
    const target = await read({
      signer: keyOf(2),
      serial,
      extensions: [listExtension('2.5.29.31', [sequence(namesFrom(0))])],
    })
    const list = await crlOf({ entries: [[serial, 1]], extensions: [point(namesFrom(0x8000))] })
    const crls = Array.from({ length: 8 }, () => readCrl(list))
    const standingOf = ({ isCa }: PathCertificate) => ({ status: isCa ? 'GOOD' : 'UNKNOWN' }) as const
    const work = (): void => {
      expect(saidOf(judge(target, [root, ca], { crls, standingOf, needsStatus: true }))).toMatch(unknown)
    }
    expect(leastWork(work, 1000)).toBeLessThan(1000)
  })
})

const implicitName = (url: string): Buffer => {
  const uri = implicit(6, Buffer.from(url))
  return Buffer.concat([Buffer.of(0xa0, uri.length + 2, 0xa0, uri.length), uri])
}

describe('mutations', () => {
  const runs = { numRuns: 3000 }
  const policies = listExtension('2.5.29.32', [sequence(oid('1.2.3.4'))])
  const constraints = listExtension('2.5.29.30', [
    Buffer.concat([Buffer.of(0xa0, 9), sequence(implicit(2, Buffer.from('a.org')))]),
  ])
  const rich = (): Promise<PathCertificate> =>
    caOf(['CA', 2], ['Root', 1], {
      extensions: [
        basicConstraints(true, 3),
        keyUsage(['keyCertSign', 'cRLSign']),
        policies,
        constraints,
        listExtension('2.5.29.33', [sequence(oid('1.2.3.4'), oid('1.2.3.5'))]),
        listExtension('2.5.29.36', [implicit(0, Buffer.of(2))]),
        crlDistributionPoints(['http://pki.example.test/1.crl']),
      ],
    })

  /** Reads, or refuses with the one code. */
  const reading = <T>(code: string, readIt: () => T): T | null => {
    try {
      return readIt()
    } catch (error) {
      if (error instanceof Failure && error.code === code) return null
      throw error
    }
  }

  const mutants = (der: Buffer, tried: (octets: Buffer) => void): void => {
    fc.assert(
      fc.property(mutation, changes => {
        tried(changes.reduce(mutate, der))
      }),
      runs,
    )
    fc.assert(
      fc.property(valueMutation, change => {
        tried(mutateValue(der, change))
      }),
      runs,
    )
  }

  test('of certificates are refused or judged, and none is valid', async () => {
    const original = await rich()
    const below = await read({ signer: keyOf(2), extensions: [policies] })
    expect(saidOf(judge(below, [root, original]))).toBe('valid')
    const outcomes = new Set<string>()
    mutants(original.der, octets => {
      const found = reading('INVALID_CERTIFICATE', () => readPathCertificate(octets))
      outcomes.add(found ? 'judged' : 'refused')
      if (!found) return
      const isSame = found.signed.contents.raw.equals(original.signed.contents.raw)
      // As an anchor nothing guards it but its own form.
      judge(below, [found])
      for (const verdict of [judge(found, [root]), judge(below, [root, found])]) {
        if (!isSame) expect(verdict.valid).toBe(false)
      }
    })
    expect([...outcomes].toSorted()).toEqual(['judged', 'refused'])
  }, 120_000)

  test('of lists are refused or passed over, and none releases', async () => {
    const holds: Listed = {
      entries: [
        ['7f0002', 1],
        [serial, 6],
      ],
      extensions: [point(implicitName('http://pki.example.test/1.crl'), implicit(4, derTrue.subarray(2)))],
    }
    const der = await crlOf(holds)
    const target = await read({
      signer: keyOf(2),
      serial,
      extensions: [crlDistributionPoints(['http://pki.example.test/1.crl'])],
    })
    const judged = (octets: Buffer): string => {
      const crl = reading('VALIDATION_FAILED', () => readCrl(octets))
      if (!crl) return 'refused'
      return saidOf(judge(target, [ca], { crls: [crl], needsStatus: true }))
    }
    expect(judged(der)).toMatch(hold)
    const outcomes = new Set<string>()
    mutants(der, octets => {
      const said = judged(octets)
      outcomes.add(said)
      expect(said).not.toBe('valid')
    })
    expect(outcomes.size).toBeGreaterThan(2)
  }, 120_000)

  test('of entries are walked through without harm', async () => {
    const der = await crlOf({
      entries: Array.from({ length: 40 }, (_, place) => [(0x7f0000 + place).toString(16), place % 7] as const),
    })
    mutants(der, octets => {
      const work = (): void => {
        const crl = reading('VALIDATION_FAILED', () => readCrl(octets))
        if (crl) tryFind(crl)
      }
      expect(leastWork(work, 20)).toBeLessThan(20)
    })
  }, 120_000)

  const tryFind = (crl: ReturnType<typeof readCrl>): void => {
    try {
      findEntry(crl, { serialNumber: serial, issuer: crl.issuer })
    } catch (error) {
      expect((error as Error).name).toBe('DerError')
    }
  }
})
