// Revocation lists as openssl reads and verifies them.
import { afterAll, describe, expect, test } from '@jest/globals'
import type { RevocationReason } from '../../domain/enums.ts'
import { reasonCodes } from '../../domain/revocation-rules.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { issuerOf } from '../../pki/certificate/certificate.ts'
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
