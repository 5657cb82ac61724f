// CRLs of partitions and delta CRLs, published for a provider that asks for both; openssl judges them.
import type { Finding } from '../../doctor/check.ts'
import { authorityChecks } from '../../doctor/checks/authorities.ts'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { removeOldRecords } from '../../storage/old-records.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Crl } from '../../storage/rows/crl.ts'
import { CrlChange } from '../../storage/rows/crl-change.ts'
import { KeptRevocation } from '../../storage/rows/kept-revocation.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import * as lists from '../support/divided-crls.ts'
import { issueFor, refusalOf, setSetting, until, type Issued } from '../support/issuing.ts'
import { purger } from '../support/purging.ts'
import { readCrl } from '../support/revoking.ts'
import { startService, type Service } from '../support/service.ts'

const { ageLists, configure, ending, fetchList, listWhere, makeDueLists, partitionOf, revoke, verdictOn } = lists
const partitions = 3
const bench = new Workbench()
let service: Service
let divided: lists.Divided

beforeAll(async () => {
  service = await startService()
  divided = await lists.newDivided(service, bench, { crlPartitions: partitions, deltaCrlHours: 12 })
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const issue = (): Promise<Issued> => issueFor(divided.scene)
const names = ({ serialNumber }: Issued) => serialNumber.replace(/^0+(?=.)/, '')
const textOf = async ({ file }: lists.ReadList) => (await openssl('crl', '-in', file, '-noout', '-text')).text
const baseIn = (text: string): number => Number(/Delta CRL Indicator: critical\s*\n\s*(\w+)/.exec(text)?.[1])
const told =
  (leaf: Issued, reason = 'Superseded') =>
  ({ entries }: lists.ReadList) =>
    entries.get(names(leaf)) === reason
const all = [null, 1, 2, 3]
const numbers = async () =>
  new Map(await Promise.all(all.map(async one => [one, (await fetchList(divided, ending(one))).number] as const)))
const build = () => makeDueLists(divided)
/** Both lists of the partition of a certificate. */
const both = async (leaf: Issued) => {
  const partition = await partitionOf(divided, leaf)
  return [await fetchList(divided, ending(partition)), await fetchList(divided, ending(partition, true))] as const
}

test('certificates name a partition by their serial number and its delta, and all lists are there from the beginning', async () => {
  const leaf = await issue()
  const partition = 1 + (Number.parseInt(leaf.serialNumber.slice(-8), 16) % partitions)
  expect(await partitionOf(divided, leaf)).toBe(partition)
  const { text } = await openssl('x509', '-in', (await lists.chainFiles(divided, leaf)).leaf, '-noout', '-text')
  const url = `http://localhost/pki/crl/${divided.caId}-${partition}`
  expect(text).toMatch(new RegExp(`CRL Distribution Points:\\s*\\n[^]*URI:${url}\\.crl\\n`))
  expect(text).toMatch(new RegExp(`Freshest CRL:\\s*\\n[^]*URI:${url}-delta\\.crl\\n`))
  expect(text).not.toContain('Freshest CRL: critical')

  const [base, delta] = await both(leaf)
  const [baseText, deltaText] = [await textOf(base), await textOf(delta)]
  const scope = `X509v3 Issuing Distribution Point: critical\n                Full Name:\n                  URI:${url}.crl`
  for (const one of [baseText, deltaText]) expect(one).toContain(scope)
  expect(baseText).toContain(`URI:${url}-delta.crl`)
  expect(baseText).not.toContain('Delta CRL Indicator')
  expect(deltaText).not.toContain('Freshest CRL')
  // Made at once, they are of one number (RFC 5280 5.2.4).
  expect([delta.number, baseIn(deltaText)]).toEqual([base.number, base.number])
  const whole = await textOf(await fetchList(divided))
  expect([whole.includes('Issuing Distribution Point'), whole.includes('-delta.crl')]).toEqual([false, true])
  const seconds = (text: string) =>
    Date.parse(/Next Update: (.*)/.exec(text)?.[1] ?? '') - Date.parse(/Last Update: (.*)/.exec(text)?.[1] ?? '')
  expect([seconds(baseText), seconds(deltaText)]).toEqual([168 * 3_600_000, 12 * 3_600_000])
})

test('a revocation is told by the delta of its partition alone, and openssl refuses the certificate by it', async () => {
  const [leaf, other] = [await issue(), await issue()]
  const partition = await partitionOf(divided, leaf)
  const before = await numbers()
  await revoke(divided, leaf)
  const delta = await listWhere(divided, ending(partition, true), told(leaf))
  expect(await numbers()).toEqual(before)
  expect(delta.number).toBeGreaterThan(before.get(partition) ?? Infinity)
  expect(baseIn(await textOf(delta))).toBe(before.get(partition))
  const [base] = await both(leaf)
  expect(base.entries.has(names(leaf))).toBe(false)
  expect(await verdictOn(divided, leaf, [base])).toContain(': OK')
  expect(await verdictOn(divided, leaf, [base, delta])).toContain('certificate revoked')
  expect(await verdictOn(divided, other, await both(other))).toContain(': OK')
  const row = await until('it names the list', async () => {
    const found = await service.em().findOneOrFail(Certificate, leaf.id)
    return found.revocationCrlNumber !== null && found
  })
  expect(row.revocationCrlNumber).toBe(delta.number)
  // The list of another partition says nothing of it: openssl has none that is in scope.
  const [foreign = 1] = all.filter(one => one !== null && one !== partition)
  const wrong = [await fetchList(divided, ending(foreign)), await fetchList(divided, ending(foreign, true))]
  expect(await verdictOn(divided, leaf, wrong)).toMatch(/unable to get certificate CRL|different CRL scope/i)
  // The interface answers the complete list that the certificate names.
  const { body } = await divided.scene.owner.get(`/api/v1/certificates/${leaf.id}/crl`)
  expect(body.crl).toBe(base.der.toString('base64'))
})

test('a hold that a complete list tells is released by a delta, also for who has kept an older list', async () => {
  const leaf = await issue()
  const partition = await partitionOf(divided, leaf)
  const [older] = await both(leaf)
  await revoke(divided, leaf, 'CERTIFICATE_HOLD')
  await listWhere(divided, ending(partition, true), told(leaf, 'Certificate Hold'))
  await ageLists(divided, partition)
  await build()
  const [base, beside] = await both(leaf)
  expect([base, beside].map(told(leaf, 'Certificate Hold'))).toEqual([true, true])
  // Who has kept the older list uses the delta as well: it begins at the oldest list that is valid.
  expect([beside.number, baseIn(await textOf(beside))]).toEqual([base.number, older.number])
  expect(await verdictOn(divided, leaf, [base])).toContain('certificate revoked')
  await revoke(divided, leaf, 'REMOVE_FROM_CRL')
  const delta = await listWhere(divided, ending(partition, true), told(leaf, 'Remove From CRL'))
  for (const kept of [base, older]) expect(await verdictOn(divided, leaf, [kept, delta])).toContain(': OK')
  await revoke(divided, leaf, 'KEY_COMPROMISE')
  const last = await listWhere(divided, ending(partition, true), told(leaf, 'Key Compromise'))
  for (const kept of [base, older])
    expect(await verdictOn(divided, leaf, [kept, last])).toContain('certificate revoked')
  expect(last.entries.size).toBe(last.length)
})

test('what expires before a complete list tells it stands in each delta until one does', async () => {
  const leaf = await issue()
  const partition = await partitionOf(divided, leaf)
  await revoke(divided, leaf)
  await listWhere(divided, ending(partition, true), told(leaf))
  await service.em().nativeUpdate(Certificate, { id: leaf.id }, { validNotAfter: new Date() })
  const next = await issueIn(partition)
  await revoke(divided, next)
  expect((await listWhere(divided, ending(partition, true), told(next))).entries.has(names(leaf))).toBe(true)
  const complete = async () => {
    await ageLists(divided, partition)
    await build()
    return (await fetchList(divided, ending(partition))).entries.has(names(leaf))
  }
  const expired = (seconds: number) =>
    service.em().nativeUpdate(Certificate, { id: leaf.id }, { validNotAfter: new Date(Date.now() - 1000 * seconds) })
  // After the list before was made, so one names it; then before that one.
  await expired(50)
  expect(await complete()).toBe(true)
  await expired(200)
  expect(await complete()).toBe(false)
})

/** A certificate of this partition. */
const issueIn = async (partition: number | null): Promise<Issued> => {
  const leaf = await issue()
  return (await partitionOf(divided, leaf)) === partition ? leaf : issueIn(partition)
}

test('a deleted certificate stays in the lists of its partition, and in the list of all, until both were made after its end', async () => {
  const leaf = await issue()
  const partition = await partitionOf(divided, leaf)
  const calls = purger(await service.user({ GLOBAL: ['ADMIN'] }))
  await revoke(divided, leaf)
  await listWhere(divided, ending(partition, true), told(leaf))
  await calls.archived('CERTIFICATE', leaf.id)
  // As if no list had told it.
  await service.em().nativeUpdate(Certificate, { id: leaf.id }, { crlPending: true, revocationCrlNumber: null })
  await service.em().nativeDelete(CrlChange, { serialNumber: leaf.serialNumber })
  await calls.removed('CERTIFICATE', leaf.id)
  await build()
  expect(told(leaf)(await fetchList(divided, ending(partition, true)))).toBe(true)
  const mine = { serialNumber: leaf.serialNumber }
  expect(await service.em().findOneOrFail(KeptRevocation, mine)).toMatchObject({
    crlPartition: partition,
    crlPending: false,
  })
  for (const one of all) await ageLists(divided, one)
  await build()
  const seen = await Promise.all(all.map(async one => told(leaf)(await fetchList(divided, ending(one)))))
  expect(seen).toEqual(all.map(one => one === null || one === partition))

  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)
  await service.em().nativeUpdate(KeptRevocation, mine, { validNotAfter: daysAgo(100) })
  const isKept = async () => {
    await removeOldRecords(service.em(), new Date(), 100)
    return (await service.em().count(KeptRevocation, mine)) === 1
  }
  for (const list of [0, partition ?? 0]) {
    const made = { caId: divided.caId, partition: list, delta: false }
    const { number, thisUpdate } = await service.em().findOneOrFail(Crl, made, { orderBy: { number: 'desc' } })
    await service.em().nativeUpdate(Crl, { ...made, number }, { thisUpdate: daysAgo(150) })
    expect(await isKept()).toBe(true)
    await service.em().nativeUpdate(Crl, { ...made, number }, { thisUpdate })
  }
  expect(await isKept()).toBe(false)
})

test('numbers grow in all lists of the CA, also where a build breaks off', async () => {
  const leaf = await issue()
  const partition = await partitionOf(divided, leaf)
  const before = [...(await numbers()).values()]
  await service.em().nativeUpdate(Certificate, { id: leaf.id }, { revocationDate: new Date(), crlPending: true })
  const broken = service.services.orm.em.fork().transactional(async em => {
    await em.execute(`update crl set next_update = now() + interval '1 second', this_update = now() - interval '1 day'
      where ca_id = '${divided.caId}'`)
    await lists.issueWithin(divided, em)
    throw new Error('the process dies')
  })
  await expect(broken).rejects.toThrow('the process dies')
  expect([...(await numbers()).values()]).toEqual(before)
  expect((await service.em().findOneOrFail(Certificate, leaf.id)).crlPending).toBe(true)
  await Promise.all([build(), build(), build()])
  expect(told(leaf, null as never)(await fetchList(divided, ending(partition, true)))).toBe(true)
  const events = await service
    .em()
    .find(AuditEvent, { eventType: 'CRL_ISSUED', objectId: divided.caId }, { orderBy: { id: 'asc' } })
  const made = events.map(({ eventDescription }) => Number(/CRL (\d+) of/.exec(eventDescription)?.[1]))
  expect(made.length).toBeGreaterThan(10)
  expect(made).toEqual(made.toSorted((one, other) => one - other))
})

describe('the setting changes', () => {
  test('lists that certificates name stay made, and new certificates name others', async () => {
    const own = await lists.newDivided(service, bench, { crlPartitions: 2, deltaCrlHours: 12 })
    const leaf = await issueFor(own.scene)
    const partition = await partitionOf(own, leaf)
    await configure(own, { crlPartitions: null, deltaCrlHours: null })
    const plain = await issueFor(own.scene)
    expect(await partitionOf(own, plain)).toBeNull()
    const { text } = await openssl('x509', '-in', (await lists.chainFiles(own, plain)).leaf, '-noout', '-text')
    expect([text.includes('Freshest CRL'), text.includes(`/${own.caId}.crl`)]).toEqual([false, true])
    // Without deltas a complete list tells it, and one beside it keeps the promise of older certificates.
    await revoke(own, leaf)
    const base = await listWhere(own, ending(partition), told(leaf))
    const delta = await fetchList(own, ending(partition, true))
    expect([delta.number, told(leaf)(delta)]).toEqual([base.number, true])
    expect(await verdictOn(own, leaf, [base, delta])).toContain('certificate revoked')
    await revoke(own, plain)
    const whole = await listWhere(own, '', told(plain))
    expect(told(leaf)(whole)).toBe(true)
    expect(await verdictOn(own, plain, [whole])).toContain('certificate revoked')
  })

  test('certificates name a partition or a delta once it is made, not before', async () => {
    const own = await lists.newDivided(service, bench, {})
    const first = await issueFor(own.scene)
    await configure(own, { crlPartitions: 256, deltaCrlHours: 1 })
    expect(await partitionOf(own, await issueFor(own.scene))).toBeNull()
    await makeDueLists(own)
    expect(await service.em().count(Crl, { caId: own.caId, delta: false, partition: { $gt: 0 } })).toBe(256)
    const third = await issueFor(own.scene)
    expect(await partitionOf(own, third)).toBeGreaterThan(0)
    await revoke(own, first)
    const delta = await listWhere(own, '-delta', told(first))
    expect(await verdictOn(own, first, [await fetchList(own), delta])).toContain('certificate revoked')
    expect(await service.em().count(CrlChange, { caId: own.caId })).toBe(1)
  })

  test('of the base URL: one list is that of all certificates of its partition, by whichever URL', async () => {
    const own = await lists.newDivided(service, bench, { crlPartitions: 2, deltaCrlHours: 12 })
    const leaf = await issueFor(own.scene)
    const partition = await partitionOf(own, leaf)
    await setSetting(service, 'pki.base-url', 'http://other.example/pki')
    try {
      await makeDueLists(own)
      const moved = await until('a certificate names the new place', async () => {
        const one = await issueFor(own.scene)
        return (await partitionOf(own, one)) === partition && one
      })
      await revoke(own, moved)
      const delta = await listWhere(own, ending(partition, true), told(moved))
      const base = await fetchList(own, ending(partition))
      const text = await textOf(delta)
      for (const host of ['localhost', 'other.example'])
        expect(text).toContain(`URI:http://${host}/pki/crl/${own.caId}-`)
      expect(await verdictOn(own, moved, [base, delta])).toContain('certificate revoked')
      expect(await verdictOn(own, leaf, [base, delta])).toContain(': OK')
    } finally {
      await setSetting(service, 'pki.base-url', null)
    }
  })
})

test.each(['-0', '-4', '-999', '-01', '-1000', '-delta-1', '-1-delta-delta', '-DELTA', '-x', '-1-'])(
  'there is no list with the ending %s',
  async named => {
    const reply = await service.anonymous.get(`/pki/crl/${divided.caId}${named}.crl`)
    expect(reply.status).toBe(404)
    expect((await service.anonymous.get(`/pki/ca/${divided.caId}${named}.cer`)).status).toBe(404)
  },
)

test('the doctor looks at each list', async () => {
  const check = authorityChecks(service.services.orm).find(({ name }) => name === 'CRLs')
  const look = async () => (await check?.look()) as Finding
  expect((await look()).verdict).toBe('OK')
  const made = { caId: divided.caId, partition: 2, delta: true }
  const { number, nextUpdate } = await service.em().findOneOrFail(Crl, made, { orderBy: { number: 'desc' } })
  await service.em().nativeUpdate(Crl, { ...made, number }, { nextUpdate: new Date(Date.now() - 1000) })
  const { verdict, text } = await look()
  await service.em().nativeUpdate(Crl, { ...made, number }, { nextUpdate })
  expect([verdict, /the CRL of partition 2 of CN=.* \(delta\) ended on/.test(text)]).toEqual(['FAILED', true])
})

test('a list that many ask for at once is answered to each, and asked for again by its tag', async () => {
  const path = `${service.url}/pki/crl/${divided.caId}-1-delta.crl`
  const answers = await Promise.all(Array.from({ length: 20 }, async () => fetch(path)))
  const bodies = await Promise.all(answers.map(async answer => Buffer.from(await answer.arrayBuffer())))
  expect(new Set(bodies.map(body => body.toString('base64'))).size).toBe(1)
  expect((await readCrl(bench, bodies[0] ?? Buffer.alloc(0))).number).toBeGreaterThan(0)
  const [{ headers }] = answers as [Response]
  expect(headers.get('Cache-Control')).toBe('public, max-age=10, must-revalidate')
  expect(headers.get('Content-Type')).toBe('application/pkix-crl')
  const asked = { headers: { 'If-None-Match': headers.get('ETag') ?? '', 'Cache-Control': 'max-age=0' } }
  expect((await fetch(path, asked)).status).toBe(304)
  expect(refusalOf(await service.anonymous.get(`/pki/crl/${divided.caId}-9.crl`))).toEqual([404, 'CA_NOT_FOUND'])
})
