// The rollover of a provider over the years: when its time has come, once, and with the lists and signers of both CAs.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { PlannedRollover } from '../../domain/rollover-rules.ts'
import { planRollover } from '../../authority/providers/rollover-plan.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Crl } from '../../storage/rows/crl.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { providerWorkflowId } from '../../workflows/ids.ts'
import { openFixture, run } from './fixture.ts'

const dayMs = 86_400_000
let now = new Date('2026-11-23T12:00:00Z')
const later = (days: number): Date => (now = new Date(now.getTime() + days * dayMs))

let fixture: Awaited<ReturnType<typeof openFixture>>
let id: string
beforeAll(async () => {
  fixture = await openFixture({ clock: () => now })
  ;({ id } = await fixture.em().findOneOrFail(CertificateProvider, { name: 'Built-in CA' }))
})
afterAll(() => fixture.orm.close())

const provider = () => fixture.em().findOneOrFail(CertificateProvider, { id })
const advance = () => run(fixture.activities.advanceRollover, { providerId: id }, providerWorkflowId('rollover', id))
const cas = () => fixture.em().count(Ca, { certificateProviderId: id })

const plan = async (members: Partial<Parameters<typeof planRollover>[2]> = {}): Promise<PlannedRollover> => {
  const em = fixture.em()
  const row = await em.findOneOrFail(CertificateProvider, { id })
  row.rollover = await planRollover(em, row, { now, members: {}, newRoot: false, takeOverDate: null, ...members })
  await em.flush()
  return row.rollover
}

test('nothing is done for a provider that plans nothing, and for one that is gone', async () => {
  const nothing = { nextCaId: null, takeOverDate: null }
  expect(await advance()).toEqual(nothing)
  const nobody = crypto.randomUUID()
  const asked = run(fixture.activities.advanceRollover, { providerId: nobody }, providerWorkflowId('rollover', nobody))
  expect(await asked).toEqual(nothing)
  expect(await cas()).toBe(2)
})

test('the next CA is made once, however often it is asked for, and takes over when its time has come', async () => {
  const former = (await provider()).issuingCaId ?? ''
  const takeOverDate = new Date(now.getTime() + 100 * dayMs)
  await plan({ takeOverDate })
  const [first, second] = await Promise.all([advance(), advance()])
  expect(first).toEqual({ nextCaId: expect.any(String), takeOverDate: takeOverDate.toISOString() })
  expect([second, await advance()]).toEqual([first, first])
  const nextCaId = first.nextCaId ?? ''
  expect([await cas(), (await provider()).issuingCaId]).toEqual([3, former])
  for (const caId of [nextCaId, former])
    expect([await fixture.em().count(Crl, { caId }), await fixture.em().count(OcspSigner, { caId })]).toEqual([1, 1])
  later(99)
  expect(await advance()).toEqual(first)
  later(1)
  expect(await advance()).toEqual({ nextCaId: null, takeOverDate: null })
  const after = await provider()
  expect([after.issuingCaId, after.nextIssuingCaId ?? null, after.rollover ?? null]).toEqual([nextCaId, null, null])
  expect((await fixture.em().findOneOrFail(Ca, { id: former })).succeededDate).toEqual(now)
  expect(await advance()).toEqual({ nextCaId: null, takeOverDate: null })
})

test('a rollover that nobody runs is started by the reconciler, and the former CAs keep their lists fresh', async () => {
  await plan({ takeOverDate: new Date(now.getTime() + 10 * dayMs) })
  later(1)
  fixture.started.length = 0
  await run(fixture.activities.startMissingRuns, undefined as never)
  expect(fixture.started.map(run => run.id)).toContain(providerWorkflowId('rollover', id))
  await advance()
  later(9)
  await advance()
  fixture.started.length = 0
  await run(fixture.activities.startDueCrls, undefined as never)
  const due = new Set(fixture.started.map(run => run.id))
  const issuing = await fixture.em().find(Ca, { certificateProviderId: id, issuerCaId: { $ne: null } })
  expect(issuing).toHaveLength(3)
  expect(issuing.filter(ca => ca.succeededDate).every(ca => due.has(`crl/${ca.id}`))).toBe(true)
})

test('the next CA lives no longer than its root, and a root that ends is not asked for another', async () => {
  later(12 * 365)
  await plan()
  await advance()
  const { issuingCaId } = await provider()
  const issuing = await fixture.em().findOneOrFail(Ca, { id: issuingCaId ?? '' })
  const root = await fixture.em().findOneOrFail(Ca, { id: issuing.issuerCaId ?? '' })
  expect(issuing.validNotAfter).toEqual(root.validNotAfter)
  later(8 * 365)
  const refused = { code: 'INVALID_PROVIDER_CONFIGURATION', message: expect.stringContaining('ask for a new root') }
  await expect(plan()).rejects.toMatchObject(refused)
  await plan({ newRoot: true })
  await advance()
  const next = await fixture.em().findOneOrFail(Ca, { id: (await provider()).issuingCaId ?? '' })
  expect([next.issuerCaId === root.id, next.validNotAfter > now]).toEqual([false, true])
})

test('what fails in the middle leaves nothing behind', async () => {
  const before = await cas()
  await plan()
  await fixture.orm.em
    .fork()
    .execute(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no signer today'; end $$`,
    )
  await fixture.orm.em
    .fork()
    .execute('create trigger refuse before insert on ocsp_signer for each row execute function refuse()')
  await expect(advance()).rejects.toThrow()
  expect([await cas(), (await provider()).nextIssuingCaId ?? null]).toEqual([before, null])
  await fixture.orm.em.fork().execute('drop trigger refuse on ocsp_signer')
  await advance()
  expect([await cas(), (await provider()).rollover ?? null]).toEqual([before + 1, null])
})
