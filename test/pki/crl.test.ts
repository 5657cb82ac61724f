// Revocation lists as openssl reads and verifies them.
import { afterAll, describe, expect, test } from '@jest/globals'
import type { RevocationReason } from '../../domain/enums.ts'
import { reasonCodes } from '../../domain/revocation-rules.ts'
import { sequence } from '../../pki/asn1/der.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { issuerOf } from '../../pki/certificate/certificate.ts'
import { signDer, signParts } from '../../pki/certificate/signed.ts'
import { encodePem } from '../../pki/pem.ts'
import { encodeEntries, signCrl, type CrlEntry } from '../../pki/crl.ts'
import { readCrl } from '../support/revoking.ts'
import { makeRoot, now } from './hierarchy.ts'
import { judgedByOpenssl, openssl, tryOpenssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

const nextUpdate = new Date(now.getTime() + 3_600_000)
const listOf = async (root: Awaited<ReturnType<typeof makeRoot>>, entries: readonly CrlEntry[], number = 1) =>
  signCrl(
    {
      issuer: issuerOf(root.certificate),
      number,
      thisUpdate: now,
      nextUpdate,
      entries: entries.length > 0 ? [encodeEntries(entries)] : [],
    },
    root.key,
  )
const entry = (serialNumber: string, reason: RevocationReason | null = null): CrlEntry => ({
  serialNumber,
  revocationDate: now,
  reason,
})

describe('a list', () => {
  test.each(judgedByOpenssl.map(({ name, spec }) => [name, spec] as const))(
    'signed with %s is verified',
    async (_, spec) => {
      const root = await makeRoot(spec)
      const file = await bench.file(await listOf(root, [entry('7f01'), entry('ff')]))
      const ca = await bench.file(encodePem('CERTIFICATE', root.certificate.der))
      const { text } = await openssl('crl', '-inform', 'DER', '-in', file, '-noout', '-verify', '-CAfile', ca)
      expect(text).toContain('verify OK')
    },
  )

  test('that was changed is not verified', async () => {
    const root = await makeRoot(judgedByOpenssl[3]?.spec as never)
    const der = await listOf(root, [entry('7f01')])
    der[der.indexOf(Buffer.from('02027f01', 'hex')) + 3] = 0x02
    const ca = await bench.file(encodePem('CERTIFICATE', root.certificate.der))
    const { text } = await tryOpenssl(
      'crl',
      '-inform',
      'DER',
      '-in',
      await bench.file(der),
      '-noout',
      '-verify',
      '-CAfile',
      ca,
    )
    expect(text).toContain('verify failure')
  })

  test('tells each reason but UNSPECIFIED, number, key and dates', async () => {
    const root = await makeRoot(judgedByOpenssl[3]?.spec as never)
    const reasons = Object.keys(reasonCodes) as RevocationReason[]
    const entries = reasons.map((reason, index) => entry((index + 1).toString(16), reason))
    const { der, entries: read, number } = await readCrl(bench, await listOf(root, entries, 0x1234567890))
    expect(number).toBe(0x1234567890)
    expect([...read.values()]).toEqual([
      null,
      'Key Compromise',
      'CA Compromise',
      'Affiliation Changed',
      'Superseded',
      'Cessation Of Operation',
      'Certificate Hold',
      'Remove From CRL',
      'Privilege Withdrawn',
      'AA Compromise',
    ])
    const { text } = await openssl('crl', '-inform', 'DER', '-in', await bench.file(der), '-noout', '-text')
    expect(text).toContain('Version 2 (0x1)')
    expect(text).toContain('Last Update: Jan 31 10:15:30 2031 GMT')
    expect(text).toContain('Next Update: Jan 31 11:15:30 2031 GMT')
    const identifier = issuerOf(root.certificate).keyIdentifier.toString('hex').toUpperCase().match(/../g)?.join(':')
    expect(text).toContain(identifier)
  })

  test('of a partition and a delta tell their scope and base as openssl reads them', async () => {
    const root = await makeRoot(judgedByOpenssl[3]?.spec as never)
    const dates = { thisUpdate: now, nextUpdate, issuer: issuerOf(root.certificate) }
    const distributionPoints = ['http://pki.example.test/crl/1-3.crl', 'http://old.example.test/crl/1-3.crl']
    const freshestCrl = ['http://pki.example.test/crl/1-3-delta.crl']
    const textOf = async (more: object, number: number) => {
      const entries = [encodeEntries([entry('7f01', 'REMOVE_FROM_CRL')])]
      const der = await signCrl({ ...dates, number, entries, distributionPoints, freshestCrl, ...more }, root.key)
      return (await openssl('crl', '-inform', 'DER', '-in', await bench.file(der), '-noout', '-text')).text
    }
    const [base, delta] = [await textOf({}, 0x1234), await textOf({ baseNumber: 0x1234 }, 0x1235)]
    const scope = `Issuing Distribution Point: critical\n                Full Name:\n                  URI:${distributionPoints[0]}\n                  URI:${distributionPoints[1]}\n`
    for (const text of [base, delta]) expect(text).toContain(scope)
    expect(base).toMatch(/X509v3 Freshest CRL: \n[^]*URI:http:\/\/pki\.example\.test\/crl\/1-3-delta\.crl/)
    expect(base).not.toContain('Delta CRL Indicator')
    expect(delta).toMatch(/X509v3 Delta CRL Indicator: critical\s*\n\s*4660\n/)
    expect(delta).not.toContain('Freshest CRL')
  })

  test.each([0, 1, 127, 128, 255, 256, 65_535, 65_536, 16_777_216])(
    'signed in parts of %d octets is what signing the whole makes',
    async length => {
      const { key } = await makeRoot({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED25519' })
      const parts = [Buffer.alloc(length, 1), Buffer.alloc(3, 2)]
      const made = await signParts(parts, key)
      expect(made.equals(await signDer(sequence(...parts), key))).toBe(true)
    },
  )

  test('of nothing has no list of entries (RFC 5280 5.1.2.6)', async () => {
    const der = await listOf(await makeRoot(judgedByOpenssl[3]?.spec as never), [])
    const [tbs] = readDer(der).children
    expect(tbs?.children.map(({ tag }) => tag)).toEqual([0x02, 0x30, 0x30, 0x17, 0x17, 0xa0])
  })

  test('of many thousand entries is read whole', async () => {
    const root = await makeRoot(judgedByOpenssl[3]?.spec as never)
    const serials = Array.from({ length: 20_000 }, (_, index) => (index + 0x80).toString(16))
    const { entries } = await readCrl(
      bench,
      await listOf(
        root,
        serials.map(serial => entry(serial, 'SUPERSEDED')),
      ),
    )
    expect([...entries.keys()]).toEqual(serials)
  })
})
