// The signers of OCSP answers over the years: renewed in time, one at a time, the key before them erased.
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeOcspSigner } from '../../authority/ocsp-signers.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { ocspSignerWorkflowId } from '../../workflows/ids.ts'
import { openFixture, run } from './fixture.ts'

const dayMs = 86_400_000
let now = new Date('2026-11-22T12:00:00Z')
const later = (days: number): Date => (now = new Date(now.getTime() + days * dayMs))

let fixture: Awaited<ReturnType<typeof openFixture>>
let ca: Ca
beforeAll(async () => {
  fixture = await openFixture({ clock: () => now })
  const { issuingCaId } = await fixture.em().findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  ca = await fixture.em().findOneOrFail(Ca, issuingCaId ?? '')
})
afterAll(() => fixture.orm.close())

const make = () => run(fixture.activities.makeOcspSigner, { caId: ca.id }, ocspSignerWorkflowId(ca.id))
const present = () => fixture.em().findOneOrFail(OcspSigner, { caId: ca.id, retiredDate: null })
const started = async (): Promise<string[]> => {
  fixture.started.length = 0
  await run(fixture.activities.startDueOcspSigners, undefined as never)
  return fixture.started.map(({ id }) => id)
}

test('one is there with each CA, below it, with a key of its own', async () => {
  const { der, privateKeyId } = await present()
  const certificate = new X509Certificate(der)
  expect(certificate.verify(new X509Certificate(ca.der).publicKey)).toBe(true)
  expect(privateKeyId).not.toBe(ca.privateKeyId)
  expect(await fixture.em().count(OcspSigner, {})).toBe(await fixture.em().count(Ca, {}))
  expect(await started()).toEqual([])
})

test('none is made before its time, and all that ask at once get one', async () => {
  const first = await present()
  later(59)
  await make()
  expect((await present()).id).toBe(first.id)
  later(2)
  expect(await started()).toContain(`ocsp-signer/${ca.id}`)
  await Promise.all([make(), make(), make()])
  const second = await present()
  expect(second.id).not.toBe(first.id)
  expect(second.validNotAfter.getTime() - now.getTime()).toBeGreaterThan(89 * dayMs)
  const former = await fixture.em().findOneOrFail(OcspSigner, { id: first.id })
  expect([former.retiredDate, former.privateKeyId, former.der]).toEqual([now, null, first.der])
  expect(await fixture.em().count(PrivateKey, { id: first.privateKeyId ?? '' })).toBe(0)
  expect(await fixture.em().count(AuditEvent, { objectId: ca.id, eventType: 'SIGNER_RENEWED' })).toBe(2)
  expect(await started()).not.toContain(`ocsp-signer/${ca.id}`)
})

test('what fails halfway leaves the one before, and its key', async () => {
  const before = await present()
  later(61)
  const em = fixture.em()
  await em.execute(`
    create function out_of_order() returns trigger language plpgsql as $$ begin raise 'out of order'; end $$;
    create trigger out_of_order before insert on ocsp_signer for each row execute function out_of_order();`)
  const making = fixture.em().transactional(tx => makeOcspSigner(tx, fixture.services, ca.id))
  await expect(making).rejects.toThrow('out of order')
  await em.execute('drop function out_of_order cascade')
  expect((await present()).id).toBe(before.id)
  expect(await fixture.em().count(PrivateKey, { id: before.privateKeyId ?? '' })).toBe(1)
  await make()
  expect((await present()).id).not.toBe(before.id)
})

test('none lives longer than its CA, and then it is not made again', async () => {
  now = new Date(ca.validNotAfter.getTime() - 20 * dayMs)
  await make()
  const last = await present()
  expect(last.validNotAfter).toEqual(ca.validNotAfter)
  await make()
  expect((await present()).id).toBe(last.id)
  expect(await started()).not.toContain(`ocsp-signer/${ca.id}`)
})

test('a provider whose CA signs itself needs none', async () => {
  now = new Date('2027-06-01T00:00:00Z')
  const em = fixture.em()
  await em.nativeDelete(OcspSigner, {})
  await em.execute(`update certificate_provider set settings = settings || '{"ocspSigner":false}'`)
  expect(await started()).toEqual([])
  await make()
  expect(await fixture.em().count(OcspSigner, {})).toBe(0)
})
