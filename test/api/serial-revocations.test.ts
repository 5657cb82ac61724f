// Revoking by serial number what a CA signed and the records do not have (contract 12.1).
import { randomBytes, randomUUID } from 'node:crypto'
import { DefaultLogger } from '@temporalio/worker'
import { MockActivityEnvironment } from '@temporalio/testing'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { KeptRevocation } from '../../storage/rows/kept-revocation.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import { issueWorkflowId } from '../../workflows/ids.ts'
import { tryOpenssl, Workbench } from '../pki/openssl.ts'
import type { ApiCaller } from '../support/api.ts'
import { makeForeignCertificate } from '../support/foreign-certificates.ts'
import { factsOf, issueFor, refusalOf, statusesOf, until } from '../support/issuing.ts'
import { crlWhere } from '../support/revoking.ts'
import { adminOf, newProvider, rollOver } from '../support/rollover.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let admin: ApiCaller
let caId: string

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
  admin = await adminOf(service)
  caId = (await service.builtInCa()).issuingCaId ?? ''
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const newSerial = (): string => `1${randomBytes(15).toString('hex')}`
const revoke = (serialNumber: string, members: object = {}, ca = caId) =>
  admin.post(`/api/v1/cas/${ca}/revoke-serial-number`, { serialNumber, ...members })
const listed = (serialNumber: string, ca = caId) =>
  crlWhere(service, bench, {
    caId: ca,
    what: `the list tells ${serialNumber}`,
    holds: ({ entries }) => entries.has(serialNumber),
  })

/** What the responder of a CA says of a serial number. */
const statusOf = async (serialNumber: string, ca = caId): Promise<string> => {
  const em = service.em()
  const { der, issuerCaId } = await em.findOneOrFail(Ca, { id: ca })
  const root = issuerCaId ? (await em.findOneOrFail(Ca, { id: issuerCaId })).der : der
  const pem = async (octets: Buffer) =>
    bench.file(`-----BEGIN CERTIFICATE-----\n${octets.toString('base64')}\n-----END CERTIFICATE-----\n`)
  const asked = ['-issuer', await pem(der), '-serial', `0x${serialNumber}`, '-no_nonce']
  const { text } = await tryOpenssl(
    'ocsp',
    ...asked,
    '-url',
    `${service.url}/pki/ocsp/${ca}`,
    '-CAfile',
    await pem(root),
  )
  expect(text).toContain('Response verify OK')
  return /: (good|revoked|unknown)/.exec(text)?.[1] ?? text
}

/** A run that issues a request, as the worker carries it out. */
const runOf = async (certRequestId: string, logger = new DefaultLogger('ERROR')) => {
  const runId = issueWorkflowId(certRequestId)
  await service.em().nativeUpdate(CertRequest, { id: certRequestId }, { runId, runSince: new Date() })
  const workflowExecution = { workflowId: runId, runId: randomUUID() }
  const around = new MockActivityEnvironment({ workflowExecution }, { logger })
  const input = { runId, certRequestIds: [certRequestId] }
  const { issueChunk } = service.activities
  return () => around.run<[typeof input], ItemOutcome[], typeof issueChunk>(issueChunk, input)
}

/** Issues a request while nothing can be stored, and answers what the log tells of what was signed. */
const issueInVain = async () => {
  const em = service.em()
  const told: { serialNumber: string; issuerCaId: string }[] = []
  const logger = new DefaultLogger('WARN', ({ message, meta }) => {
    if (message === 'certificates were signed and not stored') told.push(...(meta?.['signed'] as typeof told))
  })
  const issue = await runOf(await scene.newRequest(), logger)
  await em.execute(
    `create function out_of_order() returns trigger language plpgsql as $$ begin raise 'out of order'; end $$`,
  )
  await em.execute(
    'create trigger out_of_order before insert on certificate for each row execute function out_of_order()',
  )
  await expect(issue()).rejects.toThrow('out of order')
  await em.execute('drop function out_of_order cascade')
  return { told, issue }
}

test('a certificate whose storing failed after signing is revoked by its serial number', async () => {
  const { told, issue } = await issueInVain()
  expect(told).toEqual([{ serialNumber: expect.stringMatching(/^[0-9a-f]{20,}$/), issuerCaId: caId }])
  const serialNumber = told[0]?.serialNumber ?? ''
  expect(await statusOf(serialNumber)).toBe('unknown')
  const { status, body } = await revoke(serialNumber, { revocationReason: 'KEY_COMPROMISE' })
  expect([status, body]).toEqual([
    200,
    { caId, serialNumber, revocationReason: 'KEY_COMPROMISE', revocationDate: expect.any(String) },
  ])
  expect(await statusOf(serialNumber)).toBe('revoked')
  expect((await listed(serialNumber)).entries.get(serialNumber)).toBe('Key Compromise')
  expect(await factsOf(service, caId)).toContain('CERTIFICATE_REVOKED')
  const [outcome] = await issue()
  const issued = await scene.owner.get(`/api/v1/certificates/${outcome?.certificateId}`)
  expect([issued.body.certStatus, issued.body.serialNumber === serialNumber]).toEqual(['ACTIVE', false])
})

test('a former CA is revoked by its root', async () => {
  const provider = await newProvider(admin)
  const { body: before } = await admin.get(provider.url)
  await rollOver(admin, provider)
  const former = await service.em().findOneOrFail(Ca, { id: before.issuingCaId })
  const root = former.issuerCaId ?? ''
  const serialNumber = former.serialNumber.replace(/^0+/, '')
  expect(await statusOf(serialNumber, root)).toBe('good')
  expect((await revoke(serialNumber, { revocationReason: 'CA_COMPROMISE' }, root)).status).toBe(200)
  expect(await statusOf(serialNumber, root)).toBe('revoked')
  expect((await listed(serialNumber, root)).entries.get(serialNumber)).toBe('CA Compromise')
})

test('a CA that its root has revoked issues nothing, until a next one has taken over', async () => {
  const provider = await newProvider(admin)
  const its = await makeScene(service, { certificateProviderId: provider.id })
  const approved = await its.newRequest()
  const { issuingCaId } = (await admin.get(provider.url)).body
  const { issuerCaId, serialNumber } = await service.em().findOneOrFail(Ca, { id: issuingCaId })
  expect((await revoke(serialNumber, { revocationReason: 'KEY_COMPROMISE' }, issuerCaId ?? '')).status).toBe(200)
  const path = `/api/v1/certificates/cert-requests/${approved}`
  const refused = await its.owner.post(path)
  expect(refusalOf(refused)).toEqual([422, 'VALID_FOR_NOT_ALLOWED'])
  expect(refused.body.errorMessage).toBe(
    'The CA of the policy is revoked: nothing is issued until a next one takes over.',
  )
  const [outcome] = await (await runOf(approved))()
  expect(outcome?.failure?.apiError).toBe('VALID_FOR_NOT_ALLOWED')
  const probe = await admin.post(`/api/v1/certificate-providers/${provider.id}/check-connection`)
  expect([probe.status, probe.body.result]).toEqual([200, false])
  expect((await rollOver(admin, provider)).status).toBe(200)
  const { id } = await issueFor(its)
  expect((await service.em().findOneOrFail(Certificate, { id })).issuerCaId).not.toBe(issuingCaId)
  expect((await admin.post(`/api/v1/certificate-providers/${provider.id}/check-connection`)).body.result).toBe(true)
})

test('a signer of OCSP answers that was revoked is told as revoked by the list and by OCSP', async () => {
  const { issuingCaId } = (await admin.get((await newProvider(admin)).url)).body
  const { serialNumber, validNotAfter } = await service.em().findOneOrFail(OcspSigner, { caId: issuingCaId })
  expect(await statusOf(serialNumber, issuingCaId)).toBe('good')
  expect((await revoke(serialNumber, {}, issuingCaId)).status).toBe(200)
  expect(await statusOf(serialNumber, issuingCaId)).toBe('revoked')
  await listed(serialNumber, issuingCaId)
  const kept = await service.em().findOneOrFail(KeptRevocation, { issuerCaId: issuingCaId, serialNumber })
  expect(kept.validNotAfter).toEqual(validNotAfter)
})

test('a signer of OCSP answers that was revoked signs no more: another takes its place, and its key is erased', async () => {
  const { issuingCaId } = (await admin.get((await newProvider(admin)).url)).body
  const present = () => service.em().findOneOrFail(OcspSigner, { caId: issuingCaId, retiredDate: null })
  const revoked = await present()
  expect((await revoke(revoked.serialNumber, { revocationReason: 'KEY_COMPROMISE' }, issuingCaId)).status).toBe(200)
  await until('another signer is there', async () => (await present()).id !== revoked.id)
  expect(await service.em().count(PrivateKey, { id: revoked.privateKeyId ?? '' })).toBe(0)
  expect(await statusOf(revoked.serialNumber, issuingCaId)).toBe('revoked')
  const next = await present()
  expect((await revoke(newSerial(), {}, issuingCaId)).status).toBe(200)
  expect((await present()).id).toBe(next.id)
})

test('a serial number is revoked once, however it is written and however many ask', async () => {
  const serialNumber = newSerial()
  const written = `00:${serialNumber.toUpperCase().replace(/..(?=.)/g, '$&:')}`
  const replies = await Promise.all([revoke(serialNumber), revoke(written), revoke(serialNumber)])
  expect(statusesOf(replies)).toEqual([200, 422, 422])
  expect(refusalOf(await revoke(serialNumber))).toEqual([422, 'ALREADY_REVOKED'])
  expect((await listed(serialNumber)).entries.get(serialNumber)).toBeNull()
})

test('what the records have, or somebody else signs, is refused', async () => {
  const { serialNumber } = await issueFor(scene)
  expect(refusalOf(await revoke(serialNumber))).toEqual([409, 'INVALID_STATE'])
  const { pem } = await makeForeignCertificate(bench, { subject: `/CN=Elsewhere ${randomUUID()}`, isCa: true })
  const { importedCas } = (await admin.post('/api/v1/cas/import', { pemCertificates: pem })).body
  const { id } = importedCas[0]
  expect(refusalOf(await revoke(newSerial(), {}, id))).toEqual([422, 'NOT_SUPPORTED_BY_PROVIDER'])
  expect(refusalOf(await revoke(newSerial(), {}, randomUUID()))).toEqual([404, 'CA_NOT_FOUND'])
})

test.each([
  ['no serial number', { serialNumber: null }],
  ['one that is too long', { serialNumber: 'a'.repeat(41) }],
  ['one that is none', { serialNumber: 'xyz' }],
  ['zero', { serialNumber: '00' }],
  ['one of 21 octets', { serialNumber: '8'.padEnd(40, '0') }],
  ['a hold', { revocationReason: 'CERTIFICATE_HOLD' }],
  ['a release', { revocationReason: 'REMOVE_FROM_CRL' }],
])('%s is 400', async (_, members) => {
  expect(refusalOf(await revoke(newSerial(), members))).toEqual([400, 'INVALID_REQUEST'])
})

test('others than administrators are refused', async () => {
  const url = `/api/v1/cas/${caId}/revoke-serial-number`
  const body = { serialNumber: newSerial() }
  expect((await service.anonymous.post(url, body)).status).toBe(401)
  expect(refusalOf(await scene.owner.post(url, body))).toEqual([403, 'ACCESS_DENIED'])
})
