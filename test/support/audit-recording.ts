// What tests of audit events share: what was recorded while something happened, held against what is expected.
import { expect } from '@jest/globals'
import type { AuditEventType } from '../../domain/audit.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import type { Reply } from './api.ts'
import type { Scene, Service } from './service.ts'

/** What an event is: `Kind`, the id of its object, and the sentence without its author. */
export interface Expected {
  readonly type: AuditEventType
  readonly objectId: string
  readonly what: RegExp
  readonly realmId?: string | null
  readonly certificateId?: string
  /** The service did it, not the caller. */
  readonly byService?: true
}

/** The body of an answer that is a success. */
export const must = async (reply: Promise<Reply>): Promise<Reply['body']> => {
  const { status, body } = await reply
  expect([200, 201, 204]).toContain(status)
  return body
}

const authorOf = ({ byService }: Expected, subject: string): string =>
  byService ? 'the service' : `${subject}@example.com`

/** Records of a service, made by the owner of a scene unless somebody else is named. */
export const auditRecording = (service: Service, scene: Scene) => {
  const seen = new Set<string>()
  const newest = async (): Promise<number> =>
    (await service.em().find(AuditEvent, {}, { orderBy: { id: 'desc' }, limit: 1 }))[0]?.id ?? 0

  /** Does something and holds all that was recorded meanwhile against what is expected, in any order. */
  const recording = async (act: () => Promise<readonly Expected[]>, subject = scene.owner.subject): Promise<void> => {
    const before = await newest()
    const expected = await act()
    const events = await service.em().find(AuditEvent, { id: { $gt: before } })
    const told = (one: { type: string; objectId: string }) => `${one.type} ${one.objectId}`
    expect(events.map(({ eventType: type, objectId }) => told({ type, objectId })).toSorted()).toEqual(
      expected.map(told).toSorted(),
    )
    for (const one of expected) {
      const event = events.find(({ eventType, objectId }) => eventType === one.type && objectId === one.objectId)
      expect(event).toMatchObject({
        realmId: one.realmId === undefined ? scene.realmId : one.realmId,
        certificateId: one.certificateId ?? null,
        principalType: one.byService ? 'SYSTEM' : 'USER',
      })
      const author = ` by ${authorOf(one, subject)}`
      expect(event?.eventDescription.endsWith(author)).toBe(true)
      expect(event?.eventDescription.slice(0, -author.length)).toMatch(one.what)
      seen.add(one.type)
    }
  }
  return { recording, seen }
}

/** A change of a resource. */
export const updated = (objectId: string, what: RegExp, members: Partial<Expected> = {}): Expected[] => [
  { type: 'ENTITY_UPDATED', objectId, what, ...members },
]
/** A new resource. */
export const created = (objectId: string, what: RegExp, members: Partial<Expected> = {}): Expected[] => [
  { type: 'ENTITY_CREATED', objectId, what, ...members },
]

const lint = String.raw`lint [0-9a-f]{8} \(\d+ rules\)`

/** A CA that was made here, of a name as this pattern has it. */
export const caMade = (objectId: string, name: string): Expected[] =>
  created(objectId, new RegExp(`^CA ${name} created after ${lint}$`), { realmId: null, byService: true })

/** A list that a CA issued. */
export const crlIssued = (objectId: string): Expected => ({
  type: 'CRL_ISSUED',
  objectId,
  realmId: null,
  byService: true,
  what: /^CRL .* issued$/,
})

/** The event of a CA whose signer of OCSP answers was made. */
export const ocspSignerMade = (objectId: string): Expected => ({
  type: 'SIGNER_RENEWED',
  objectId,
  realmId: null,
  byService: true,
  what: new RegExp(`^OCSP signer CN=OCSP signer .* made after ${lint}$`),
})

/** The kinds that test/api/audit-kinds-lifecycle.test.ts tries. */
export const lifecycleKinds = [
  'CERT_REQUEST_EMAIL_VERIFIED',
  'CERTIFICATE_EMAILED',
  'EXPIRY_REMINDER_SENT',
  'CERTIFICATE_HELD',
  'CERTIFICATE_RELEASED',
  'CERTIFICATE_REVOKED',
  'CERTIFICATE_MARKED_AS_REVOKED',
] as const satisfies readonly AuditEventType[]

/** The kinds that test/api/audit-kinds-passwords.test.ts tries. */
export const passwordKinds = [
  'PASSWORD_CREATED',
  'PASSWORD_RESET',
  'PASSWORD_DELETED',
  'PASSWORD_AUTHENTICATED',
  'PASSWORD_REJECTED',
  'PASSWORD_LOCKED',
  'CHALLENGE_CREATED',
  'CHALLENGE_SPENT',
  'CHALLENGE_REJECTED',
] as const satisfies readonly AuditEventType[]

/** The kinds that test/api/audit-kinds-machines.test.ts tries. */
export const machineKinds = [
  'SECRET_RESET',
  'PASSWORD_LOGIN_CHANGED',
  'DATA_SIGNED',
  'DATA_DECRYPTED',
  'SIGNER_RENEWED',
  'ROLLOVER_PLANNED',
  'ROLLOVER_DONE',
  'ROLLOVER_CANCELED',
] as const satisfies readonly AuditEventType[]
