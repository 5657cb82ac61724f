// The audit events of mails, proofs, reminders and revocations (contract 11.1), as audit-kinds.test.ts tries the others.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { AuditEventType } from '../../domain/audit.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { makeTokens } from '../../storage/verification-tokens.ts'
import { auditRecording, crlIssued, lifecycleKinds, must } from '../support/audit-recording.ts'
import { issueNew, setSetting, until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { stack } from '../support/stack.ts'

let service: Service
let scene: Scene
let admin: Awaited<ReturnType<Service['user']>>
let recording: ReturnType<typeof auditRecording>['recording']
let seen: ReadonlySet<string>

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { requiresManualApproval: false })
  admin = await service.user({ GLOBAL: ['ADMIN'] })
  ;({ recording, seen } = auditRecording(service, scene))
})
afterAll(() => service.stop())

const configureMail = async (): Promise<void> => {
  const settings = { enabled: 'true', host: '127.0.0.1', port: String(stack.smtpPort()), from: 'ca@example.org' }
  for (const [key, value] of Object.entries(settings)) await setSetting(service, `mail.${key}`, value)
}

test('an address is proven', async () => {
  await configureMail()
  const proving = await makeScene(service, { requiresEmailVerification: true })
  const email = 'jane@example.org'
  const endEntityId = await proving.newEndEntity({ commonName: 'proven.example.org', email })
  const certRequestId = await proving.newRequest({ endEntityId })
  const addressed = [{ certRequestId, email }]
  const [made] = await makeTokens(service.em(), addressed, { now: new Date(), lifetimeHours: 1 })
  await recording(async () => {
    const body = { token: made?.token ?? '' }
    await must(service.anonymous.post('/api/v1/public/verify-cert-request-with-email', body))
    const what = /^E-mail address for the certificate request of proven.example.org verified$/
    const place = { realmId: proving.realmId, byService: true as const, what }
    return [{ type: 'CERT_REQUEST_EMAIL_VERIFIED', objectId: certRequestId, ...place }]
  })
})

test('a certificate is sent by mail, and its realm reminded of its end', async () => {
  await configureMail()
  const endEntityId = await scene.newEndEntity({ commonName: 'mailed.example.org', email: 'ops@example.org' })
  const { id, subjectDn } = await issueNew(scene, { endEntityId })
  await recording(async () => {
    await must(scene.owner.post(`/api/v1/certificates/${id}/email`))
    const what = new RegExp(`^Certificate ${subjectDn} .*mail`)
    return [{ type: 'CERTIFICATE_EMAILED', objectId: id, certificateId: id, what }]
  })
  const list = await must(admin.post('/api/v1/mailing-lists', { name: 'Audited', emails: ['ops@example.org'] }))
  await must(scene.owner.patch(`/api/v1/realms/${scene.realmId}`, { mailingListId: list.id }))
  await service.em().nativeUpdate(Certificate, { id }, { validNotAfter: new Date(Date.now() + 5 * 86_400_000) })
  await recording(async () => {
    const { taskQueue } = service
    await service.client.workflow.execute('remindOfExpiries', { workflowId: `reminders-${id}`, taskQueue, args: [] })
    const what = new RegExp(`^Reminder that certificate ${subjectDn} expires within 7 days sent$`)
    return [{ type: 'EXPIRY_REMINDER_SENT', objectId: id, certificateId: id, byService: true, what }]
  })
  await must(scene.owner.patch(`/api/v1/realms/${scene.realmId}`, { mailingListId: null }))
})

const revoking: readonly (readonly [AuditEventType, string])[] = [
  ['CERTIFICATE_HELD', 'CERTIFICATE_HOLD'],
  ['CERTIFICATE_RELEASED', 'REMOVE_FROM_CRL'],
  ['CERTIFICATE_REVOKED', 'SUPERSEDED'],
]

test('a certificate is held, released and revoked, and each time its CA issues a list', async () => {
  const { id } = await issueNew(scene)
  const caId = (await service.em().findOneOrFail(Certificate, id)).issuerCaId ?? ''
  for (const [type, reason] of revoking)
    await recording(async () => {
      await must(scene.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`))
      await until('the list is there', async () => !(await service.em().findOneOrFail(Certificate, id)).crlPending)
      return [{ type, objectId: id, certificateId: id, what: /^Certificate .+$/ }, crlIssued(caId)]
    })
})

test('a revocation that was made elsewhere is recorded', async () => {
  const { id } = await issueNew(scene)
  const caId = (await service.em().findOneOrFail(Certificate, id)).issuerCaId ?? ''
  await recording(async () => {
    await must(scene.owner.patch('/api/v1/certificates/mark-as-revoked', { certificateIds: [id] }))
    await until('the list is there', async () => !(await service.em().findOneOrFail(Certificate, id)).crlPending)
    return [
      { type: 'CERTIFICATE_MARKED_AS_REVOKED', objectId: id, certificateId: id, what: /^Certificate .+$/ },
      crlIssued(caId),
    ]
  })
})

test('every kind that is said to be tried here was', () => {
  expect([...seen].filter(kind => kind !== 'CRL_ISSUED').toSorted()).toEqual([...lifecycleKinds].toSorted())
})
