// Certificates that no issuer may make are INVALID_CERTIFICATE, a block each; the blocks beside them are imported.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { context, integer, namedBits, octetString, oid, sequence, time, tlv } from '../../pki/asn1/der.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { signDer } from '../../pki/certificate/signed.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { encodePem } from '../../pki/pem.ts'
import { Workbench } from '../pki/openssl.ts'
import { newForeignKey, signForeign } from '../support/foreign-certificates.ts'
import { importPem, newHost, prepareImports, verifyPem, type ImportSetup } from '../support/importing.ts'
import { refusalOf } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let setup: ImportSetup

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  setup = await prepareImports(service, bench)
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

/** A rightly signed certificate whose members (version, serial, algorithm, issuer, validity, …) are changed. */
const craft = async (change: (members: Buffer[]) => void): Promise<string> => {
  const key = newForeignKey()
  const { der } = parseCertificatePem(await signForeign(key, newHost()))
  const members = readDer(der).children[0]?.children.map(({ raw }) => raw) ?? []
  change(members)
  return encodePem('CERTIFICATE', await signDer(sequence(...members), key))
}

const replaced = (index: number, value: Buffer) => (members: Buffer[]) => void (members[index] = value)

const withExtension =
  (...added: Buffer[]) =>
  (members: Buffer[]) => {
    const list = readDer(members[7] ?? Buffer.alloc(0)).children[0]?.children.map(({ raw }) => raw) ?? []
    members[7] = context(3, sequence(...list, ...added))
  }

const keyUsageOf = (content: Buffer) => sequence(oid('2.5.29.15'), octetString(tlv(0x03, content)))
const policies = sequence(oid('2.5.29.32'), octetString(sequence(sequence(oid('1.2.3.4')))))
const constraints = (pathLength: Buffer) =>
  sequence(oid('2.5.29.19'), octetString(sequence(Buffer.of(1, 1, 0xff), pathLength)))

/** Without the key usage and basic constraints that the template has. */
const bare = (members: Buffer[]) => void (members[7] = context(3, sequence()))
const then =
  (...changes: ((members: Buffer[]) => void)[]) =>
  (members: Buffer[]) => {
    for (const change of changes) change(members)
  }

const version = (...octets: number[]) => context(0, tlv(0x02, Buffer.from(octets)))

const day = (text: string) => time(new Date(`${text}T00:00:00Z`))

test.each<[string, (members: Buffer[]) => void]>([
  ['the serial number 0', replaced(1, integer(0))],
  ['a negative serial number', replaced(1, tlv(0x02, Buffer.of(0x80)))],
  ['version 4', replaced(0, version(3))],
  ['version 256', replaced(0, version(0, 255))],
  ['version 513', replaced(0, version(2, 0))],
  ['extensions in version 1', members => void members.shift()],
  ['extensions in version 2', replaced(0, version(1))],
  ['an end before the beginning', replaced(4, sequence(day('2031-01-02'), day('2031-01-01')))],
  ['a beginning in the year 0', replaced(4, sequence(tlv(0x18, Buffer.from('00000101000000Z')), day('2031-01-01')))],
  ['a key usage twice', withExtension(keyUsageOf(namedBits([0]).subarray(2)))],
  ['an extension twice that nobody reads', withExtension(policies, policies)],
  ['a negative path length', then(bare, withExtension(constraints(tlv(0x02, Buffer.of(0xff)))))],
  [
    'a key usage of millions of bits',
    then(bare, withExtension(keyUsageOf(Buffer.alloc(2_000_000, 0xff).fill(0, 0, 1)))),
  ],
  ['a key usage of thousands of bits', then(bare, withExtension(keyUsageOf(Buffer.alloc(1000, 0xff).fill(0, 0, 1))))],
  ['more than 64 KiB', withExtension(sequence(oid('1.2.3.4'), octetString(Buffer.alloc(66_000))))],
])('%s', async (_, change) => {
  const { scene, leaf } = setup
  const flawed = await craft(change)
  expect(refusalOf(await importPem(scene, flawed))).toEqual([422, 'INVALID_CERTIFICATE'])
  const calm = (await leaf()).pem
  const told = await verifyPem(scene, calm + flawed)
  expect(told.body.results).toMatchObject([{ apiError: null }, { apiError: 'INVALID_CERTIFICATE' }])
  const { body } = await importPem(scene, calm + flawed)
  expect(body).toMatchObject({ total: 2, errors: [{ index: 1, apiError: 'INVALID_CERTIFICATE' }] })
  expect(body.importedCertificates).toHaveLength(1)
})

test('what is odd but legal is imported: an end at the beginning, an extension that nobody reads', async () => {
  const scene = await setup.sceneWith({ selfSignedAllowed: true })
  for (const change of [replaced(4, sequence(day('2031-01-01'), day('2031-01-01'))), withExtension(policies)]) {
    const { status, body } = await importPem(scene, await craft(change))
    expect([status, body.errors]).toEqual([201, []])
  }
})

test('60,000 CR between the lines of armour are read like any text', async () => {
  const hostile = `-----BEGIN CERTIFICATE-----${'\r'.repeat(60_000)}a-----END CERTIFICATE-----\n`
  expect(refusalOf(await importPem(setup.scene, hostile))).toEqual([422, 'INVALID_CERTIFICATE'])
  const { body } = await importPem(setup.scene, hostile + (await setup.leaf()).pem)
  expect(body).toMatchObject({ total: 2, errors: [{ index: 0, apiError: 'INVALID_CERTIFICATE' }] })
})
